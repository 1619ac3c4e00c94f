package admin

import (
	"bufio"
	"encoding/json"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/db"
)

type auditExport struct {
	companyFlag
	Since time.Time
	Until time.Time
}

func newAuditExport() *cobra.Command {
	c := &auditExport{}
	return cli.New(c, &cobra.Command{
		Use: "export", Short: "Print a company's audit events, oldest first, each as a line of JSON.",
		Example: `agentgraph audit export --company "Your company" --since 2026-03-01 > audit.jsonl`,
	}, nil, &c.companyFlag, cli.Flags{
		{Into: &c.Since, Name: "since", Placeholder: "DAY", Help: "The first day, in UTC, such as 2026-03-01. Default: the " +
			"day of the oldest stored event."},
		{Into: &c.Until, Name: "until", Placeholder: "DAY", Help: "The last day, in UTC. Default: today."},
	})
}

// Validate refuses days in the wrong order, and an empty database address.
func (c *auditExport) Validate() error {
	if !c.Until.IsZero() && c.Until.Before(c.Since) {
		return errors.New("--until must not be before --since")
	}
	return c.DatabaseFlag.Validate()
}

func (c *auditExport) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	return c.withTenant(ctx, nil, func(tenant *db.Tenant) error {
		last := c.Until
		if last.IsZero() {
			last = time.Now().UTC()
		}
		out := bufio.NewWriter(cmd.OutOrStdout())
		lines := json.NewEncoder(cli.JSONWriter(out))
		for event, err := range tenant.AuditLog(ctx, c.Since, last.AddDate(0, 0, 1)) {
			if err != nil {
				return err
			}
			if err := lines.Encode(event); err != nil {
				return err
			}
		}
		return out.Flush()
	})
}
