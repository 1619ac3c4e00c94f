#!/bin/sh
# Compiles agentgraph into bin/agentgraph, and says so: the first time takes minutes. GO is the command, ARGS are passed on.
set -eu
go=${GO:-go}

command -v "$go" >/dev/null || {
	echo "Go 1.26 or later is needed to compile agentgraph, and there is no command \"$go\": install it from https://go.dev/dl and open a new shell, or say where it is: make run GO=/usr/local/go/bin/go" >&2
	exit 1
}

if [ -x bin/agentgraph ]; then
	echo "Compiling agentgraph, what has changed of it." >&2
else
	echo "Compiling agentgraph with its libraries. The first time takes one to five minutes, later times seconds." >&2
fi
terminal=
[ -t 2 ] && terminal=1
failed=$(mktemp)
trap 'rm -f "$failed"' EXIT
# GOGC: the compiler collects less garbage, for 0.1 GB. -w: there is no debugging information to link, see the Makefile.
{ GOGC=${GOGC:-400} "$go" build -v -ldflags=-w "$@" -o bin/agentgraph ./cmd/agentgraph 2>&1 || echo failed >"$failed"; } |
	awk -v terminal="$terminal" '
		/^go: downloading / { downloads++ }
		/^[a-z0-9][^ :]*$/ { packages++ }
		!/^go: downloading / && !/^[a-z0-9][^ :]*$/ { print; next }
		terminal { printf "\r  %d libraries fetched, %d packages compiled ", downloads, packages; fflush(); shown = 1 }
		END { if (shown) printf "\r\033[K" }
	' >&2
[ ! -s "$failed" ]
