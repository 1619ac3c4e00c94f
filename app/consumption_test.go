package app_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// Each axis of a breakdown has the same values whether it is selected alone or with others. Only selected axes are
// read.
func TestBreakdownReadsOnlySelectedAxes(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Axes")
	agent := manyAgents(t, tenant, 1)
	campaign := "campaign_1"
	_, err := tenant.RecordUsage(t.Context(), model.RecordUsageInput{Entries: []*model.UsageEntryInput{
		{IdempotencyKey: "1", AgentID: agent, CampaignID: &campaign, Channel: model.ChannelWeb, Credits: 3 * model.Credit,
			At: time.Date(2026, 3, 2, 1, 0, 0, 0, time.UTC)},
		{IdempotencyKey: "2", AgentID: agent, Channel: model.ChannelSms, Credits: 4 * model.Credit,
			At: time.Date(2026, 4, 2, 1, 0, 0, 0, time.UTC)},
	}})
	require.NoError(t, err)
	ask := func(selection, fragment string) map[string]any {
		var found struct{ ConsumptionBreakdown json.RawMessage }
		g.must(t, key, `{ consumptionBreakdown(from: "2026-02-03", to: "2026-04-27") { `+selection+` } } `+fragment, nil,
			&found)
		axes := map[string]any{}
		require.NoError(t, json.Unmarshal(found.ConsumptionBreakdown, &axes))
		return axes
	}
	whole := ask(`totalCredits byChannel { channel credits } byMonth { month credits byChannel { channel credits } }
		byDay { day credits byChannel { channel credits } } byAgent { agentId credits campaigns { campaignId credits } }`, "")
	require.EqualValues(t, 7, whole["totalCredits"])
	require.Len(t, whole["byAgent"], 1)
	require.Len(t, whole["byDay"], 84)
	sms := map[string]any{"channel": "SMS", "credits": 4.0}
	require.Contains(t, whole["byMonth"].([]any)[2].(map[string]any)["byChannel"], sms)
	require.Contains(t, whole["byDay"].([]any)[58].(map[string]any)["byChannel"], sms)
	bare := ask(`byAgent { agentId credits }`, "")["byAgent"].([]any)[0].(map[string]any)
	require.EqualValues(t, 7, bare["credits"])

	for _, test := range []struct{ selection, fragment, as, axis string }{
		{"totalCredits", "", "totalCredits", "totalCredits"},
		{"c: byChannel { channel credits }", "", "c", "byChannel"},
		{"... { ...months }", "fragment months on ConsumptionBreakdown { byMonth { month credits byChannel { channel " +
			"credits } } }", "byMonth", "byMonth"},
		{"... on ConsumptionBreakdown { a: byAgent { agentId ...more } } byAgent { agentId }",
			"fragment more on AgentConsumption { credits campaigns { campaignId credits } }", "a", "byAgent"},
		{"d: byDay { day ...day }", "fragment day on DayConsumption { credits byChannel { channel credits } }", "d", "byDay"},
		{"byAgent { agentId } byAgent { credits campaigns { campaignId credits } }", "", "byAgent", "byAgent"},
	} {
		require.Equal(t, whole[test.axis], ask(test.selection, test.fragment)[test.as], test.selection)
	}
	before := g.statements.Load()
	ask("totalCredits byChannel { credits } byMonth { credits } byAgent @skip(if: true) { agentId }", "")
	total := g.statements.Load() - before
	before = g.statements.Load()
	ask("byAgent { agentId nameStatus }", "")
	require.Equal(t, total+1, g.statements.Load()-before, "only agents have their names looked up")
}
