package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// ran runs a command line and returns the outcome.
func ran(t *testing.T, args ...string) outcome {
	t.Helper()
	var out, log bytes.Buffer
	code := run(t.Context(), args, streams{out: &out, log: &log})
	return outcome{code, out.String(), log.String()}
}

func TestHelpAndVersionArePrinted(t *testing.T) {
	t.Parallel()
	whole := ran(t)
	require.Equal(t, 0, whole.code)
	require.Equal(t, whole, ran(t, "help"))
	require.Equal(t, whole, ran(t, "--help"))
	for _, words := range []string{"Run the gateway:", "Use a server:", "completion", "--config=FILE", "--version"} {
		require.Contains(t, whole.out, words)
	}
	require.NotContains(t, whole.out, "__complete")
	require.Equal(t, ran(t, "test", "run", "--help"), ran(t, "help", "test", "run"))
	require.Equal(t, ran(t, "version"), ran(t, "--version"))
	require.Equal(t, "agentgraph "+version()+"\n", ran(t, "--version").out)
}

// The manual pages have everything that the help has: a page is complete without running the program.
func TestManualPagesSayWhatTheHelpSays(t *testing.T) {
	t.Parallel()
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		words := strings.Fields(cmd.CommandPath())[1:]
		help, page := ran(t, append(words, "--help")...), cli.Manual(cmd, "2026-11-30")
		page = strings.NewReplacer(`\-`, "-", `\&`, "", `\e`, `\`, `""`, `"`).Replace(page)
		paged := strings.Join(strings.Fields(page), " ")
		for line := range strings.Lines(help.out) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), "    ")
			line = strings.TrimPrefix(line, "Usage: ")
			if !strings.HasSuffix(line, ":") && !strings.HasPrefix(line, "Run \"") {
				require.Contains(t, paged, strings.TrimSuffix(line, "."), "%v", words)
			}
		}
		for _, child := range cmd.Commands() {
			if child.IsAvailableCommand() {
				visit(child)
			}
		}
	}
	visit(newProgram())
	serve, _, err := newProgram().Find([]string{"serve"})
	require.NoError(t, err)
	require.Contains(t, cli.Manual(serve, ""), ".TP\n.B \"\\-\\-rate\\-limit=600\"\n")
	require.Contains(t, cli.Manual(serve, ""), "($AGENTGRAPH_RATE_LIMIT).")
}

func TestWrongCommandLineExitsWithTwoAndSuggestion(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"hlep":             `did you mean "help"?`,
		"sevre":            `did you mean "serve"?`,
		"test rnu":         `did you mean "run"?`,
		"dev --prot 1":     `"--port"?`,
		"test":             `expected one of "run", "rejudge", "blame", "compare", "list", ...`,
		"judge":            `expected "eval"`,
		"version extra":    "unexpected argument extra",
		"test run -x":      `unknown flag -x`,
		"dev --port":       "--port needs a value",
		"dev --port x":     `--port: expected a whole number but got "x"`,
		"export --company": "--company needs a value",
		"erase --phone --json --company x --database-url y": "--phone needs a value, but the next argument starts with a " +
			"dash. Pass --phone=NUMBER",
		"erase --database-url postgres://x":     "missing flags: --company=STRING, --phone=NUMBER",
		"dev --log-level v":                     `--log-level: expected debug, info, warn or error but got "v"`,
		"query":                                 `expected "<file>"`,
		"agents --channel Fax":                  `--channel must be one of "Phone","SMS","Web","WhatsApp" but got "Fax"`,
		"usage --from yesterday":                "--from: expected a day such as 2026-03-01",
		"chat x --data y":                       "--data: expected NAME=VALUE",
		"help nothing":                          `the command "nothing" does not exist`,
		"help test nothing":                     `the command "test nothing" does not exist`,
		"nope --help":                           `the command "nope" does not exist`,
		"test nope --help":                      `the command "test nope" does not exist`,
		"test rnu -h":                           `the command "test rnu" does not exist, did you mean "run"?`,
		"test run --agent A --no-help --test B": "unknown flag --no-help",
		"completion tcsh":                       `<shell> must be one of "bash","zsh","fish","powershell" but got "tcsh"`,
		"--config /no dev":                      "read settings: open /no: no such file or directory",
	} {
		o := ran(t, strings.Fields(line)...)
		require.Equal(t, 2, o.code, line)
		require.Contains(t, o.log, says, line)
		require.Equal(t, 1, strings.Count(o.log, "\n"), o.log)
		require.Empty(t, o.out, line)
	}
}

// leaves calls fn with each runnable command.
func leaves(command *cobra.Command, fn func(*cobra.Command)) {
	for _, child := range command.Commands() {
		leaves(child, fn)
	}
	if !command.HasSubCommands() {
		fn(command)
	}
}

