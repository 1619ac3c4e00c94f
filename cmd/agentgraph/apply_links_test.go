package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestApplyFollowsNoLinkOutOfItsDirectory(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, key := newCompany(t, c.store, "Links")
	outside := filepath.Join(t.TempDir(), "secret.yaml")
	require.NoError(t, os.WriteFile(outside, []byte("agents: [hunter2]\n"), 0o600))
	dir := t.TempDir()
	file := filepath.Join(dir, "company.yaml")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "knowledge"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "knowledge", "true.md"), []byte("# True\n"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "knowledge", "link.txt")))
	require.NoError(t, os.Symlink(filepath.Dir(outside), filepath.Join(dir, "knowledge", "folder")))
	require.NoError(t, os.Symlink("true.md", filepath.Join(dir, "knowledge", "inside.md")))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "rows.csv")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "knowledge", "pipe"), 0o600))
	for text, says := range map[string]string{
		"datasets: [{name: A, documents: [link.txt]}]":                                                             "link.txt is a symbolic link that leads out of " + dir,
		"datasets: [{name: A, documents: [folder/secret.yaml]}]":                                                   "secret.yaml is a symbolic link that leads out of " + dir,
		"datasets: [{name: A, documents: [pipe]}]":                                                                 "pipe is not a regular file",
		anAgent + "agentTests: [{agent: A, simulations: [{name: B, scenario: C, criteria: [D], rows: rows.csv}]}]": "rows.csv is a symbolic link that leads out",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		o := c.run(t, key, "apply", "-f", file)
		require.Equal(t, 1, o.code, o.out)
		require.Contains(t, o.log, says)
		require.NotContains(t, o.log, "hunter2")
		require.Empty(t, c.mutations)
	}
	require.NoError(t, os.WriteFile(file, []byte("datasets: [{name: A, documents: [inside.md]}]"), 0o600))
	c.good(t, key, "apply", "-f", file)
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "more.yaml")))
	require.Contains(t, c.run(t, key, "apply", "-f", dir).log, "more.yaml is a symbolic link that leads out of "+dir)
}

func TestPullWritesThroughNoLink(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	_, key := newCompany(t, c.store, "Pulled")
	file := write(t, "datasets: [{name: A, documents: [a.md]}]\ntools: [{name: T, technicalName: t}]\n")
	require.NoError(t, os.Mkdir(filepath.Join(filepath.Dir(file), "knowledge"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "knowledge", "a.md"), []byte("# A\n"), 0o600))
	c.good(t, key, "apply", "-f", file)
	outside, dir := t.TempDir(), t.TempDir()
	victim := filepath.Join(outside, "victim")
	require.NoError(t, os.WriteFile(victim, []byte("mine"), 0o600))
	require.NoError(t, os.Symlink(victim, filepath.Join(dir, "tools.yaml")))
	require.NoError(t, os.Symlink(victim, filepath.Join(dir, "agentgraph.schema.json")))
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "knowledge")))
	o := c.run(t, key, "pull", dir)
	require.NotZero(t, o.code)
	require.Contains(t, o.log, "knowledge")
	require.NoError(t, os.Remove(filepath.Join(dir, "knowledge")))
	c.good(t, key, "pull", dir)
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "mine", string(text), "links are replaced")
	require.Contains(t, filesIn(t, dir)["tools.yaml"], "technicalName: t")
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.NoError(t, os.Symlink(victim, filepath.Join(outside, "tests.yaml")))
	c.good(t, key, "test", "export", "-o", filepath.Join(outside, "tests.yaml"))
	text, err = os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "mine", string(text))
}

func TestFilesThatExpandTooFarAreRefused(t *testing.T) {
	t.Parallel()
	c := newApplyServer(t)
	tenant, key := newCompany(t, c.store, "Bombs")
	_, err := tenant.CreateTool(t.Context(), model.CreateToolInput{Name: "t", TechnicalName: "t"})
	require.NoError(t, err)
	var bomb strings.Builder
	bomb.WriteString("x0: &x0 [x, x, x, x, x, x, x, x, x]\n")
	for n := 1; n < 9; n++ {
		fmt.Fprintf(&bomb, "x%d: &x%d [%s]\n", n, n, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*x%d,", n-1), 9), ","))
	}
	file := write(t, bomb.String())
	for _, args := range [][]string{
		{"apply", "-f", file}, {"diff", "-f", file}, {"test", "import", file}, {"test", "diff", file},
		{"test", "import", "--from", "promptfoo", file, "--agent", "A"},
	} {
		o := c.run(t, key, args...)
		require.Equal(t, 1, o.code, o.log)
		require.Contains(t, o.log, "once its aliases are expanded", args)
	}
	o := c.run(t, key, "test", "import", write(t, "agentTests: [{agent: A, simulations: [{name: S, scenario: x, "+
		"criteria: [y], rows: r.jsonl}]}]"))
	require.Contains(t, o.log, "r.jsonl does not exist")
	rows := write(t, anAgent+"agentTests: [{agent: A, simulations: [{name: S, scenario: x, criteria: [y], rows: "+
		"r.jsonl}]}]")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(rows), "r.jsonl"),
		[]byte(`{"a": `+strings.Repeat("[", 1_000_000)), 0o600))
	require.Contains(t, c.run(t, key, "diff", "-f", rows).log, "r.jsonl: line 1 must be a JSON object")
	o = c.run(t, key, "judge", "eval", file)
	require.NotZero(t, o.code)
	require.Equal(t, 2, c.run(t, key, "agents", "--config", file).code)
}
