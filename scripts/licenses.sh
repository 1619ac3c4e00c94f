#!/usr/bin/env bash
# Writes the licenses of everything that the program contains: Go, the linked modules, and the console's packages. It
# fails if one has no license. Usage: scripts/licenses.sh FILE
set -euo pipefail
cd "$(dirname "$0")/.."

texts() { # NAME FOLDER
	local found
	found=$(find "$2/" -maxdepth 1 -type f -iregex '.*/\(licen[cs]e\|copying\|notice\|unlicense\).*' ! -iname '*.go' | sort)
	printf '\n==== %s\n\n' "$1"
	if [ -z "$found" ] && [ -e "$2/package.json" ]; then
		# Some packages name their license without its text.
		node -p 'const {license} = require(process.argv[1]); if (!license) throw "no license"; "License: " + license' "$2/package.json"
		return
	fi
	if [ -z "$found" ]; then
		echo "$1 has no license in $2" >&2
		return 1
	fi
	while read -r file; do cat "$file"; echo; done <<<"$found"
}

go() { texts "Go $(command go env GOVERSION)" "$(command go env GOROOT)"; }

modules() {
	local name folder
	for os in linux darwin; do
		GOOS=$os CGO_ENABLED=0 command go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}	{{.Dir}}{{end}}{{end}}' ./cmd/agentgraph
	done | sort -u | while IFS=$'\t' read -r name folder; do texts "$name" "$folder"; done
}

packages() {
	local name folder
	(cd console && npm ls --omit=dev --all --parseable --long) | awk -F: 'NR > 1 {print $2 "\t" $1}' | sort -u |
		while IFS=$'\t' read -r name folder; do texts "$name" "$folder"; done
}

mkdir -p "$(dirname "$1")"
{
	echo "agentgraph contains the software below."
	go
	modules
	packages
	printf '\n==== Inter, the font of the console\n\n'
	cat console/src/ui/inter-latin1.LICENSE.txt
} >"$1"