// parse parses a command line like the program, and returns the selected command.
func parse(t *testing.T, words []string) (selected *cobra.Command, err error) {
	t.Helper()
	program := newProgram()
	leaves(program, func(command *cobra.Command) {
		command.RunE = func(command *cobra.Command, _ []string) error {
			selected = command
			return nil
		}
	})
	return selected, cli.Execute(t.Context(), program, words)
}

// The test gives each flag of each command twice. Lists are exempt, because they may repeat.
func TestRepeatedFlagsAreRefused(t *testing.T) {
	t.Parallel()
	seen := 0
	models := filepath.Join(t.TempDir(), "models.yaml")
	require.NoError(t, os.WriteFile(models, []byte("models: [{name: other}]"), 0o600))
	leaves(newProgram(), func(command *cobra.Command) {
		command.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.Value.Type() == "stringSlice" || strings.HasPrefix(flag.Name, "no-") {
				return
			}
			values := []string{"1", "true", "1m", "2026-03-01", "2.5", "200,1000", t.TempDir(), "on", "holm", "as-run", "read",
				"info", "Phone", "retell", "bucket", models}
			for _, value := range values {
				if flag.Value.Set(value) != nil {
					continue
				}
				word := "--" + flag.Name + "=" + value
				_, err := parse(t, append(strings.Fields(command.CommandPath())[1:], word, word))
				require.ErrorContains(t, err, "--"+flag.Name+" was given twice", command.CommandPath())
				seen++
				return
			}
			require.Fail(t, "no value fits", "%s --%s", command.CommandPath(), flag.Name)
		})
	})
	require.Greater(t, seen, 100)
}

var exampleWords = regexp.MustCompile(`"[^"]*"|'[^']*'|\S+`)

func TestEveryCommandHasValidExamples(t *testing.T) {
	t.Parallel()
	leaves(newProgram(), func(command *cobra.Command) {
		example := command.Example
		require.NotEmpty(t, example, command.CommandPath())
		for line := range strings.Lines(example) {
			_, line, found := strings.Cut(line, "agentgraph ")
			require.True(t, found, example)
			line = regexp.MustCompile(`[<>)|]`).Split(line, 2)[0]
			var args []string
			for _, word := range exampleWords.FindAllString(line, -1) {
				args = append(args, strings.Trim(word, `"'`))
			}
			if command.Flags().Lookup("database-url") != nil {
				args = append(args, "--database-url", "postgres://any")
			}
			var kept []string
			for i := 0; i < len(args); i++ {
				if args[i] == "--config" || i+1 < len(args) && strings.Contains(args[i+1], "=@") {
					i++ // The file does not exist here.
					continue
				}
				kept = append(kept, args[i])
			}
			selected, err := parse(t, kept)
			require.NoError(t, err, line)
			require.Equal(t, command.CommandPath(), selected.CommandPath(), line)
		}
	})
}

func TestShellsCompleteCommandsAndFlags(t *testing.T) {
	t.Parallel()
	for line, wanted := range map[string][]string{
		"te":                         {"test"},
		"test ":                      {"run", "rejudge", "blame", "compare", "list", "executions", "show", "labels", "export", "import", "diff"},
		"test run --jun":             {"--junit"},
		"test run --api-key x --jun": {"--junit"},
		"chat A --data a=1 --moc":    {"--mock"},
		"keys create --scope br":     {"browse"},
		"serve --console ":           {"on", "off"},
		"serve --log-level ":         {"debug", "info", "warn", "error"},
		"completion ":                {"bash", "zsh", "fish", "powershell"},
		"test show some":             nil,
		"serve --listen test --metr": {"--metrics-listen"},
		"serve --no-":                {"--no-review-contacts", "--no-introspection", "--no-compress", "--no-plan"},
	} {
		o := ran(t, append([]string{cobra.ShellCompRequestCmd}, strings.Split(line, " ")...)...)
		require.Equal(t, 0, o.code, o.log)
		// The last line tells the shell whether to complete file names too.
		lines := strings.Split(strings.TrimSpace(o.out), "\n")
		require.Regexp(t, `^:\d+$`, lines[len(lines)-1], line)
		var words []string
		for _, candidate := range lines[:len(lines)-1] {
			word, _, _ := strings.Cut(candidate, "\t")
			words = append(words, word)
		}
		require.Equal(t, wanted, words, line)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		require.Contains(t, ran(t, "completion", shell).out, cobra.ShellCompRequestCmd, shell)
	}
}

