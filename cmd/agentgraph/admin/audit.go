package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/alecthomas/kong"

	"github.com/agentgraph/agentgraph/db"
)

// Audit shows who changed what.
type Audit struct {
	Export auditExport `cmd:"" help:"Print a company's audit events, oldest first, each as a line of JSON." example:"agentgraph audit export --company \"Your company\" --since 2026-03-01 > audit.jsonl"`
}

type auditExport struct {
	companyFlag
	Since time.Time `env:"AGENTGRAPH_AUDIT_SINCE" format:"2006-01-02" placeholder:"DAY" help:"The first day, in UTC, such as 2026-03-01. Default: the oldest that is kept."`
	Until time.Time `env:"AGENTGRAPH_AUDIT_UNTIL" format:"2006-01-02" placeholder:"DAY" help:"The last day, in UTC. Default: today."`
}

// Validate refuses days in the wrong order.
func (c *auditExport) Validate() error {
	if !c.Until.IsZero() && c.Until.Before(c.Since) {
		return errors.New("--until must not be before --since")
	}
	return nil
}

// Run prints the events.
func (c *auditExport) Run(ctx context.Context, cli *kong.Context) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		tenant, err := c.tenant(ctx, store)
		if err != nil {
			return err
		}
		last := c.Until
		if last.IsZero() {
			last = time.Now().UTC()
		}
		out := bufio.NewWriter(cli.Stdout)
		lines := json.NewEncoder(out)
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
