#!/usr/bin/env bash
# Carries out docs/internals/adding-a-type.md on a copy of the tree: it writes blocks that name a file, applies diffs
# and runs blocks of shell. It fails if the page no longer fits the tree.
set -euo pipefail
cd "$(dirname "$0")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- --create | tar --extract --directory "$copy"
cd "$copy"
# With -trimpath, copies in all directories share the build cache. The copy is not vetted, because it is deleted.
export GOFLAGS="${GOFLAGS:-} -trimpath -vet=off"
# If the copy were inside a repository, git apply would resolve paths from the root of that repository.
export GIT_CEILING_DIRECTORIES=${copy%/*}

# Some migrations are Go code. In the code they have names like those of files.
newest=$({ basename -a db/migrations/*.sql; grep -oh '"[0-9]\{4\}_[a-z_]*\.go"' db/schema/migrate*.go | tr -d '"'; } | sort | tail -n 1)
next=$(printf %04d $((10#${newest%%_*} + 1)))

carry_out() { # arguments: the language of a block, the file that it names, and its text
	case $1 in
	diff)
		echo "apply $(sed -n 's/^+++ b\///p' <<<"$3" | paste -sd ' ')"
		git apply --recount - <<<"$3"
		;;
	sh)
		echo "$3"
		bash -euo pipefail -c "$3" </dev/null
		;;
	*)
		[ -n "$2" ] || return 0
		echo "write ${2/NNNN/$next}"
		printf '%s\n' "$3" >"${2/NNNN/$next}"
		;;
	esac
}

language=
while IFS= read -r line; do
	case $line in
	'```')
		carry_out "$language" "$file" "${block%$'\n'}"
		language=
		;;
	'```'*)
		read -r language file <<<"${line#'```'}"
		block=
		;;
	*) [ -z "$language" ] || block+=$line$'\n' ;;
	esac
done <docs/internals/adding-a-type.md
[ -z "$(gofmt -l app db model query resolvers)" ] || { echo "the page's code is not formatted"; exit 1; }
