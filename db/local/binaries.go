package local

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	oldestMajor = 14
	install     = `install them, for example with "apt-get install postgresql" or "brew install postgresql"`
)

// installations are the places where packages put server binaries outside of PATH: Debian, Red Hat, Homebrew.
var installations = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql*/bin",
	"/usr/local/opt/postgresql*/bin",
	"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
}

var versionOutput = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

type binaries struct {
	dir   string
	major int
}

// findBinaries searches the directories of path in their order, then the patterns, newest version first. If major is
// not 0, only this version is accepted. If it finds suitable binaries in path, it does not run any further ones.
func findBinaries(ctx context.Context, path string, patterns []string, major int) (binaries, error) {
	isSuitable := func(b binaries) bool { return b.major == major || (major == 0 && b.major >= oldestMajor) }
	var found []binaries
	for _, dir := range filepath.SplitList(path) {
		found = appendVersion(ctx, found, dir)
		if len(found) > 0 && isSuitable(found[len(found)-1]) {
			return found[len(found)-1], nil
		}
	}
	inPath := len(found)
	for _, pattern := range patterns {
		dirs, _ := filepath.Glob(pattern) // only a malformed pattern fails
		for _, dir := range dirs {
			found = appendVersion(ctx, found, dir)
		}
	}
	slices.SortStableFunc(found[inPath:], func(a, b binaries) int { return cmp.Compare(b.major, a.major) })

	if len(found) == 0 {
		return binaries{}, fmt.Errorf("the PostgreSQL server binaries were not found: %s", install)
	}
	if i := slices.IndexFunc(found, isSuitable); i >= 0 {
		return found[i], nil
	}
	if major != 0 {
		return binaries{}, fmt.Errorf("it was created by PostgreSQL %d, but the server binaries found are of version %s: "+
			"install version %d, or use another directory",
			major, versions(found), major)
	}
	return binaries{}, fmt.Errorf("PostgreSQL %d or later is needed, but the server binaries found are of version %s: %s",
		oldestMajor, versions(found), install)
}

// appendVersion appends the binaries in dir, if they are complete and run on this machine.
func appendVersion(ctx context.Context, found []binaries, dir string) []binaries {
	if _, err := os.Stat(filepath.Join(dir, "postgres")); err != nil || !filepath.IsAbs(dir) {
		return found
	}
	// initdb loads fewer libraries than the server.
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "initdb"), "--version").Output()
	if err != nil {
		return found
	}
	match := versionOutput.FindSubmatch(out)
	if match == nil {
		return found
	}
	major, err := strconv.Atoi(string(match[1]))
	if err != nil {
		return found
	}
	return append(found, binaries{dir: dir, major: major})
}

func versions(found []binaries) string {
	var names []string
	for _, b := range found {
		names = append(names, strconv.Itoa(b.major))
	}
	return strings.Join(slices.Compact(names), ", ")
}
