#!/usr/bin/env bash
# Fuzzes every native target of the module in turn. The argument is go test's -fuzztime, by default 20s. Interesting
# inputs stay in Go's build cache, so the next run goes on from there. Failing inputs are written to testdata/fuzz of the
# package, to be committed as seeds. What is found is made smaller for a second at most, or the time would go into that.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-20s}

grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u | while read -r package; do
	grep -ho --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | cut -d ' ' -f 2 | while read -r target; do
		echo "== $package $target"
		${GO:-go} test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 1s "$package" </dev/null
	done
done
