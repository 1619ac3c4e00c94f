#!/usr/bin/env bash
# Runs the benchmarks of single packages in this tree and in an earlier revision of it, in turns, so that other load on
# the machine affects both. Then benchstat shows which differences are statistically significant.
#
#   scripts/microbench-compare.sh HEAD~5 [packages]    BENCH=. COUNT=6
set -euo pipefail
cd "$(dirname "$0")/.."
old=$1
shift
[ $# -gt 0 ] || set -- ./...
go=${GO:-go}
count=${COUNT:-6}
benchstat=golang.org/x/perf/cmd/benchstat@v0.0.0-20260908200009-22c9c6c9d4da

work=$(mktemp -d)
trap 'git worktree remove --force "$work/tree" 2>/dev/null || true; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/tree" "$old"
for ((i = 1; i <= count; i++)); do
	echo "round $i of $count" >&2
	# A package that is missing on one side or fails there is left out of the comparison.
	(cd "$work/tree" && $go test -run '^$' -bench "${BENCH:-.}" -benchmem "$@" >>"$work/old.txt") || true
	$go test -run '^$' -bench "${BENCH:-.}" -benchmem "$@" >>"$work/new.txt" || true
done
$go run "$benchstat" old="$work/old.txt" new="$work/new.txt"
