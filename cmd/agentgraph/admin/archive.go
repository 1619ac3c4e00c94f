package admin

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/archive"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// standard is the file name that means standard input or output.
const standard = "-"

type exportCommand struct {
	companyFlag
	BucketFlag
	File          string
	SealedHeaders bool
}

func newExport() *cobra.Command {
	c := &exportCommand{}
	return cli.New(c, &cobra.Command{
		Use: "export", Short: "Write a company into one file: agents, documents, tests, campaigns, usage and " +
			"history.",
		Example: `agentgraph export --company "Your company" company.tar.gz`,
	}, []cli.Argument{
		{Into: &c.File, Name: "file", Help: "The file to write, which must not exist, or - for the standard output."},
	}, &c.companyFlag, &c.BucketFlag, cli.Flags{
		{Into: &c.SealedHeaders, Name: "sealed-headers", Help: "Include the headers of tools and MCP servers, which stay encrypted. " +
			"Only a server with the same AGENTGRAPH_SECRET_KEY can import such an archive. By default the headers are left " +
			"out, and the command prints their names."},
	})
}

// Run writes the archive, and prints what it contains.
func (c *exportCommand) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	return withBucket(ctx, c.DatabaseFlag, c.BucketFlag, func(store *db.Store) error {
		tenant, err := c.tenant(ctx, store)
		if err != nil {
			return err
		}
		o := archive.ExportOptions{Secrets: c.SealedHeaders, Program: cli.Version(cmd),
			Progress: progress(cmd.ErrOrStderr(), "exported")}
		var manifest *archive.Manifest
		err = writeFile(c.File, cmd.OutOrStdout(), func(to io.Writer) (err error) {
			manifest, err = archive.Export(ctx, store, tenant.CompanyID(), to, o)
			return err
		})
		if err != nil {
			holds := "no file was written"
			if c.File == standard {
				holds = "the archive on standard output is incomplete"
			}
			return client.Cancelled(ctx, err, holds)
		}
		return summarize(cmd.ErrOrStderr(), "exported", manifest)
	})
}

// writeFile writes a file that only its owner can read. If writing fails, it leaves no file behind.
func writeFile(name string, stdout io.Writer, write func(io.Writer) error) (err error) {
	if name == standard {
		return write(stdout)
	}
	if _, err := os.Lstat(name); err == nil {
		return fmt.Errorf("%s already exists: name another file, or delete it first", name)
	}
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.part")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	// Unlike a rename, a link never replaces an existing file.
	if err = os.Link(file.Name(), name); err == nil {
		err = os.Remove(file.Name())
	}
	return err
}

type importCommand struct {
	DatabaseFlag
	SecretKeyFlag
	File   string
	DryRun bool
	fromV1
}

func newImport() *cobra.Command {
	c := &importCommand{}
	return cli.New(c, &cobra.Command{
		Use: "import", Short: "Create a company from an archive or from a v1 server, and keep all ids. The import is " +
			"one transaction.",
		Long: "With --from-v1, the exit code is 1 if something that the v1 server lists could not be imported. The " +
			"output names it, and the rest is imported.",
		Example: `agentgraph import --dry-run company.tar.gz
agentgraph import company.tar.gz
agentgraph import --from-v1 https://v1.example.com --company-name "Your company"`,
	}, []cli.Argument{
		{Into: &c.File, Name: "file", Optional: true, Help: "The archive, or - for the standard input."},
	}, &c.DatabaseFlag, &c.SecretKeyFlag, &c.fromV1, cli.Flags{
		{Into: &c.DryRun, Name: "dry-run", Help: "Check the archive without importing it."},
	})
}

