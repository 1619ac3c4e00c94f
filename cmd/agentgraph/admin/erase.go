package admin

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

type eraseCommand struct {
	companyFlag
	cli.OutputFlag
	Phone, Confirm string
	DryRun         bool
}

func newErase() *cobra.Command {
	c := &eraseCommand{}
	return cli.New(c, &cobra.Command{
		Use: "erase", Short: "Erase a contact: the campaign items with its phone number, the simulated chats that contain " +
			"the number, and the number in other items and in test runs. The command asks for the number again.",
		Example: `agentgraph erase --company "Your company" --phone +4930123456 --dry-run
agentgraph erase --company "Your company" --phone +4930123456`,
	}, nil, &c.companyFlag, &c.OutputFlag, cli.Flags{
		{Into: &c.Phone, Name: "phone", Required: true, Placeholder: "NUMBER",
			Help: "The contact's phone number, with its country code: +4930123456."},
		{Into: &c.DryRun, Name: "dry-run", Help: "Print how much would be erased, with up to 100 ids of each " +
			"kind, and erase nothing."},
		{Into: &c.Confirm, Name: "confirm", Placeholder: "NUMBER", Help: "The number again, for scripts. Without it, " +
			"the command asks for the number."},
	})
}

// Run erases the contact, and prints what was erased and which tables still contain the number.
func (c *eraseCommand) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	return c.withTenant(ctx, nil, func(tenant *db.Tenant) error {
		in := model.EraseContactInput{PhoneNumber: c.Phone, IsDryRun: c.DryRun}
		search, err := in.Search()
		if err != nil {
			return err
		}
		holds := "a dry run changes nothing"
		if !c.DryRun {
			if err := c.confirm(cmd, search.Number); err != nil {
				return client.Cancelled(ctx, err, "nothing was erased")
			}
			holds = "a part may be erased; run the command again to erase the rest"
		}
		erased, err := tenant.EraseContact(ctx, in)
		if err != nil {
			return client.Cancelled(ctx, err, holds)
		}
		return c.Print(cmd.OutOrStdout(), erased, c.table(erased))
	})
}

// confirm returns an error unless --confirm or the answer to a prompt has the number. Numbers match in any format.
func (c *eraseCommand) confirm(cmd *cobra.Command, number string) (err error) {
	if c.Confirm == "" {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "This erases the contact %s permanently. \"--dry-run\" counts the affected "+
			"rows.\nType the number again to continue: ", c.Phone)
		if c.Confirm, err = cli.ReadLine(cmd.Context(), cmd.InOrStdin()); err != nil {
			return err
		}
	}
	again, err := model.EraseContactInput{PhoneNumber: c.Confirm}.Search()
	if err != nil || again.Number != number {
		return errors.New("that is not the number; nothing was erased")
	}
	return nil
}

func (c *eraseCommand) table(erased model.Erasure) [][]string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	rows := [][]string{
		{"campaign items deleted", number(erased.Items)},
		{"other campaign items from which the number was removed", number(erased.OtherItems)},
		{"simulated chats deleted", number(erased.Chats)},
		{"test runs from which the number was removed", number(erased.Runs)},
		{"snapshots of tests from which the number was removed", number(erased.Snapshots)},
		{"test executions from which the number was removed", number(erased.Executions)},
		{"labels from which the number was removed", number(erased.Labels)},
		{"earlier versions of prompts from which the number was removed", number(erased.PromptVersions)},
	}
	for _, left := range erased.Left {
		rows = append(rows, []string{"may still have the number: " + left.Table, number(left.Rows)})
		for _, id := range left.IDs {
			rows = append(rows, []string{"may still have the number: " + left.Table, id})
		}
	}
	if c.DryRun {
		for _, name := range slices.Sorted(maps.Keys(erased.IDs)) {
			for _, id := range erased.IDs[name] {
				rows = append(rows, []string{"would change: " + name, id})
			}
		}
		rows = append(rows, []string{"dry run: nothing was erased", ""})
	}
	return rows
}
