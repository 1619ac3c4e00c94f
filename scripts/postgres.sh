#!/bin/sh
# Installs the PostgreSQL server binaries with apt-get or Homebrew if they are missing. It creates no database cluster,
# because agentgraph creates its own.
set -eu

find_initdb() {
	command -v initdb && return
	ls /usr/lib/postgresql/*/bin/initdb /opt/homebrew/opt/postgresql*/bin/initdb /usr/local/opt/postgresql*/bin/initdb 2>/dev/null | tail -n 1 | grep .
}

find_initdb >/dev/null && exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "Installing PostgreSQL server binaries with apt-get." >&2
	mkdir -p /etc/postgresql-common
	[ -e /etc/postgresql-common/createcluster.conf ] ||
		echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
	export DEBIAN_FRONTEND=noninteractive
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	{ apt-get update -q && apt-get install -q -y --no-install-recommends postgresql; } >"$log" 2>&1 || {
		tail -n 5 "$log" >&2
		echo "PostgreSQL could not be installed." >&2
		exit 1
	}
elif [ "$(id -u)" != 0 ] && command -v brew >/dev/null; then
	echo "Installing PostgreSQL server binaries with brew." >&2
	brew install --quiet postgresql@17 >&2
fi

find_initdb >/dev/null && exit 0
echo "agentgraph needs the PostgreSQL server binaries, version 14 or later. Install them with your package manager, on Debian with: sudo apt-get install postgresql" >&2
exit 1
