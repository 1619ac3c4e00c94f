package agentgraph

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

var (
	ourVariable = regexp.MustCompile(`\bAGENTGRAPH_[A-Z0-9_]*[A-Z0-9]\b`)
	flagEnv     = regexp.MustCompile(`Env: "([A-Z0-9_]+)"`)
)

// deployed returns the files that build and deploy the program, by path.
func deployed(t *testing.T) map[string]string {
	t.Helper()
	names := []string{"Dockerfile", "compose.yaml", ".goreleaser.yaml", "install.sh", "SECURITY.md", "CHANGELOG.md",
		"docs/guides/production.md"}
	require.NoError(t, filepath.WalkDir("deploy", func(path string, entry fs.DirEntry, err error) error {
		// The chart's own tests render its templates.
		if err == nil && !entry.IsDir() && filepath.Base(filepath.Dir(path)) != "templates" {
			names = append(names, path)
		}
		return err
	}))
	files := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		files[name] = string(text)
	}
	return files
}

func TestDeployFilesAreWellFormed(t *testing.T) {
	t.Parallel()
	for name, text := range deployed(t) {
		switch filepath.Ext(name) {
		case ".json":
			require.True(t, json.Valid([]byte(text)), name)
		case ".yaml":
			documents := yaml.NewDecoder(bytes.NewReader([]byte(text)))
			for {
				var document map[string]any
				err := documents.Decode(&document)
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err, name)
				require.NotEmpty(t, document, name)
			}
		}
	}
}

// A misspelled or renamed setting would have no effect.
func TestDeployFilesNameExistingSettings(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	sources, err := filepath.Glob("cmd/agentgraph/*/*.go")
	require.NoError(t, err)
	for _, name := range sources {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, found := range flagEnv.FindAllStringSubmatch(string(text), -1) {
			known[found[1]] = true
		}
	}
	for name, text := range deployed(t) {
		for _, variable := range ourVariable.FindAllString(text, -1) {
			require.True(t, known[variable], "%s names %s, which no flag reads", name, variable)
		}
	}
	require.Greater(t, len(known), 30)
}

// The releaser's ** does not match files of the folder itself, so each folder needs its own pattern.
func TestArchivesHaveAllDocuments(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(".goreleaser.yaml")
	require.NoError(t, err)
	var release struct {
		Archives []struct {
			Files []any `yaml:"files"`
		} `yaml:"archives"`
	}
	require.NoError(t, yaml.Unmarshal(text, &release))
	packed := map[string]bool{}
	for _, pattern := range release.Archives[0].Files {
		if pattern, ok := pattern.(string); ok {
			names, err := filepath.Glob(pattern)
			require.NoError(t, err)
			for _, name := range names {
				packed[name] = true
			}
		}
	}
	for _, dir := range []string{"guides", "reference", "internals"} {
		require.NoError(t, filepath.WalkDir(filepath.Join("docs", dir), func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".md" {
				require.True(t, packed[path], "the archives of a release lack %s", path)
			}
			return err
		}))
	}
}

// A package that is removed and installed again starts its service at boot as before.
func TestOnlyPurgeDisablesTheService(t *testing.T) {
	root := t.TempDir()
	commands, calls := filepath.Join(root, "bin"), filepath.Join(root, "calls")
	link := filepath.Join(root, "etc/systemd/system/multi-user.target.wants/agentgraph.service")
	for path, text := range map[string]string{
		filepath.Join(commands, "systemctl"): "#!/bin/sh\necho \"$@\" >>" + calls + "\n", link: "", calls: "",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o700)) //nolint:gosec // one of them is a program
	}
	t.Setenv("PATH", commands+":"+os.Getenv("PATH"))
	t.Setenv("DPKG_ROOT", root)
	run := func(script, argument string) string {
		output, err := exec.CommandContext(t.Context(), "sh", "deploy/systemd/"+script, argument).CombinedOutput()
		require.NoError(t, err, "%s", output)
		called, err := os.ReadFile(calls) //nolint:gosec // a file of the test
		require.NoError(t, err)
		return string(called)
	}
	run("preremove", "upgrade")
	run("preremove", "remove")
	require.NotContains(t, run("postremove", "remove"), "disable")
	require.FileExists(t, link)
	run("postremove", "purge")
	require.NoFileExists(t, link)
	require.Contains(t, run("preremove", "0"), "disable agentgraph.service") // of rpm, which has no purge
}

// Everybody edits this file, so each change of it asks a question at each upgrade.
func TestConfigurationFileIsNotTheGeneratedList(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("deploy/systemd/environment")
	require.NoError(t, err)
	require.LessOrEqual(t, bytes.Count(text, []byte("=")), 3)
	release, err := os.ReadFile(".goreleaser.yaml")
	require.NoError(t, err)
	require.Contains(t, string(release),
		"{src: deploy/systemd/environment.example, dst: /usr/share/doc/agentgraph/environment.example}")
}