// Run imports the archive, and prints what it contained.
func (c *importCommand) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	secretKey, err := c.Key()
	if err != nil {
		return err
	}
	if (c.File == "") == (c.FromV1 == "") {
		return errors.New("import needs either an archive or --from-v1, not both")
	}
	in := cli.Interruptible(ctx, cmd.InOrStdin())
	var report *archive.V1Report
	if c.FromV1 != "" {
		read, err := os.CreateTemp("", "agentgraph-v1-*.tar.gz")
		if err != nil {
			return err
		}
		defer func() { _ = errors.Join(read.Close(), os.Remove(read.Name())) }()
		if report, err = c.fetch(ctx, read, cmd.ErrOrStderr()); err != nil {
			return client.Cancelled(ctx, err, "nothing was imported")
		}
		in = read
	} else if c.File != standard {
		file, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	err = withStore(ctx, c.DatabaseFlag, db.Options{SecretKey: secretKey}, func(store *db.Store) error {
		done, holds := "imported", "all or nothing was imported; run the command again"
		if c.DryRun {
			done, holds = "checked", "nothing was imported"
		}
		manifest, err := archive.Import(ctx, store, in, archive.ImportOptions{IsRehearsal: c.DryRun,
			Progress: progress(cmd.ErrOrStderr(), done)})
		if errors.Is(err, db.ErrImportedBefore) {
			_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s was already imported from this archive; nothing was changed\n",
				manifest.Company.ID)
			return err
		}
		if known, ok := errors.AsType[*model.Error](err); ok && known.Code == model.Conflict {
			return fmt.Errorf("%s already exists, from another archive or from an import at the same time; nothing was "+
				"changed. To replace it, delete the company first", manifest.Company.ID)
		}
		if err != nil {
			return client.Cancelled(ctx, err, holds)
		}
		if !c.DryRun {
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), manifest.Company.ID); err != nil {
				return err
			}
		}
		return errors.Join(summarize(cmd.ErrOrStderr(), done, manifest), printPaused(cmd.ErrOrStderr(), manifest))
	})
	if err != nil || report == nil {
		return err
	}
	return printV1Report(cmd.ErrOrStderr(), report)
}

// printPaused prints how many schedules and campaigns were active at the export, but are paused now.
func printPaused(log io.Writer, m *archive.Manifest) (err error) {
	if m.PausedSchedules > 0 {
		_, err = fmt.Fprintf(log, "the import disabled %s: enable the ones that this server should run\n",
			archive.Counted(m.PausedSchedules, "test schedules"))
	}
	if m.PausedCampaigns > 0 && err == nil {
		_, err = fmt.Fprintf(log, "the import paused %s: start the ones that this server should run\n",
			archive.Counted(m.PausedCampaigns, "campaigns"))
	}
	return err
}

// progressInterval is the interval between lines of progress.
const progressInterval = 2 * time.Second

// progress returns a function that prints the progress, at most one line for each progressInterval.
func progress(log io.Writer, verb string) func(n, all int64) {
	printed := time.Now()
	return func(n, all int64) {
		if time.Since(printed) < progressInterval {
			return
		}
		printed = time.Now()
		ofTotal := ""
		if all > 0 {
			ofTotal = fmt.Sprintf(" of %d", all)
		}
		_, _ = fmt.Fprintf(log, "%s %d%s rows and files\n", verb, n, ofTotal)
	}
}

// summarize prints what an archive contains and what it lacks.
func summarize(log io.Writer, verb string, m *archive.Manifest) error {
	var counts []string
	for _, table := range db.ArchivedTables() {
		if n := m.Rows[table]; n > 0 {
			counts = append(counts, archive.Counted(n, table))
		}
	}
	if m.Files > 0 {
		counts = append(counts, archive.Counted(m.Files, "files"))
	}
	text := fmt.Sprintf("%s %q (%s)", verb, m.Company.Name, m.Company.ID)
	if len(counts) > 0 {
		text += ": " + strings.Join(counts, ", ")
	}
	lines := []string{text}
	for _, tool := range m.LeftOut {
		lines = append(lines, fmt.Sprintf("not in the archive: the headers %s of %q (%s)",
			strings.Join(slices.Sorted(slices.Values(tool.Headers)), ", "), tool.Name, tool.ToolID))
	}
	lines = append(lines, "not in the archive: API keys and webhooks. Imported test schedules are disabled")
	_, err := fmt.Fprintln(log, strings.Join(lines, "\n"))
	return err
}
