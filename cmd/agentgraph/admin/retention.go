package admin

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

type retentionSet struct {
	companyFlag
	cli.OutputFlag
	days map[model.RetentionKind]int32
}

func newRetentionSet() *cobra.Command {
	c := &retentionSet{days: map[model.RetentionKind]int32{}}
	return cli.New(c, &cobra.Command{
		Use: "set", Short: "Set how many days data is kept, 0 for no limit. Older data is deleted within minutes.",
		Example: `agentgraph retention set --company "Your company" --chats 365 --executions 90`,
	}, nil, &c.companyFlag, &c.OutputFlag, cli.Flags{
		{Into: c.set(model.RetentionChats), Name: "chats", Placeholder: "DAYS",
			Help: "Simulated chats with messages and calls, counted from their last message."},
		{Into: c.set(model.RetentionExecutions), Name: "executions", Placeholder: "DAYS",
			Help: "Finished test executions with their runs, counted from their end."},
		{Into: c.set(model.RetentionCampaignItems), Name: "campaign-items", Placeholder: "DAYS",
			Help: "Campaign items that are Processed or in Error, with their events, counted from their last call."},
		{Into: c.set(model.RetentionTombstones), Name: "tombstones", Placeholder: "DAYS",
			Help: "Records of deleted agents and campaigns. Without them, usage shows Unknown instead of Deleted."},
		{Into: c.set(model.RetentionLedger), Name: "ledger", Placeholder: "DAYS",
			Help: "Usage entries, counted from when the usage happened. Older entries can no longer be recorded. " +
				"Daily sums are kept."},
	})
}

// set returns a setter for a number of days. It refuses numbers outside 0 to model.MaxRetentionDays.
func (c *retentionSet) set(kind model.RetentionKind) func(string) error {
	return func(text string) error {
		n, err := strconv.ParseInt(text, 0, 32)
		if err != nil || n < 0 || n > model.MaxRetentionDays {
			return fmt.Errorf("expected a number of days between 0 and %d but got %q", model.MaxRetentionDays, text)
		}
		c.days[kind] = int32(n)
		return nil
	}
}

func (c *retentionSet) Validate() error {
	return errors.Join(c.companyFlag.Validate(), cli.Refuse(len(c.days) == 0,
		"name a kind of data with its number of days, such as --chats 365"))
}

// Run sets all the given values or none, and prints the resulting values.
func (c *retentionSet) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	return c.withTenant(ctx, nil, func(tenant *db.Tenant) error {
		err := tenant.Tx(ctx, func(ctx context.Context, tenant *db.Tenant) error {
			for _, kind := range model.AllRetentionKinds {
				if days, isGiven := c.days[kind]; isGiven {
					if err := tenant.SetRetention(ctx, model.SetRetentionInput{Kind: kind, Days: days}); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		return showRetention(ctx, cmd, tenant, c.OutputFlag)
	})
}

func newRetentionShow() *cobra.Command {
	c := &companyCommand{do: showRetention}
	return cli.New(c, &cobra.Command{
		Use: "show", Short: "Show for how many days data is kept.",
		Example: `agentgraph retention show --company "Your company"`,
	}, nil, &c.companyFlag, &c.OutputFlag)
}

func showRetention(ctx context.Context, cmd *cobra.Command, tenant *db.Tenant, output cli.OutputFlag) error {
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
		kept := "forever"
		if days[kind] > 0 {
			kept = fmt.Sprintf("%d days", days[kind])
		}
		table = append(table, []string{string(kind), kept})
	}
	return output.Print(cmd.OutOrStdout(), days, table)
}
