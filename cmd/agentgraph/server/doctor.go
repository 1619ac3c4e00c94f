package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/db/schema"
	"github.com/agentgraph/agentgraph/engine/llm/provider"
	"github.com/agentgraph/agentgraph/observe"
)

// Doctor checks everything that serve depends on, and changes nothing.
type Doctor struct {
	Serve
	cli.OutputFlag
}

// NewDoctor returns the command "doctor".
func NewDoctor() *cobra.Command {
	c := &Doctor{}
	database := c.DatabaseFlag.Declare()
	database[0].Required = false
	cmd := cli.New(c, &cobra.Command{
		Use: "doctor", Short: "Check the settings, the database, the bucket, NATS, the models, the disk and the ports, " +
			"and say what to fix.",
		Example: `agentgraph doctor
agentgraph doctor --json`,
	}, nil, database, &c.BucketFlag, &c.agentFlags, c.declare(serveLimits), &c.observeFlags, &c.auditFlags,
		&c.busFlags, &c.serverFlags, &c.OutputFlag)
	cmd.Annotations[cli.SettingsOf] = "serve"
	return cmd
}

// Validate refuses the settings that serve refuses, except those that are findings.
func (c *Doctor) Validate() error { return c.validateAlone() }

// finding is the result of one check.
type finding struct {
	Name string `json:"name"`
	// State is ok, warning or problem.
	State string `json:"state"`
	Found string `json:"found"`
	// Advice tells how to fix a warning or a problem.
	Advice string `json:"advice,omitempty"`
}

func ok(name, found string, args ...any) finding {
	return finding{Name: name, State: "ok", Found: fmt.Sprintf(found, args...)}
}

func warning(name, found, advice string) finding { return finding{name, "warning", found, advice} }
func problem(name, found, advice string) finding { return finding{name, "problem", found, advice} }

// problemOf returns a problem with the error. If a right is missing, the error has its own advice.
func problemOf(name string, err error, advice string) finding {
	if lacking, ok := errors.AsType[*schema.RightError](err); ok {
		return problem(name, lacking.Found, lacking.Advice)
	}
	return problem(name, err.Error(), advice)
}

const (
	// checkTimeout bounds each check.
	checkTimeout = 10 * time.Second
	// maxSkew is the tolerated difference between the clocks of the program and the database.
	maxSkew = 2 * time.Second
	// minDisk is the minimum free space for large uploads, in bytes.
	minDisk = 200 << 20
	// minFiles is the minimum limit for open files. Each socket and connection needs one.
	minFiles = 4096
	// maxMetrics bounds the part of a page of metrics that is read, in bytes.
	maxMetrics = 1 << 20
)

// Run prints the findings. It returns an error if there is a problem.
func (c *Doctor) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	findings := []finding{ok("program", "agentgraph %s", cli.Version(cmd)), c.secret()}
	if unknown := cli.UnknownVariables(cmd.Root(), variablePrefix, c.modelKeyVariables...); len(unknown) > 0 {
		findings = append(findings, warning("variables", "no setting reads "+strings.Join(unknown, "; "),
			"correct or remove them. docs/reference/settings.md lists all settings"))
	}
	findings = append(findings, c.database(ctx)...)
	findings = append(findings, c.bucket(ctx)...)
	findings = append(findings, c.bus(ctx)...)
	findings = append(findings, c.engine()...)
	findings = append(findings, c.models(ctx)...)
	findings = append(findings, disk(os.TempDir()), files())
	findings = append(findings, c.ports(ctx)...)
	if ctx.Err() != nil { // the checks that it ended are no findings
		return ctx.Err()
	}
	if err := c.write(cmd.OutOrStdout(), findings); err != nil {
		return err
	}
	problems := 0
	for _, f := range findings {
		if f.State == "problem" {
			problems++
		}
	}
	if problems > 0 {
		return fmt.Errorf("%d of %d checks found a problem", problems, len(findings))
	}
	return nil
}

