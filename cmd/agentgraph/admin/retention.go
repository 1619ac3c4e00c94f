package admin

import (
	"context"
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// Retention says how long companies keep data.
type Retention struct {
	Set  retentionSet  `cmd:"" help:"Set for how many days data is kept, 0 for ever. What is older is deleted within minutes." example:"agentgraph retention set --company \"Your company\" --chats 365 --executions 90"`
	Show retentionShow `cmd:"" help:"Show for how many days data is kept." example:"agentgraph retention show --company \"Your company\""`
}

type retentionSet struct {
	companyFlag
	outputFlag
	Chats         *int32 `placeholder:"DAYS" help:"Simulated chats with messages and calls, from their last message."`
	Executions    *int32 `placeholder:"DAYS" help:"Finished executions of tests with their runs, from their end."`
	CampaignItems *int32 `placeholder:"DAYS" help:"Campaign items that are Processed or in Error, with their events, from their last call."`
	Tombstones    *int32 `placeholder:"DAYS" help:"Notes of deleted agents and campaigns; usage then names them Unknown instead of Deleted."`
	Ledger        *int32 `placeholder:"DAYS" help:"Entries of usage, from their time. Of older ones the sums of days stay, and none can be recorded."`
}

// Run sets what is given, all or nothing, and shows what holds then.
func (c *retentionSet) Run(ctx context.Context, cli *kong.Context) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		tenant, err := c.tenant(ctx, store)
		if err != nil {
			return err
		}
		given := map[model.RetentionKind]*int32{
			model.RetentionChats: c.Chats, model.RetentionExecutions: c.Executions,
			model.RetentionCampaignItems: c.CampaignItems, model.RetentionTombstones: c.Tombstones,
			model.RetentionLedger: c.Ledger,
		}
		err = tenant.Tx(ctx, func(ctx context.Context, tenant *db.Tenant) error {
			for _, kind := range model.AllRetentionKinds {
				if days := given[kind]; days != nil {
					if err := tenant.SetRetention(ctx, model.SetRetentionInput{Kind: kind, Days: *days}); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return showRetention(ctx, cli, tenant, c.outputFlag)
	})
}

type retentionShow struct {
	companyFlag
	outputFlag
}

// Run prints one line for each kind of data.
func (c *retentionShow) Run(ctx context.Context, cli *kong.Context) error {
	return withStore(ctx, c.DatabaseURL, func(store *db.Store) error {
		tenant, err := c.tenant(ctx, store)
		if err != nil {
			return err
		}
		return showRetention(ctx, cli, tenant, c.outputFlag)
	})
}

func showRetention(ctx context.Context, cli *kong.Context, tenant *db.Tenant, output outputFlag) error {
	retentions, err := tenant.Retentions(ctx)
	if err != nil {
		return err
	}
	days := map[model.RetentionKind]int32{}
	for _, r := range retentions {
		days[r.Kind] = r.Days
	}
	table := [][]string{}
	for _, kind := range model.AllRetentionKinds {
		kept := "for ever"
		if days[kind] > 0 {
			kept = fmt.Sprintf("%d days", days[kind])
		}
		table = append(table, []string{string(kind), kept})
	}
	return output.print(cli.Stdout, days, table)
}
