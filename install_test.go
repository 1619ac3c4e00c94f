package agentgraph

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// packArchive returns an archive like that of a release, with a program that prints its version.
func packArchive(t *testing.T) []byte {
	t.Helper()
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	archive := tar.NewWriter(compressed)
	for name, text := range map[string]string{
		"agentgraph": "#!/bin/sh\necho agentgraph v0.1.0\n", "man/agentgraph.1": ".TH agentgraph 1\n",
	} {
		require.NoError(t, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}))
		_, err := archive.Write([]byte(text))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, compressed.Close())
	return packed.Bytes()
}

// serveRelease serves the newest release below /latest/download, and returns its address.
func serveRelease(t *testing.T, archive []byte, sum string) string {
	t.Helper()
	name := fmt.Sprintf("agentgraph_0.1.0_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	mux := http.NewServeMux()
	mux.HandleFunc("/latest/download/"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) })
	mux.HandleFunc("/latest/download/checksums.txt", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, "%064d  agentgraph_0.1.0_plan9_mips.tar.gz\n%s  %s\n", 0, sum, name)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

func runInstaller(t *testing.T, releases, prefix string) (string, error) {
	t.Helper()
	return runInstallerIn(t, "", "RELEASES="+releases, "PREFIX="+prefix, "VERSION=")
}

// runInstallerIn runs the installer in a directory, with further variables.
func runInstallerIn(t *testing.T, dir string, variables ...string) (string, error) {
	t.Helper()
	script, err := filepath.Abs("install.sh")
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), "sh", script) //nolint:gosec // the project's own script
	command.Dir, command.Env = dir, append(os.Environ(), variables...)
	output, err := command.CombinedOutput()
	return string(output), err
}

func TestInstallerChecksTheSum(t *testing.T) {
	t.Parallel()
	archive := packArchive(t)
	prefix := t.TempDir()
	output, err := runInstaller(t, serveRelease(t, archive, fmt.Sprintf("%x", sha256.Sum256(archive))), prefix)
	require.NoError(t, err, output)
	require.Contains(t, output, "Installed agentgraph v0.1.0 in "+prefix)
	require.FileExists(t, filepath.Join(prefix, "share", "man", "man1", "agentgraph.1"))

	prefix = t.TempDir()
	output, err = runInstaller(t, serveRelease(t, archive, fmt.Sprintf("%x", sha256.Sum256([]byte("other")))), prefix)
	require.Error(t, err)
	require.Contains(t, output, "Nothing was installed")
	require.NoFileExists(t, filepath.Join(prefix, "bin", "agentgraph"))
}

func TestInstallerKeepsTheOldProgram(t *testing.T) {
	archive := packArchive(t)
	for name, test := range map[string]struct{ install, reason string }{
		"if the disk is full":             {`echo half >"$4"; exit 1`, "cannot write to "},
		"if the new program does not run": {`echo exit 1 >"$4"; chmod 755 "$4"`, "the program does not run on this system"},
	} {
		t.Run(name, func(t *testing.T) {
			prefix, commands := t.TempDir(), t.TempDir()
			old := filepath.Join(prefix, "bin", "agentgraph")
			require.NoError(t, os.MkdirAll(filepath.Dir(old), 0o700))
			require.NoError(t, os.WriteFile(old, []byte("old"), 0o600))
			script := "#!/bin/sh\ncase $4 in */bin/*) " + test.install + " ;; esac\n"
			install := filepath.Join(commands, "install")
			require.NoError(t, os.WriteFile(install, []byte(script), 0o700)) //nolint:gosec // a program
			t.Setenv("PATH", commands+":"+os.Getenv("PATH"))

			output, err := runInstaller(t, serveRelease(t, archive, fmt.Sprintf("%x", sha256.Sum256(archive))), prefix)
			require.Error(t, err)
			require.Contains(t, output, test.reason)
			text, err := os.ReadFile(old) //nolint:gosec // a file of the test
			require.NoError(t, err)
			require.Equal(t, "old", string(text))
			files, err := os.ReadDir(filepath.Dir(old))
			require.NoError(t, err)
			require.Len(t, files, 1)
		})
	}
}

func TestInstallerInstallsNothingFromABrokenDownload(t *testing.T) {
	t.Parallel()
	archive := packArchive(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/checksums.txt") {
			_, _ = fmt.Fprintf(w, "%x  agentgraph_0.1.0_%s_%s.tar.gz\n", sha256.Sum256(archive), runtime.GOOS, runtime.GOARCH)
			return
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(archive)))
		_, _ = w.Write(archive[:len(archive)/2]) // so the connection ends before the announced length
	}))
	t.Cleanup(server.Close)
	prefix := t.TempDir()
	output, err := runInstaller(t, server.URL, prefix)
	require.Error(t, err)
	require.Contains(t, output, "cannot download "+server.URL+"/latest/download/agentgraph_0.1.0_")
	require.NoDirExists(t, filepath.Join(prefix, "bin"))
}

func TestInstallerNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	output, err := runInstaller(t, server.URL, t.TempDir())
	require.Error(t, err)
	require.Contains(t, output, "cannot download "+server.URL+"/latest/download/checksums.txt")
}

func TestInstallerKnowsItsDirectoryInThePath(t *testing.T) {
	archive := packArchive(t)
	releases := serveRelease(t, archive, fmt.Sprintf("%x", sha256.Sum256(archive)))
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Setenv("PATH", filepath.Join(dir, "local", "bin")+":"+os.Getenv("PATH"))
	for _, prefix := range []string{"local", filepath.Join(dir, "local") + "/"} {
		output, err := runInstallerIn(t, dir, "RELEASES="+releases, "PREFIX="+prefix, "VERSION=")
		require.NoError(t, err, output)
		require.Contains(t, output, "in "+filepath.Join(dir, "local", "bin")+"\n")
		require.NotContains(t, output, "to your PATH")
	}
}

func TestInstallerKnowsThatVersionsStartWithV(t *testing.T) {
	t.Parallel()
	output, err := runInstallerIn(t, "", "PREFIX="+t.TempDir(), "VERSION=0.1.0")
	require.Error(t, err)
	require.Contains(t, output, "versions start with v: set VERSION=v0.1.0")
}
