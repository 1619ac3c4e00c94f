package local

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// installed creates a directory of binaries that report the major version.
func installed(t *testing.T, root string, major int) string {
	t.Helper()
	dir := filepath.Join(root, strconv.Itoa(major), "bin")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	script := "#!/bin/sh\necho 'postgres (PostgreSQL) " + strconv.Itoa(major) + ".3 (Debian)'\n"
	// The lock prevents forks while the file is open. A forked process would inherit the open file, and nobody could
	// execute it.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for _, name := range []string{"postgres", "initdb"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755))
	}
	return dir
}

func TestNewestUsableBinariesAreFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	thirteen, fourteen, nine := installed(t, root, 13), installed(t, root, 14), installed(t, root, 9)
	sixteen := installed(t, root, 16)
	all := []string{filepath.Join(root, "*", "bin")}
	partial := filepath.Join(t.TempDir(), "bin")
	require.NoError(t, os.MkdirAll(partial, 0o755))

	for name, c := range map[string]struct {
		path     string
		patterns []string
		major    int
		want     string
		fault    string
	}{
		"latest first":          {patterns: all, want: sixteen},
		"PATH before others":    {path: partial + ":" + fourteen, patterns: all, want: fourteen},
		"too old in PATH":       {path: thirteen, patterns: all, want: sixteen},
		"the cluster's version": {path: sixteen, patterns: all, major: 14, want: fourteen},
		"nothing": {path: partial + ":relative:",
			fault: `the PostgreSQL server binaries were not found: install them, for example with "apt-get install postgresql"`},
		"too old": {path: thirteen, patterns: []string{nine},
			fault: "PostgreSQL 14 or later is needed, but the server binaries found are of version 13, 9: install them"},
		"not the cluster's": {patterns: all, major: 15, fault: "created by PostgreSQL 15, but the server binaries found " +
			"are of version 16, 14, 13, 9"},
		"nothing for a cluster": {path: partial, major: 15, fault: "were not found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := findBinaries(t.Context(), c.path, c.patterns, c.major)
			if c.fault != "" {
				require.ErrorContains(t, err, c.fault)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got.dir)
		})
	}
}
