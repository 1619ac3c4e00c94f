package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/admin"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func TestPlanCommandsManagePlans(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	company, err := store.CreateCompany(t.Context(), "Acme")
	require.NoError(t, err)
	command := func(want int, args ...string) string {
		var out, log bytes.Buffer
		require.Equal(t, want,
			run(t.Context(), append(append([]string{"plan"}, args...), "--company", "Acme", "--database-url", address),
				streams{out: &out, log: &log}))
		return strings.Join(strings.Fields(out.String()+log.String()), " ")
	}
	require.Equal(t, "no plan, and no budget", command(0, "show"))
	month := model.MonthName(time.Now().UTC())
	require.Equal(t, "plan Pro status Active month "+month+" included 1000.5 used 0 remaining 1000.5 budget none",
		command(0, "set", "--name", "Pro", "--credits", "1000.5"))
	_, err = store.Tenant(company.ID).RecordUsage(t.Context(), model.RecordUsageInput{Entries: []*model.UsageEntryInput{{
		IdempotencyKey: "k", AgentID: "a", Channel: model.ChannelSms, Credits: 900 * model.Credit, At: time.Now(),
	}}})
	require.NoError(t, err)
	require.Equal(t, "plan Free status Active month "+month+" included 0 used 900 remaining 0 budget 1000",
		command(0, "set", "--name", "Free", "--credits", "0", "--budget", "1000"))
	warnings, err := admin.BudgetWarnings(t.Context(), store)
	require.NoError(t, err)
	require.Equal(t, []string{"Acme: 900 of the 1000 credits of the budget for " + month + " are used"}, warnings)
	bare, err := store.CreateCompany(t.Context(), "Without")
	require.NoError(t, err)
	var out, log bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"plan", "list", "--database-url", address}, streams{out: &out, log: &log}),
		log.String())
	require.Equal(t, company.ID+" Acme Free Active 900 used 0 included budget 1000 "+bare.ID+" Without no plan",
		strings.Join(strings.Fields(out.String()), " "))
	require.Contains(t, command(2, "set", "--name", "Free", "--credits=-1"), "--credits: must not be negative")
	require.Contains(t, command(2, "set", "--name", "Free", "--credits=1", "--budget=0"), "--budget: must be more than 0")
	require.Contains(t, command(2, "set", "--name", "Free", "--credits", "0.0000001"), "at most six decimals")
	require.Equal(t, "no plan, and no budget", command(0, "clear"))
}
