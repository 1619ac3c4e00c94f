#!/usr/bin/env bash
# Runs each of the module's Go fuzz targets in turn. The argument is go test's -fuzztime, by default 20s. Interesting
# inputs stay in Go's build cache, so the next run continues with them. Failing inputs are written to testdata/fuzz of
# the package. Commit them as seeds. Go minimizes each input for at most one second, because minimizing would otherwise
# take most of the time. On busy machines, Go before 1.27 can report the end of the time as a failure (golang/go#75804).
# A target that reports nothing else runs again, at most twice. The target of app is compiled without -fuzz. That flag
# would compile the whole program again, to count coverage. The input of the target is the seed of a generator, so
# coverage cannot guide it.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-20s}
cached=$(${GO:-go} env GOCACHE)/fuzz
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

# fuzz PACKAGE TARGET runs a target of the package that was compiled last.
fuzz() {
	(cd "$1" && "$directory/test" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$time" -test.fuzzminimizetime 1s \
		-test.fuzzcachedir "$cached/$(${GO:-go} list .)") </dev/null 2>&1 | tee "$directory/output"
}

# is_only_late reports whether the last target failed because its time was over, and for no other reason.
is_only_late() {
	grep -qx '    context deadline exceeded' "$directory/output" &&
		! grep -qE 'Failing input|panic|hung or terminated|^    [^ ]+_test\.go' "$directory/output"
}

grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u | while read -r package; do
	coverage=-fuzz=.
	[ "$package" != ./app ] || coverage=
	${GO:-go} test -c $coverage -o "$directory/test" "$package"
	grep -ho --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | cut -d ' ' -f 2 | while read -r target; do
		echo "== $package $target"
		runs=1
		until fuzz "$package" "$target"; do
			[ "$runs" -lt 3 ] && is_only_late || exit 1
			runs=$((runs + 1))
		done
	done
done