// The trigger fails as Citus 13 does while a worker is down.
func TestCompanyIsCreatedOnceTheNodeIsBack(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	for _, statement := range []string{
		`CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			RAISE 'connection to the remote node postgres@db-2:5432 failed with the following error: Connection refused'
				USING ERRCODE = 'connection_failure';
		END $$`,
		"CREATE TRIGGER away AFTER INSERT ON companies FOR EACH ROW EXECUTE FUNCTION fail()",
	} {
		_, err := conn.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	create := []string{"companies", "create", "--name", "Acme", "--database-url", address}
	failed := ran(t, create...)
	require.Equal(t, 1, failed.code)
	require.Contains(t, failed.log,
		"the database node db-2:5432 is not available: start it, then run the command again\n")
	list := []string{"companies", "list", "--database-url", address}
	require.Empty(t, ran(t, list...).out)
	_, err = conn.Exec(t.Context(), "DROP TRIGGER away ON companies")
	require.NoError(t, err)
	require.Zero(t, ran(t, create...).code)
	require.Contains(t, ran(t, list...).out, "Acme")
}

func TestSettingsAreReadFromAFile(t *testing.T) {
	address := dbtest.URL(t)
	path := filepath.Join(t.TempDir(), "agentgraph.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o600)) }
	t.Setenv("DATABASE_URL", "")
	t.Setenv("AGENTGRAPH_CONFIG", path)
	write("database-url: " + address + "\ncompanies:\n  create:\n    name: From the file\n  list:\n    json: " +
		"true\nserve:\n  tool-allow: [a.internal, b.internal]\n")
	require.Equal(t, 0, ran(t, "companies", "create").code)
	require.Equal(t, 0, ran(t, "companies", "create", "--name", "From the flag").code)
	listed := ran(t, "companies", "list")
	for _, source := range []string{"file", "flag"} {
		require.Contains(t, listed.out, `"name": "From the `+source+`"`, "as JSON, as the file says")
	}
	write("\ufeffdatabase-url: " + address + "\n")
	require.Equal(t, outcome{0, listed.out, ""}, ran(t, "companies", "list", "--json"), "after a byte order mark")
	for text, says := range map[string]string{
		"databse-url: x":             "databse-url is not a setting",
		"serve: {listne: x}":         "serve.listne is not a setting",
		"serv: {listen: x}":          "serv is not a command",
		"- hunter2":                  "must be a YAML map of names to values",
		"serve: {workers: \"many\"}": "",
	} {
		write(text)
		o := ran(t, "serve", "--database-url", "postgres://127.0.0.1:1/x")
		require.Equal(t, 2, o.code, o.log)
		require.Contains(t, o.log, says)
		require.NotContains(t, o.log, "hunter2")
	}
}

func TestTablesPrintAsJSON(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	for _, command := range []string{"companies create --name Acme",
		"plan set --company Acme --name Team --credits 100 --json", "keys create --company Acme --name CI"} {
		require.Equal(t, 0, ran(t, append(strings.Fields(command), "--database-url", address)...).code)
	}
	for command, holds := range map[string]string{
		"companies list":           `"name": "Acme"`,
		"companies list --bytes":   `"bytes": `,
		"keys list --company Acme": `"state": "good"`,
		"plan list":                `"plan": "Team"`,
		"plan show --company Acme": `"remaining": 100`,
		"migrate status":           `"name": "0001_agent_graph.sql"`,
		"migrate up":               `"name": "0001_agent_graph.sql"`,
	} {
		o := ran(t, append(strings.Fields(command), "--json", "--database-url", address)...)
		require.Equal(t, 0, o.code, o.log)
		require.Contains(t, o.out, holds, command)
		require.NotContains(t, o.out, "hash", command)
	}
}

// A name on a terminal neither moves the cursor nor begins another row.
func TestTablesShowNamesOnOneLine(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	const name, shown = "A\x1b[2J\ncompany_x\tB", "A[2J company_x B\n"
	company, err := store.CreateCompany(t.Context(), name)
	require.NoError(t, err)
	tenant := store.Tenant(company.ID)
	_, _, err = tenant.CreateAPIKey(t.Context(), model.CreateAPIKeyInput{Name: name,
		Scopes: []model.APIKeyScope{model.APIKeyScopeRead}})
	require.NoError(t, err)
	require.NoError(t, tenant.SetPlan(t.Context(), model.SetPlanInput{Name: name}))
	for command, line := range map[string]string{
		"companies list":                    company.ID + "  " + shown,
		"keys list --company " + company.ID: "[read]  " + shown,
		"plan show --company " + company.ID: "plan       " + shown,
		"plan list":                         company.ID + "  A[2J company_x B  A[2J company_x B  ",
	} {
		o := ran(t, append(strings.Fields(command), "--database-url", address)...)
		require.Equal(t, 0, o.code, o.log)
		require.Contains(t, o.out, line, command)
	}
}
