#!/bin/sh
# Installs agentgraph from a release, after checking the SHA-256 of the archive:
#
#   curl -fsSL https://github.com/agentgraph/agentgraph/releases/latest/download/install.sh | sh
#
# VERSION=v0.1.0 installs that version instead of the newest. PREFIX=$HOME/.local installs below another directory than
# /usr/local. RELEASES is the address of a mirror of the releases.
set -eu

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

fetch() { # URL FILE
	if command -v curl >/dev/null; then
		curl -fsSL --proto-redir =https --retry 2 -o "$2" "$1"
	elif command -v wget >/dev/null; then
		wget -q -t 3 -O "$2" "$1"
	else
		fail "install curl or wget first"
	fi || fail "cannot download $1"
}

sha256() { # FILE
	if command -v sha256sum >/dev/null; then
		sha256sum "$1"
	else
		shasum -a 256 "$1"
	fi | cut -d ' ' -f 1
}

discard() { # REASON
	$sudo rm -f "$new"
	fail "$1. Nothing was installed in $prefix/bin"
}

# The whole script is a function. If the download is cut short, the shell runs none of it.
main() {
	releases=${RELEASES:-https://github.com/agentgraph/agentgraph/releases}
	prefix=${PREFIX:-/usr/local}
	prefix=${prefix%/}
	case $prefix in
	/* | "") ;;
	*) prefix=$PWD/$prefix ;;
	esac
	case $(uname -s) in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) fail "there is no build for $(uname -s). Build from source: make build" ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no build for $(uname -m). Build from source: make build" ;;
	esac

	command -v sha256sum >/dev/null || command -v shasum >/dev/null || fail "install sha256sum or shasum first"

	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	trap 'exit 130' INT TERM
	if [ -n "${VERSION:-}" ]; then
		from=$releases/download/$VERSION
	else
		from=$releases/latest/download
	fi
	case ${VERSION:-v} in
	v*) ;;
	*) fail "versions start with v: set VERSION=v$VERSION" ;;
	esac
	fetch "$from/checksums.txt" "$work/checksums.txt"
	archive=$(awk -v suffix="_${os}_$arch.tar.gz" \
		'substr($2, length($2) - length(suffix) + 1) == suffix { print $2; exit }' "$work/checksums.txt")
	[ -n "$archive" ] || fail "$from/checksums.txt lists no archive for $os on $arch"
	fetch "$from/$archive" "$work/$archive"
	expected=$(awk -v name="$archive" '$2 == name { print $1; exit }' "$work/checksums.txt")
	actual=$(sha256 "$work/$archive")
	[ "$expected" = "$actual" ] ||
		fail "the SHA-256 of $archive is $actual, but checksums.txt says $expected. Nothing was installed"

	mkdir "$work/files"
	tar -xzf "$work/$archive" -C "$work/files"
	sudo=
	if ! mkdir -p "$prefix/bin" 2>/dev/null || [ ! -w "$prefix/bin" ]; then
		command -v sudo >/dev/null || fail "cannot write to $prefix. Run this as root, or set PREFIX=\$HOME/.local"
		sudo=sudo
		$sudo mkdir -p "$prefix/bin"
	fi
	$sudo mkdir -p "$prefix/share/man/man1"
	$sudo install -m 0644 "$work"/files/man/*.1 "$prefix/share/man/man1/" || fail "cannot write to $prefix/share/man/man1"
	# The program is copied under another name first, so that a full disk does not damage an installed one.
	new=$prefix/bin/.agentgraph.new
	$sudo install -m 0755 "$work/files/agentgraph" "$new" || discard "cannot write to $prefix/bin"
	version=$("$new" --version) || discard "the program does not run on this system"
	$sudo mv -f "$new" "$prefix/bin/agentgraph" || discard "cannot write to $prefix/bin"
	echo "Installed $version in $prefix/bin"
	case :$PATH: in
	*:"$prefix/bin":*) ;;
	*) echo "Add $prefix/bin to your PATH" ;;
	esac
	echo "Start it with a demo: agentgraph dev"
}

main
