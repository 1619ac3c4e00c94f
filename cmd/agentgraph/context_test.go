package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

// process runs agentgraph in a new process with only the given environment.
func process(t *testing.T, input string, env []string, args ...string) outcome {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	var out, log dbtest.Output
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &log
	cmd.Env = append([]string{asCommand + "=1"}, env...)
	_ = cmd.Run()
	return outcome{cmd.ProcessState.ExitCode(), out.String(), log.String()}
}

func TestContextsSelectServerAndKey(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	_, one := newCompany(t, store, "One")
	_, two := newCompany(t, store, "Two")
	url := serve(t, address, one, "--workers", "0").url
	settings := t.TempDir()
	env := []string{"XDG_CONFIG_HOME=" + settings}

	require.Equal(t, outcome{2, "", "agentgraph: standard input is empty; it must hold the API key\n"},
		process(t, "", env, "context", "add", "one", "--url", url))
	require.Equal(t, outcome{0, "context one is " + url + "\n", ""}, process(t, "\ufeff"+one+"\n", env, "context",
		"add", "one", "--url", url))
	require.Equal(t, 0, process(t, two, env, "context", "add", "two", "--url", url+"/").code)
	info, err := os.Stat(filepath.Join(settings, "agentgraph", "contexts.yaml"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	listed := process(t, "", env, "context", "list")
	require.Equal(t, "* one  "+url+"\n  two  "+url+"/\n", listed.out)

	asked := func(env []string, args ...string) outcome {
		return process(t, "\ufeff{ company { name } }", env, append([]string{"query", "-"}, args...)...)
	}
	company := func(name string) string { return `{"data":{"company":{"name":"` + name + "\"}}}\n" }
	require.Equal(t, outcome{0, company("One"), ""}, asked(env))
	require.Equal(t, company("Two"), asked(env, "--context", "two").out)
	require.Equal(t, company("Two"), asked(append(env, "AGENTGRAPH_URL=http://127.0.0.1:1"), "--context", "two").out,
		"a context is never mixed with the environment")
	require.Equal(t, 3, asked(append(env, "AGENTGRAPH_URL="+url, "AGENTGRAPH_API_KEY=x")).code,
		"the environment comes before the context in use")
	require.Equal(t, 0, process(t, "", env, "context", "use", "two").code)
	require.Equal(t, company("Two"), asked(env).out)

	require.Contains(t, asked(nil).log, "--api-key or AGENTGRAPH_API_KEY must hold a key", "without HOME")
	require.Contains(t, asked(nil, "--context", "one").log, "set HOME or XDG_CONFIG_HOME")

	mixed := asked(env, "--context", "one", "--api-key", "x")
	require.Equal(t, outcome{2, "", "agentgraph: --context cannot be combined with --url or --api-key\n"}, mixed)
	unknown := asked(env, "--context", "three")
	require.Equal(t,
		outcome{2, "", "agentgraph: the context \"three\" does not exist; the contexts are one, two\n"}, unknown)
	require.Equal(t, 0, process(t, "", env, "context", "remove", "two").code)
	none := asked(env)
	require.Equal(t, 2, none.code)
	require.Contains(t, none.log, "--api-key or AGENTGRAPH_API_KEY must hold a key")

	require.NoError(t, os.WriteFile(filepath.Join(settings, "agentgraph", "contexts.yaml"), []byte("servers: ["+one),
		0o600))
	broken := asked(env)
	require.Contains(t, broken.log, "does not contain valid contexts: fix or remove it")
	require.NotContains(t, broken.log, one)
}
