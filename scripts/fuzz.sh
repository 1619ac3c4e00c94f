#!/usr/bin/env bash
# Fuzzes every native target of the module, one after the other, for as long as go test's -fuzztime takes (20s).
# What a run finds interesting stays in Go's build cache, so the next one goes on from there; what fails is written to
# testdata/fuzz of its package, to be committed as a seed.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-20s}

grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u | while read -r package; do
	grep -ho --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | cut -d ' ' -f 2 | while read -r target; do
		echo "== $package $target"
		${GO:-go} test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package" </dev/null
	done
done
