#!/usr/bin/env bash
# Runs concurrent tests with the race detector. It runs all tests of small packages that synchronize goroutines. In
# large packages, it runs only the tests that start goroutines, directly or through a helper. `make race` runs all tests
# of all packages.
set -euo pipefail
cd "$(dirname "$0")/.."

small="./cache ./db/fair ./db/group ./db/notify ./db/pg ./db/queue ./engine ./gateway ./live ./observe"
large="./app ./cmd/agentgraph ./db ./engine/evaluation ./engine/knowledge ./query"
starts='^[ \t]+go |\.Go\(|errgroup|WaitGroup|[^a-zA-Z](atOnce|together|torture|watch)\('

make race PACKAGES="$small"
for package in $large; do
	tests=$(awk -v starts="$starts" '/^func /{name=$2; sub(/\(.*/, "", name)} name ~ /^Test/ && $0 ~ starts {print name}' "$package"/*_test.go | sort -u)
	[ -n "$tests" ] || { echo "no test of $package starts goroutines"; exit 1; }
	make race PACKAGES="-run '^($(echo "$tests" | paste -sd '|'))\$\$' $package"
done
