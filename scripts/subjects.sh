#!/bin/sh
# Refuses commits whose subjects are longer than 72 characters or end with a period. The argument is a range of commits,
# such as main..HEAD, by default everything since the commit that added this script.
set -eu
cd "$(dirname "$0")/.."
range=${1:-}
if [ -z "$range" ]; then
	first=$(git log --diff-filter=A --format=%H -- scripts/subjects.sh 2>/dev/null | tail -n 1)
	[ -n "$first" ] || exit 0 # without history there is nothing to check
	range=$first..HEAD
fi
# In UTF-8, each character has one byte outside the range that gsub removes. Not every awk counts characters.
git log --no-merges --format='%h %s' "$range" | LC_ALL=C awk '{
	commit = $1; sub(/^[^ ]+ /, "")
	n = $0; gsub(/[\200-\277]/, "", n); n = length(n)
	if (n > 72) { print commit ": the subject has " n " characters, at most 72 are allowed: " $0; failed = 1 }
	if ($0 ~ /\.$/) { print commit ": the subject ends with a period: " $0; failed = 1 }
} END { exit failed }'