func (c *Doctor) write(out io.Writer, findings []finding) error {
	if c.JSON {
		return cli.WriteJSON(out, findings)
	}
	style := client.StyleOf(out)
	colored := map[string]func(string) string{"ok": style.Green, "warning": style.Yellow, "problem": style.Red}
	var text strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&text, "%s  %-18s  %s\n", colored[f.State](fmt.Sprintf("%-7s", f.State)), f.Name, f.Found)
		if f.Advice != "" {
			fmt.Fprintf(&text, "%29s→ %s\n", "", f.Advice)
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func (c *Doctor) secret() finding {
	key, err := c.Key()
	switch {
	case err != nil:
		return problem("secret key", err.Error(), "set AGENTGRAPH_SECRET_KEY to the output of \"openssl rand -base64 "+
			"32\", and keep a copy")
	case len(key) == 0:
		return warning("secret key", "not set: tools cannot have headers, and API keys are not signed",
			"set AGENTGRAPH_SECRET_KEY to the output of \"openssl rand -base64 32\", and keep a copy")
	}
	return ok("secret key", "32 bytes")
}

// database checks the database, its schema, row-level security, and its clock.
func (c *Doctor) database(ctx context.Context) []finding {
	if c.DatabaseURL == "" {
		return []finding{warning("database", "DATABASE_URL is not set",
			"set DATABASE_URL for serve. Without it, dev uses a private database")}
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	began := time.Now()
	contents, err := schema.Inspect(ctx, c.DatabaseURL)
	if err != nil {
		return []finding{problemOf("database", err, "check that the database runs, and that DATABASE_URL has the "+
			"right host, name, user and password")}
	}
	// The database read its clock between the request and the answer.
	skew := contents.Clock.Sub(began.Add(time.Since(began) / 2)).Abs()
	current := c.schema(ctx, contents)
	findings := []finding{server(contents), c.connections(contents), locale(contents), current}
	if contents.IsOurs {
		findings = append(findings, rowSecurity(contents))
	}
	if current.State == "ok" { // otherwise, tables or columns may be missing
		findings = append(append(findings, c.indexes(ctx)), c.store(ctx)...)
	}
	if skew > maxSkew {
		return append(findings, problem("clock", fmt.Sprintf("this machine's clock differs by %s from the "+
			"database's", skew.Round(time.Second)), "synchronize the clocks of both machines, with chrony or systemd-timesyncd"))
	}
	return append(findings, ok("clock", "same as the database's"))
}

// minPostgres is the oldest supported version of Postgres.
const minPostgres = 14

func server(contents schema.Contents) finding {
	found := fmt.Sprintf("PostgreSQL %s, %s, as %s", contents.Server, contents.Database, contents.User)
	major, _, _ := strings.Cut(contents.Server, ".")
	if version, err := strconv.Atoi(major); err == nil && version < minPostgres {
		return problem("database", found, fmt.Sprintf("agentgraph needs PostgreSQL %d or later", minPostgres))
	}
	if contents.IsReadOnly {
		return problem("database", found+", a standby or read-only", "name the primary in DATABASE_URL, or turn off "+
			"default_transaction_read_only")
	}
	return ok("database", "%s", found)
}

func locale(contents schema.Contents) finding {
	if !contents.FoldsCase {
		return warning("locale", "lower('É') is not 'é', or lower('I') is not 'i', so searches by name find these letters "+
			"only in the same case", "use a database that was created with LC_CTYPE 'en_US.UTF-8' TEMPLATE template0")
	}
	return ok("locale", "ignores the case of letters")
}

func (c *Doctor) schema(ctx context.Context, contents schema.Contents) finding {
	const name, migrate = "schema", "run \"agentgraph migrate up\""
	err := contents.Err()
	if err != nil {
		return problemOf(name, err, "create another database, and name it in DATABASE_URL")
	}
	if !contents.IsOurs && !contents.MayCreate {
		return problem(name, "the database has no schema yet, and its user may not create one",
			fmt.Sprintf("GRANT CREATE ON DATABASE %q TO %q, then %s", contents.Database, contents.User, migrate))
	}
	if !contents.IsOurs {
		return problem(name, "the database has no schema yet", migrate)
	}
	migrator, err := schema.NewMigrator(ctx, c.DatabaseURL)
	if err != nil {
		return problem(name, err.Error(), migrate)
	}
	defer func() { _ = migrator.Close() }()
	state, err := migrator.Schema(ctx)
	if err == nil {
		err = state.Err()
	}
	if err != nil {
		return problemOf(name, err, migrate+" with the newest agentgraph")
	}
	return ok(name, "version %d, which this program needs", state.Current)
}

func rowSecurity(contents schema.Contents) finding {
	const name = "row-level security"
	switch {
	case !contents.IsSecured:
		return warning(name, "off: only the program's own queries keep companies apart",
			"run \"agentgraph migrate up\" as a user that may create roles, then restart agentgraph")
	case !contents.MayBind:
		return problem(name, "on, but the database user is not a member of its roles",
			"GRANT agentgraph_gateway, agentgraph_program TO \""+contents.User+"\"")
	}
	return ok(name, "on")
}

// models checks the provider of each model: the agents' model unless it is offline, the models of the judge and of the
// simulated contacts if they are set, and the listed models.
func (c *Doctor) models(ctx context.Context) (findings []finding) {
	options := c.options(&observe.Observer{}, slog.New(slog.DiscardHandler))
	roles := []struct {
		name, model, variable string
		check                 func(context.Context) error
	}{
		{"model", c.Provider.Model, "OPENAI", options.CheckModel},
		{"judge", c.Judge.Model, "AGENTGRAPH_JUDGE", options.CheckJudge},
		{"contact", c.Contact.Model, "AGENTGRAPH_CONTACT", options.CheckContact},
	}
	isOffline := options.IsOffline()
	if isOffline {
		findings, roles = append(findings, warning("model", "offline: answers by examples, without a language model",
			"set OPENAI_API_KEY, or OPENAI_BASE_URL for your own provider")), roles[1:]
	}
	const inList = "check its url, its key and its model in AGENTGRAPH_MODELS"
	isListed := func(name string) bool {
		return slices.ContainsFunc(options.Models, func(m app.ModelOptions) bool { return m.Name == name })
	}
	for _, role := range roles {
		if role.model == "" {
			continue
		}
		advice := fmt.Sprintf("check %[1]s_API_KEY, %[1]s_BASE_URL and the model's name", role.variable)
		if isListed(role.model) {
			advice = inList
		}
		findings = append(findings, checkModel(ctx, role.name, role.model, role.check, advice))
	}
	for i := range options.Models {
		listed := &options.Models[i]
		check := func(ctx context.Context) error { return options.CheckListed(ctx, listed) }
		findings = append(findings, checkModel(ctx, "model "+listed.Name, string(listed.Format), check, inList))
	}
	if !isOffline && c.Judge.Model == "" && c.Contact.Model == "" {
		findings = append(findings, warning("judge", "no separate model: "+c.Provider.Model+" judges itself",
			"set AGENTGRAPH_JUDGE_MODEL to another model, if you test agents"))
	}
	return findings
}

// checkModel runs the check of one model's provider. A model that the provider does not list is a warning.
func checkModel(
	ctx context.Context, name, checked string, check func(context.Context) error, advice string,
) finding {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	err := check(ctx)
	switch {
	case errors.Is(err, provider.ErrNotListed):
		return warning(name, err.Error(), advice)
	case err != nil:
		return problem(name, err.Error(), advice)
	}
	return ok(name, "%s; the provider did not refuse the key", checked)
}

func disk(directory string) finding {
	const name = "disk"
	var stat syscall.Statfs_t
	if err := syscall.Statfs(directory, &stat); err != nil {
		return problem(name, fmt.Sprintf("%s: %v", directory, err),
			"large uploads need a directory for temporary files: name one with TMPDIR")
	}
	free := stat.Bavail * uint64(stat.Bsize) //nolint:gosec // Blocks have a size above 0.
	found := fmt.Sprintf("%d MiB free in %s", free>>20, directory)
	probe, err := os.CreateTemp(directory, "agentgraph-doctor-")
	if err != nil {
		return problem(name, filepath.Clean(directory)+" cannot be written",
			"large uploads need this directory: make it writable, or name another one with TMPDIR")
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	if free < minDisk {
		return warning(name, found, "large uploads need space: free some, or name another directory with TMPDIR")
	}
	return ok(name, "%s", found)
}

func files() finding {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return warning("open files", err.Error(), "check ulimit -n")
	}
	found := fmt.Sprintf("%d at most", limit.Cur)
	if limit.Cur < minFiles {
		return warning("open files", found, "each socket needs an open file: raise ulimit -n, or LimitNOFILE in systemd")
	}
	return ok("open files", "%s", found)
}
