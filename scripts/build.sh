#!/bin/sh
# Compiles agentgraph into bin/agentgraph, and shows the progress. GO is the go command. Arguments are passed to go
# build.
set -eu
go=${GO:-go}

command -v "$go" >/dev/null || {
	echo "Compiling agentgraph needs Go 1.26 or later, and there is no command \"$go\". Install Go from https://go.dev/dl and open a new shell, or set its path: make run GO=/usr/local/go/bin/go" >&2
	exit 1
}

if [ -x bin/agentgraph ]; then
	echo "Compiling the changes of agentgraph." >&2
else
	echo "Compiling agentgraph with its libraries. The first time takes one to five minutes, later times seconds." >&2
fi
log=$(mktemp)
shown=
trap 'rm -f "$log"; [ -z "$shown" ] || kill "$shown"' EXIT
trap 'exit 130' INT TERM
# progress rewrites a line each second, until it is killed. The line shows the number of fetched libraries. Once
# compilation has started, it shows the number of compiled packages instead, and how many there are. The elapsed time
# follows.
progress() {
	started=$(date +%s)
	all=
	while :; do
		seconds=$(($(date +%s) - started))
		compiled=$(grep -c '^[a-z0-9][^ :]*$' "$log" || true)
		fetched=$(grep -c '^go: downloading ' "$log" || true)
		[ -n "$all" ] || [ "$compiled" = 0 ] || all=$("$go" list -deps -f '{{if .Stale}}x{{end}}' ./cmd/agentgraph 2>/dev/null | grep -c x || true)
		line="$compiled"
		[ "${all:-0}" -le "$compiled" ] || line="$compiled of $all"
		line="$line packages compiled"
		[ "$compiled" != 0 ] || line="$fetched libraries fetched"
		printf '\r  %s, %d:%02d \033[K' "$line" $((seconds / 60)) $((seconds % 60)) >&2
		sleep 1
	done
}
if [ -t 2 ]; then
	progress &
	shown=$!
fi
failed=
# GOGC=400 makes the compiler collect garbage less often, which takes 0.1 GB more memory. -w omits debugging
# information, as the Makefile's flags do.
GOGC=${GOGC:-400} "$go" build -v -ldflags=-w "$@" -o bin/agentgraph ./cmd/agentgraph >"$log" 2>&1 || failed=1
if [ -n "$shown" ]; then
	kill "$shown"
	wait "$shown" 2>/dev/null || true
	shown=
	printf '\r\033[K' >&2
fi
grep -v -e '^go: downloading ' -e '^[a-z0-9][^ :]*$' "$log" >&2 || true
[ -z "$failed" ]
