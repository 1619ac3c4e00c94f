#!/usr/bin/env bash
# Runs concurrent tests with the race detector: all tests of small packages that synchronize goroutines, and from large
# packages the tests that start goroutines, themselves or by a helper. The whole program is raced by `make e2e`, so the
# tests of app and cmd are left to `make race`, which runs all tests of all packages.
set -euo pipefail
cd "$(dirname "$0")/.."

small="./cache ./db/fair ./db/group ./db/notify ./db/pg ./db/queue ./engine ./gateway ./live ./observe"
large="./db ./engine/evaluation ./engine/knowledge ./query"
starts='^[ \t]+go |\.Go\(|errgroup|WaitGroup|[^a-zA-Z](atOnce|together|torture|watch)\('

make race PACKAGES="$small"
tests=
for package in $large; do
	own=$(awk -v starts="$starts" '/^func /{name=$2; sub(/\(.*/, "", name)} name ~ /^Test/ && $0 ~ starts {print name}' "$package"/*_test.go | sort -u)
	[ -n "$own" ] || { echo "no test of $package starts goroutines"; exit 1; }
	tests+="$own"$'\n'
done
make race PACKAGES="-run '^($(sort -u <<<"${tests%$'\n'}" | paste -sd '|'))\$\$' $large"
