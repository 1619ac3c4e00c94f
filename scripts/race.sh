#!/usr/bin/env bash
# Runs concurrent tests with the race detector: all tests of small packages that synchronize goroutines, and from large
# packages the tests in files that start goroutines. `make race` runs all tests of all packages.
set -euo pipefail
cd "$(dirname "$0")/.."

small="./cache ./db/fair ./db/group ./db/notify ./db/pg ./db/queue ./engine ./gateway ./live ./observe ./query"
large="./app ./cmd/agentgraph ./db ./engine/evaluation ./engine/knowledge"

make race PACKAGES="$small"
for package in $large; do
	tests=$(grep -lE '^\s*go |\.Go\(|errgroup|WaitGroup' "$package"/*_test.go | xargs grep -ho '^func Test[A-Za-z0-9_]*' | cut -d ' ' -f 2)
	make race PACKAGES="-run '^($(echo "$tests" | paste -sd '|'))\$\$' $package"
done
