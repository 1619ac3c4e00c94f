package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

// ran runs a command line to its end.
func ran(t *testing.T, args ...string) outcome {
	t.Helper()
	var out, log bytes.Buffer
	code := run(t.Context(), args, streams{out: &out, log: &log})
	return outcome{code, out.String(), log.String()}
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	whole := ran(t)
	require.Equal(t, 0, whole.code)
	require.Equal(t, whole, ran(t, "help"))
	require.Equal(t, whole, ran(t, "--help"))
	for _, words := range []string{"Run it:", "Ask a server:", "completion", "--config=FILE", "--version"} {
		require.Contains(t, whole.out, words)
	}
	require.NotContains(t, whole.out, "__complete")
	require.Equal(t, ran(t, "test", "run", "--help"), ran(t, "help", "test", "run"))
	require.Equal(t, ran(t, "version"), ran(t, "--version"))
	require.Equal(t, "agentgraph "+version()+"\n", ran(t, "--version").out)
}

func TestAWrongCommandLineIsTwoAndSaysWhatWasMeant(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"hlep":             `did you mean "help"?`,
		"sevre":            `did you mean "serve"?`,
		"test rnu":         `did you mean "run"?`,
		"dev --prot 1":     `"--port"?`,
		"test":             `expected one of "run", "rejudge", "compare", "list", "show"`,
		"help nothing":     "unexpected argument nothing",
		"completion tcsh":  "must be one of",
		"--config /no dev": "read settings: open /no: no such file or directory",
	} {
		o := ran(t, strings.Fields(line)...)
		require.Equal(t, 2, o.code, line)
		require.Contains(t, o.log, says, line)
		require.Equal(t, 1, strings.Count(o.log, "\n"), o.log)
		require.Empty(t, o.out, line)
	}
}

// leaves calls fn with each command that can be run.
func leaves(node *kong.Node, fn func(*kong.Node)) {
	for _, child := range node.Children {
		leaves(child, fn)
	}
	if node.Leaf() && !node.Hidden {
		fn(node)
	}
}

var exampleWords = regexp.MustCompile(`"[^"]*"|\S+`)

func TestEveryCommandHasExamplesThatCanBeRun(t *testing.T) {
	t.Parallel()
	fresh := func() *kong.Kong {
		parser, err := newParser(t.Context(), streams{out: io.Discard, log: io.Discard}, func(int) {})
		require.NoError(t, err)
		return parser
	}
	leaves(fresh().Model.Node, func(command *kong.Node) {
		example := command.Tag.Get("example")
		require.NotEmpty(t, example, command.FullPath())
		for line := range strings.Lines(example) {
			_, line, found := strings.Cut(line, "agentgraph ")
			require.True(t, found, example)
			line = regexp.MustCompile(`[<>)|]`).Split(line, 2)[0]
			var args []string
			for _, word := range exampleWords.FindAllString(line, -1) {
				args = append(args, strings.Trim(word, `"`))
			}
			if strings.Contains(command.Summary(), "--database-url=URL") {
				args = append(args, "--database-url", "postgres://any")
			}
			var kept []string
			for i := 0; i < len(args); i++ {
				if args[i] == "--config" {
					i++ // There is no such file here.
					continue
				}
				kept = append(kept, args[i])
			}
			selected, err := fresh().Parse(kept)
			require.NoError(t, err, line)
			require.Equal(t, command.FullPath(), selected.Selected().FullPath(), line)
		}
	})
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for line, wanted := range map[string][]string{
		"te":                         {"test"},
		"test ":                      {"run", "rejudge", "compare", "list", "show", "export", "import", "diff"},
		"test run --jun":             {"--junit"},
		"test run --api-key x --jun": {"--junit"},
		"keys create --scope br":     {"browse"},
		"serve --console ":           {"on", "off"},
		"completion ":                {"bash", "zsh", "fish"},
		"test show some":             nil,
		"serve --listen test --metr": {"--metrics-listen"},
	} {
		o := ran(t, append([]string{"__complete", "--"}, strings.Split(line, " ")...)...)
		require.Equal(t, 0, o.code, o.log)
		var words []string
		for candidate := range strings.Lines(o.out) {
			word, _, _ := strings.Cut(strings.TrimSpace(candidate), "\t")
			words = append(words, word)
		}
		require.Equal(t, wanted, words, line)
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		require.Contains(t, ran(t, "completion", shell).out, "__complete --", shell)
	}
}

func TestSettingsFromAFile(t *testing.T) {
	address := dbtest.URL(t)
	path := filepath.Join(t.TempDir(), "agentgraph.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	t.Setenv("DATABASE_URL", "")
	t.Setenv("AGENTGRAPH_CONFIG", path)
	write("database-url: " + address + "\ncompanies:\n  create:\n    name: From the file\n  list:\n    json: true\nserve:\n  tool-allow: [a.internal, b.internal]\n")
	require.Equal(t, 0, ran(t, "companies", "create").code)
	require.Equal(t, 0, ran(t, "companies", "create", "--name", "From the flag").code)
	t.Setenv("AGENTGRAPH_COMPANY_NAME", "From the environment")
	require.Equal(t, 0, ran(t, "companies", "create", "--config", path).code)
	listed := ran(t, "companies", "list")
	for _, source := range []string{"file", "flag", "environment"} {
		require.Contains(t, listed.out, `"name": "From the `+source+`"`, "as JSON, as the file says")
	}
	for text, says := range map[string]string{
		"databse-url: x":             "databse-url is not a setting",
		"serve: {listne: x}":         "serve.listne is not a setting",
		"serv: {listen: x}":          "serv is not a command",
		"- hunter2":                  "is not YAML, or no map of names to values",
		"serve: {workers: \"many\"}": "",
	} {
		write(text)
		o := ran(t, "serve", "--database-url", "postgres://127.0.0.1:1/x")
		require.Equal(t, 2, o.code, o.log)
		require.Contains(t, o.log, says)
		require.NotContains(t, o.log, "hunter2")
	}
}

func TestTablesAsJSON(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	for _, command := range []string{"companies create --name Acme", "plan set --company Acme --name Team --credits 100 --json", "keys create --company Acme --name CI"} {
		require.Equal(t, 0, ran(t, append(strings.Fields(command), "--database-url", address)...).code)
	}
	for command, holds := range map[string]string{
		"companies list":           `"name": "Acme"`,
		"keys list --company Acme": `"state": "good"`,
		"plan list":                `"plan": "Team"`,
		"plan show --company Acme": `"remaining": 100`,
		"migrate status":           `"name": "0001_agent_graph.sql"`,
	} {
		o := ran(t, append(strings.Fields(command), "--json", "--database-url", address)...)
		require.Equal(t, 0, o.code, o.log)
		require.Contains(t, o.out, holds, command)
		require.NotContains(t, o.out, "hash", command)
	}
}
