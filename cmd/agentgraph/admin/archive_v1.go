package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/archive"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
)

// fromV1 has the flags that select what is read from a v1 server.
type fromV1 struct {
	FromV1            string
	V1Key             string
	CompanyID, Name   string
	Agents, Campaigns []string
	Archive           string
}

func (c *fromV1) Declare() cli.Flags {
	return cli.Flags{
		{Into: &c.FromV1, Name: "from-v1", Placeholder: "URL", Help: "Import the company from the v1 server at this " +
			"address instead of from an archive."},
		{Into: &c.V1Key, Name: "v1-api-key", Env: "AGENTGRAPH_V1_API_KEY", Placeholder: "KEY", Secret: true,
			Help: "With --from-v1, the API key of the company."},
		{Into: &c.CompanyID, Name: "company-id", Placeholder: "ID",
			Help: "With --from-v1, the id of the new company. Default: its name in lower case."},
		{Into: &c.Name, Name: "company-name", Placeholder: "NAME", Help: "With --from-v1, the name of the new company."},
		{Into: &c.Agents, Name: "agent", Placeholder: "ID", Help: "With --from-v1, an agent to import. Agents with a " +
			"test, folder or usage are found without the flag. Separate several with commas, or repeat the flag."},
		{Into: &c.Campaigns, Name: "campaign", Placeholder: "ID", Help: "With --from-v1, a campaign to import. Campaigns " +
			"with usage are found without the flag. Separate several with commas, or repeat the flag."},
		{Into: &c.Archive, Name: "keep", Placeholder: "FILE", Help: "With --from-v1, also save the data in this file, " +
			"an archive that you can edit and import."},
	}
}

// fetch writes an archive of the company into the file, and seeks to its beginning.
func (c *fromV1) fetch(ctx context.Context, to *os.File, log io.Writer) (*archive.V1Report, error) {
	if c.Name == "" || c.V1Key == "" {
		return nil, errors.New("--from-v1 needs --company-name, and an API key in AGENTGRAPH_V1_API_KEY")
	}
	if c.CompanyID == "" {
		c.CompanyID = strings.Trim(strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
				return r
			}
			return '-'
		}, strings.ToLower(c.Name)), "-")
	}
	report, err := archive.FromV1(ctx, to, archive.V1Options{
		Address: c.FromV1, Key: c.V1Key, Agents: c.Agents, Campaigns: c.Campaigns,
		Company:  archive.Company{ID: c.CompanyID, Name: c.Name, CreatedAt: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)},
		Progress: readProgress(log),
	})
	if err != nil {
		return nil, err
	}
	if c.Archive != "" {
		err := writeFile(c.Archive, log, func(file io.Writer) error {
			_, err := to.Seek(0, io.SeekStart)
			if err == nil {
				_, err = io.Copy(file, to)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	_, err = to.Seek(0, io.SeekStart)
	return report, err
}

// barWidth is how many characters a progress bar has.
const barWidth = 30

// readProgress shows how much of each list was read: as a bar on a terminal, otherwise as one line for each list.
func readProgress(log io.Writer) func(what string, read, total int64) {
	isTerminal := cli.IsTerminal(log)
	return func(what string, read, total int64) {
		switch {
		case isTerminal:
			done := int(read * barWidth / max(1, total))
			end := "\r"
			if read >= total {
				end = "\n"
			}
			_, _ = fmt.Fprintf(log, "\x1b[K[%s%s] %d/%d %s%s", strings.Repeat("#", done), strings.Repeat(".", barWidth-done),
				read, total, what, end)
		case read >= total:
			_, _ = fmt.Fprintf(log, "read %d of %d %s\n", read, total, what)
		}
	}
}

// printV1Report prints what was read and what was not moved. It returns an error if anything was not moved.
func printV1Report(log io.Writer, report *archive.V1Report) error {
	for _, what := range slices.Sorted(maps.Keys(report.Read)) {
		_, _ = fmt.Fprintf(log, "%s: %d read, %d written\n", what, report.Read[what], report.Written[what])
	}
	for _, note := range report.Notes {
		_, _ = fmt.Fprintln(log, "note: "+note)
	}
	_, _ = fmt.Fprintln(log, "note: a v1 server lists neither agents nor campaigns. The import finds agents that have "+
		"tests, folders or usage, and campaigns that have usage. To include others, import again with --agent and --campaign")
	_, _ = fmt.Fprintln(log, "note: test runs, chats and usage are not moved; they remain on the v1 server")
	for _, left := range report.Left {
		_, _ = fmt.Fprintln(log, "not moved: "+left)
	}
	if len(report.Left) > 0 {
		return errors.New("not everything was moved: see the lines that begin with \"not moved\"")
	}
	return nil
}
