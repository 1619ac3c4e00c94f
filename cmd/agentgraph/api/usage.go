package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

type usageCommand struct {
	client.Flags
	outputFlag
	From time.Time
	To   time.Time
}

func newUsage() *cobra.Command {
	c := &usageCommand{}
	return cli.New(c, &cobra.Command{
		Use: "usage", Short: "Show the credits used, and the plan.",
		Example: `agentgraph usage
agentgraph usage --from 2026-01-01 --to 2026-06-30`,
	}, nil, &c.Flags, &c.outputFlag, cli.Flags{
		{Into: &c.From, Name: "from", Placeholder: "DAY", Help: "The first day, in UTC, such as 2026-03-01. Default: the " +
			"first of the month of the last day."},
		{Into: &c.To, Name: "to", Placeholder: "DAY", Help: "The last day, in UTC. Default: today."},
	})
}

const usageDocument = `query ($from: DateBound!, $to: DateBound!) {
	company { name subscription { planName status creditsIncluded creditsUsed creditsRemaining budget periodStart periodEnd
		} }
	consumptionBreakdown(from: $from, to: $to) {
		periodFrom periodTo totalCredits byChannel { channel credits } byMonth { month credits }
		byAgent { agentId agent { name } nameStatus credits }
	}
}`

type usageShown struct {
	Company struct {
		Name         string
		Subscription *struct {
			PlanName, Status                               string
			CreditsIncluded, CreditsUsed, CreditsRemaining json.Number
			Budget                                         *json.Number
		}
	}
	ConsumptionBreakdown struct {
		TotalCredits json.Number
		ByChannel    []struct {
			Channel string
			Credits json.Number
		}
		ByMonth []struct {
			Month   string
			Credits json.Number
		}
		ByAgent []struct {
			AgentID, NameStatus string
			Agent               *struct{ Name string }
			Credits             json.Number
		}
	}
}

func (c *usageCommand) Validate() error {
	return cli.Refuse(!c.To.IsZero() && c.To.Before(c.From), "--to must not be before --from")
}

// Run prints the credits by month, channel and agent, and the plan.
func (c *usageCommand) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	server, err := c.Connect(cmd)
	if err != nil {
		return err
	}
	from, to := c.From, c.To
	if to.IsZero() {
		to = time.Now().UTC()
	}
	if from.IsZero() {
		from = to.AddDate(0, 0, 1-to.Day())
	}
	var whole json.RawMessage
	with := client.Variables{"from": from.Format(time.DateOnly), "to": to.Format(time.DateOnly)}
	if err := server.Query(ctx, usageDocument, with, &whole); err != nil {
		return client.ExitWith(ctx, err)
	}
	if !c.isHumanReadable(cmd.OutOrStdout()) {
		return cli.WriteJSON(cmd.OutOrStdout(), whole)
	}
	var usage usageShown
	if err := json.Unmarshal(whole, &usage); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s, %s to %s\n\n", client.Printable(usage.Company.Name), with["from"],
		with["to"]); err != nil {
		return err
	}
	rows := usage.rows()
	shortenNames(rows, cli.Width(cmd.OutOrStdout()))
	return writeTable(cmd.OutOrStdout(), rows)
}

// shortenNames cuts the first column, so that the second one fits into lines of the given width.
func shortenNames(rows [][]string, width int) {
	const gap = 2 // columns are two spaces apart
	room := width
	for _, row := range rows {
		room = min(room, width-gap-utf8.RuneCountInString(row[1]))
	}
	for _, row := range rows {
		row[0] = truncate(row[0], max(room, 1))
	}
}

// rows returns the table: the total, the credits by channel, month and agent, and the plan.
func (u usageShown) rows() [][]string {
	used := u.ConsumptionBreakdown
	rows := [][]string{{"", "CREDITS"}, {"Total", used.TotalCredits.String()}}
	add := func(name string, credits json.Number) { rows = append(rows, []string{"  " + name, credits.String()}) }
	rows = append(rows, []string{"By channel", ""})
	for _, c := range used.ByChannel {
		add(c.Channel, c.Credits)
	}
	rows = append(rows, []string{"By month", ""})
	for _, m := range used.ByMonth {
		add(m.Month, m.Credits)
	}
	if len(used.ByAgent) > 0 {
		rows = append(rows, []string{"By agent", ""})
	}
	for _, a := range used.ByAgent {
		name := a.AgentID + " (" + strings.ToLower(a.NameStatus) + ")"
		if a.Agent != nil {
			name = truncate(client.Printable(a.Agent.Name), maxName)
		}
		add(name, a.Credits)
	}
	if s := u.Company.Subscription; s != nil {
		rows = append(rows, []string{"Plan " + client.Printable(s.PlanName) + ", this month", s.Status})
		add("included", s.CreditsIncluded)
		add("used", s.CreditsUsed)
		add("remaining", s.CreditsRemaining)
		if s.Budget != nil {
			add("budget", *s.Budget)
		}
	}
	most := 0
	for _, row := range rows[1:] {
		whole, _, _ := strings.Cut(row[1], ".")
		most = max(most, len(whole))
	}
	// Align the decimal points.
	for _, row := range rows[1:] {
		if whole, _, _ := strings.Cut(row[1], "."); whole != "" && unicode.IsDigit(rune(whole[len(whole)-1])) {
			row[1] = strings.Repeat(" ", most-len(whole)) + row[1]
		}
	}
	return rows
}
