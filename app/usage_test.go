package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/evaluation"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/model"
)

const recordUsage = `mutation ($entries: [UsageEntryInput!]!) { recordUsage(input: {entries: $entries}) { recorded
	duplicates } }`

// spend returns a usage entry.
func spend(key, agentID, at string, credits any) map[string]any {
	return map[string]any{"idempotencyKey": key, "agentId": agentID, "channel": "Phone", "credits": credits, "at": at}
}

// body returns the whole body of a response.
func body(t *testing.T, r *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	return string(text)
}

// read sends a GET that must be answered with the status, and returns the body.
func (g *gatewayUnderTest) read(t *testing.T, status int, path, key string) string {
	t.Helper()
	response := g.do(t, http.MethodGet, path, key, "")
	text := body(t, response)
	require.Equal(t, status, response.StatusCode, text)
	return text
}

func TestCreditsStayExactOnEveryPath(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Exact")
	agent := manyAgents(t, tenant, 1)
	g.must(t, key, recordUsage, map[string]any{"entries": []any{
		spend("1", agent, "2026-03-01T09:30:00Z", json.Number("0.1")), spend("2", agent, "2026-03-01T09:30:00Z", "0.2"),
		spend("3", agent, "2026-03-01T09:30:00Z", json.Number("999999.999999")), spend("4", agent, "2026-03-01T09:30:00Z", 7),
	}}, nil)
	literals := `mutation ($c: Credits! = 0.000003) { recordUsage(input: {entries: [
		{idempotencyKey: "5", agentId: "a", channel: SMS, credits: 123456.654321, at: "2026-03-01T09:30:00Z"}
		{idempotencyKey: "6", agentId: "a", campaignId: "c", channel: SMS, credits: -3, at: "2026-03-01T09:30:00Z"}
		{idempotencyKey: "7", agentId: "a", campaignId: "c", channel: Web, credits: $c,
			at: "2026-03-01T09:30:00Z"}]}) { recorded } }`
	g.must(t, key, literals, nil, nil)

	for _, wrong := range []string{"0.30000000000000004", "1e-7", "1000000.000001", "0.10000000000000000001"} {
		for _, credits := range []any{json.Number(wrong), wrong} {
			a := g.query(t, key, recordUsage,
				map[string]any{"entries": []any{spend("8", agent, "2026-03-01T09:30:00Z", credits)}})
			require.Equal(t, []string{"BAD_INPUT"}, a.codes(), "%v", credits)
		}
		a := g.query(t, key, `mutation { recordUsage(input: {entries: [{idempotencyKey: "8", agentId: "a", channel: SMS,
			credits: `+wrong+
			`, at: "2026-03-01T09:30:00Z"}]}) { recorded } }`, nil)
		require.Equal(t, []string{"BAD_INPUT"}, a.codes(), wrong)
	}
	for _, wrong := range []string{"1000000.000001", "1e30", "-1e30"} {
		a := g.query(t, key, recordUsage, map[string]any{"entries": []any{
			spend("8", agent, "2026-03-01T09:30:00Z", json.Number(wrong))}})
		require.Equal(t, "entries.0.credits must be between -1000000 and 1000000", a.Errors[0].Message, wrong)
	}

	const agentCredits, total = "1000007.299999", "1123460.954323"
	a := g.query(t, key, `{ consumptionBreakdown(from: "2026-03-01", to: "2026-03-01") { totalCredits byAgent { agentId
		credits campaigns { credits } } } }`, nil)
	require.Equal(t, fmt.Sprintf(
		`{"consumptionBreakdown":{"totalCredits":%s,"byAgent":[{"agentId":%q,"credits":%s,"campaigns":[]},`+
			`{"agentId":"a","credits":123453.654324,"campaigns":[{"credits":-2.999997}]}]}}`, total, agent, agentCredits),
		string(a.Data))
	response := g.do(t, http.MethodGet, "/Consumption/breakdown?from=2026-02-28T00:00:00Z&to=2026-03-01", key, "")
	require.Equal(t, 200, response.StatusCode)
	require.Equal(t, fmt.Sprintf(
		`{"periodFrom":"2026-02-28T00:00:00.000Z","periodTo":"2026-03-01T23:59:59.999Z","totalCredits":%s,`+
			`"byChannel":[{"channel":"Phone","credits":%s},{"channel":"SMS","credits":123453.654321},{"channel":"Web","credits":0.000003},{"channel":"WhatsApp","credits":0}],`+
			`"byMonth":[{"month":"2026-02","credits":0},{"month":"2026-03","credits":%s}],`+
			`"byAgent":[{"agentId":%q,"nameStatus":"Resolved","credits":%s,"campaigns":[]},`+
			`{"agentId":"a","nameStatus":"Unknown","credits":123453.654324,"campaigns":[{"campaignId":"c","nameStatus":"Unknown","credits":-2.999997}]}]}`,
		total, agentCredits, total, agent, agentCredits), body(t, response))
	require.Contains(t, g.read(t, 200, "/Consumption/export?from=2026-03-01&to=2026-03-01&format=csv", key),
		"2026-03-01T09:30:00.000Z,Phone,"+agent+",,999999.999999,3\n")
	require.Contains(t, g.read(t, 200, "/Consumption/export?from=2026-03-01&to=2026-03-01", key),
		`"campaignId":"c","credits":0.000003,"idempotencyKey":"7"}`)
}

func TestRESTRefusesInvalidBreakdowns(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Refused")
	for query, want := range map[string]string{
		"":                 "from is required; to is required",
		"?to=2026-03-01":   "from is required",
		"?from=2026-03-01": "to is required",
		"?from=2026-03-01&to=x": "to must be an existing ISO date such as 2026-03-01, or a date-time such as " +
			"2026-03-01T09:30:00Z",
		"?from=2026-02-30&to=2026-03-01": "from must be an existing ISO date such as 2026-03-01, or a date-time such as " +
			"2026-03-01T09:30:00Z",
		"?from=2026-03-02&to=2026-03-01": `from must not be after "to"`,
		"?from=2024-01-01&to=2025-01-02": `to must be at most 366 days after "from"`,
		"?from=2026-03-01T00:00:00Z&to=%00": "to must be an existing ISO date such as 2026-03-01, or a date-time such as " +
			"2026-03-01T09:30:00Z",
		"?from=2026-03-01&FROM=2026-03-01&to=2026-03-01": "from must be given once",
	} {
		for _, path := range []string{"breakdown", "export"} {
			response := g.do(t, http.MethodGet, "/Consumption/"+path+query, key, "")
			var problem struct {
				Type, Title, Detail, Code string
				Status                    int
				Errors                    map[string][]string
			}
			require.NoError(t, json.Unmarshal([]byte(body(t, response)), &problem))
			require.Equal(t, 400, response.StatusCode, query)
			require.Equal(t, "application/problem+json", response.Header.Get("Content-Type"))
			require.Equal(t, "Bad Request", problem.Title)
			require.Equal(t, "BAD_INPUT", problem.Code)
			require.Equal(t, want, problem.Detail)
			require.NotEmpty(t, problem.Errors)
		}
	}
	a := g.query(t, key, `{ consumptionBreakdown(from: "2026-03-02", to: "2026-03-01") { totalCredits } }`, nil)
	require.Equal(t, map[string][]string{"from": {`must not be after "to"`}}, a.Errors[0].Extensions.Fields)
	a = g.query(t, key, `query ($from: DateBound!) { consumptionBreakdown(from: $from,
		to: "2026-03-01") { totalCredits } }`, map[string]any{"from": "March"})
	require.Equal(t, []string{"BAD_INPUT"}, a.codes())
	for _, path := range []string{"breakdown", "export"} {
		g.read(t, 401, "/Consumption/"+path+"?from=2026-03-01&to=2026-03-01", "")
	}
}

func TestBreakdownNamesItsAgents(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Agents")
	_, reader := g.keyOf(t, companyIDOf(t, tenant), model.APIKeyScopeRead)
	_, stranger := g.company(t, "Stranger")
	var entries []any
	for i := range 30 {
		agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
			Name: fmt.Sprint("Agent ", i), Channel: model.ChannelWeb, Direction: model.DirectionOutbound, Language: "en",
			Prompt: "Help.",
		})
		require.NoError(t, err)
		campaign, err := tenant.CreateCampaign(t.Context(), model.CreateCampaignInput{AgentID: agent.ID,
			Name: fmt.Sprint("Campaign ", i), MaxAttempts: 1})
		require.NoError(t, err)
		if i == 29 {
			require.NoError(t, tenant.DeleteAgent(t.Context(), agent.ID))
		}
		used := spend(fmt.Sprint(i), agent.ID, "2026-03-01T09:30:00Z", 100-i)
		used["campaignId"] = campaign.ID
		entries = append(entries, used)
	}
	require.Equal(t, []string{"FORBIDDEN"}, g.query(t, reader, recordUsage, map[string]any{"entries": entries}).codes())
	g.must(t, key, recordUsage, map[string]any{"entries": entries}, nil)
	var got struct {
		ConsumptionBreakdown struct {
			ByAgent []struct {
				NameStatus string
				Agent      *struct{ Name string }
				Campaigns  []struct {
					NameStatus string
					Campaign   *struct{ Name string }
				}
			}
		}
	}
	const query = `{ consumptionBreakdown(from: "2026-03-01", to: "2026-03-01") { totalCredits byAgent { nameStatus agent {
		name } campaigns { nameStatus campaign { name } } } } }`
	g.must(t, reader, `{ company { id } }`, nil, nil)
	before := g.statements.Load()
	g.must(t, reader, query, nil, &got)
	require.EqualValues(t, 4, g.statements.Load()-before, "the sums, the names, the agents, the campaigns")
	require.Len(t, got.ConsumptionBreakdown.ByAgent, 30)
	for i, agent := range got.ConsumptionBreakdown.ByAgent[:29] {
		require.Equal(t, "Resolved", agent.NameStatus)
		require.Equal(t, fmt.Sprint("Agent ", i), agent.Agent.Name)
		require.Equal(t, "Resolved", agent.Campaigns[0].NameStatus)
		require.Equal(t, fmt.Sprint("Campaign ", i), agent.Campaigns[0].Campaign.Name)
	}
	last := got.ConsumptionBreakdown.ByAgent[29]
	require.Equal(t, "Deleted", last.NameStatus)
	require.Nil(t, last.Agent)
	require.Equal(t, "Deleted", last.Campaigns[0].NameStatus)
	require.Nil(t, last.Campaigns[0].Campaign)

	require.JSONEq(t, `{"consumptionBreakdown":{"totalCredits":0,"byAgent":[]}}`,
		string(g.query(t, stranger, query, nil).Data))
	require.Contains(t, g.read(t, 200, "/Consumption/export?from=2026-03-01&to=2026-03-01", stranger), `"entries":[]`)
}

func companyIDOf(t *testing.T, tenant *db.Tenant) string {
	t.Helper()
	company, err := tenant.Company(t.Context())
	require.NoError(t, err)
	return company.ID
}

// startPriced starts a gateway that charges for simulations, and returns its log.
func startPriced(t *testing.T) (*gatewayUnderTest, *dbtest.Output) {
	t.Helper()
	log := &dbtest.Output{}
	options := dbtest.Options()
	options.Log = slog.New(slog.NewTextHandler(log, nil))
	store := dbtest.Open(t, dbtest.URL(t), options)
	e := engine.New(offline.New(), engine.Options{
		Log:    slog.New(slog.DiscardHandler),
		Prices: model.Prices{Message: model.Credit, InputTokens: 1, OutputTokens: 1},
	})
	v := evaluation.New(e, evaluation.Options{
		Contact: offline.Contact(), Judge: offline.Judge(), Classifier: offline.Classifier(),
		Log: slog.New(slog.DiscardHandler),
	})
	url := serveEngine(t, store, e, v)
	require.NoError(t, store.Work(t.Context(), 2, db.Workers{RunTest: v.RunTest}))
	t.Cleanup(func() { require.NoError(t, store.StopWork(t.Context())) })
	return &gatewayUnderTest{url: url, store: store}, log
}

// ledger returns a company's usage so far, oldest first.
func ledger(t *testing.T, tenant *db.Tenant) []*model.UsageEntry {
	t.Helper()
	var entries []*model.UsageEntry
	for e, err := range tenant.UsageEntries(t.Context(), model.ConsumptionRange{From: time.Unix(0, 0), End: time.Now().
		AddDate(1, 0, 0)}) {
		require.NoError(t, err)
		entries = append(entries, e)
	}
	return entries
}

func TestSimulationsRecordTheirUsage(t *testing.T) {
	t.Parallel()
	g, _ := startPriced(t)
	tenant, key := g.company(t, "Simulations")
	agent := manyAgents(t, tenant, 1)
	var started struct {
		StartSimulationChat struct{ SimulationChat struct{ ID string } }
	}
	g.must(t, key, `mutation ($id: ID!) { startSimulationChat(input: {agentId: $id}) { simulationChat { id } } }`,
		map[string]any{"id": agent}, &started)
	chat := started.StartSimulationChat.SimulationChat.ID
	require.Empty(t, ledger(t, tenant))
	for range 2 {
		g.must(t, key, `mutation ($id: ID!) { sendSimulationMessage(input: {simulationChatId: $id,
			text: "Hello"}) { newMessages { text } } }`,
			map[string]any{"id": chat}, nil)
	}
	entries := ledger(t, tenant)
	require.Len(t, entries, 2)
	for i, e := range entries {
		require.Equal(t, fmt.Sprintf("agentgraph:%s:%d", chat, 2*(i+1)), e.IdempotencyKey)
		require.Equal(t, []any{agent, model.ChannelWeb, ""}, []any{e.AgentID, e.Channel, e.CampaignID})
		require.GreaterOrEqual(t, e.Credits, model.Credit)
		require.Less(t, e.Credits, 2*model.Credit)
	}

	var created struct {
		CreateSimulationTest struct{ AgentTest struct{ ID string } }
	}
	g.must(t, key, `mutation ($id: ID!) { createSimulationTest(input: {agentId: $id, name: "T",
		scenario: "You want to book an appointment.",
		criteria: ["The agent is polite"], maxTurns: 2}) { agentTest { id } } }`, map[string]any{"id": agent}, &created)
	g.must(t, key, `mutation ($id: ID!) { startAgentTestExecution(input: {testIds: [$id],
		repeats: 2}) { execution { id } } }`,
		map[string]any{"id": created.CreateSimulationTest.AgentTest.ID}, nil)
	require.Eventually(t, func() bool { return len(ledger(t, tenant)) == 4 }, 20*time.Second, 20*time.Millisecond)
	var runs struct {
		AgentTests struct {
			Nodes []struct {
				Runs struct {
					Nodes []struct {
						ID        string
						Status    string
						TurnCount int64
					}
				}
			}
		}
	}
	g.must(t, key, `{ agentTests { nodes { runs { nodes { id status turnCount } } } } }`, nil, &runs)
	byKey := map[string]*model.UsageEntry{}
	for _, e := range ledger(t, tenant) {
		byKey[e.IdempotencyKey] = e
	}
	for _, run := range runs.AgentTests.Nodes[0].Runs.Nodes {
		e := byKey["agentgraph:"+run.ID+":1"]
		require.NotNil(t, e)
		require.Equal(t, run.TurnCount, int64(e.Credits/model.Credit), run.Status)
		require.Positive(t, e.Credits%model.Credit, "the input of the contact and the judge costs too")
	}
}

func TestSpentBudgetRefusesNewChats(t *testing.T) {
	t.Parallel()
	g, log := startPriced(t)
	tenant, key := g.company(t, "Budget")
	_, other := g.company(t, "Another")
	agent := manyAgents(t, tenant, 1)
	start := func() answer {
		return g.query(t, key, `mutation ($id: ID!) { startSimulationChat(input: {agentId: $id}) { simulationChat { id } } }`,
			map[string]any{"id": agent})
	}
	rest := func(status int) string {
		response := g.do(t, http.MethodPost, "/SimulationChat/start", key, `{"agentId":"`+agent+`"}`)
		require.Equal(t, status, response.StatusCode)
		return body(t, response)
	}
	subscription := func() string { return g.read(t, 200, "/Subscription", key) }
	require.Contains(t, g.read(t, 404, "/Subscription", key),
		`"detail":"the company has no plan","instance":"/Subscription","code":"NOT_FOUND"`)
	g.must(t, key, `{ company { subscription { planName } } }`, nil, nil)

	require.NoError(t, tenant.SetPlan(t.Context(), model.SetPlanInput{Name: "Pro", CreditsIncluded: 8 * model.Credit,
		Budget: new(10 * model.Credit)}))
	now := time.Now().UTC()
	today := now.Format(time.RFC3339)
	g.must(t, key, recordUsage, map[string]any{"entries": []any{
		spend("before", agent, model.MonthOf(now).Add(-time.Millisecond).Format(time.RFC3339Nano), 1_000),
		spend("1", agent, today, "7.9"),
	}}, nil)
	started := start()
	require.Empty(t, started.codes())
	require.NotContains(t, log.String(), "budget")
	require.Contains(t, subscription(),
		`{"planName":"Pro","status":"Active","creditsIncluded":8,"creditsUsed":7.9,"creditsRemaining":0.1,"budget":10,"periodStart":"`)

	g.must(t, key, recordUsage, map[string]any{"entries": []any{spend("2", agent, today, "0.1")}}, nil)
	warned := func() bool { return strings.Contains(log.String(), "8 of the 10 credits of the budget") }
	require.Eventually(t, warned, 10*time.Second, 10*time.Millisecond, "no background work is needed")
	require.Empty(t, start().codes())
	rest(200)
	require.Equal(t, 1, strings.Count(log.String(), "8 of the 10 credits of the budget for "+model.MonthName(now)+
		" are used"), log.String())

	g.must(t, key, recordUsage, map[string]any{"entries": []any{spend("3", agent, today, 3)}}, nil)
	require.Equal(t, []string{"BUDGET_EXCEEDED"}, start().codes())
	require.Contains(t, rest(422), `"detail":"the budget of 10 credits for `+model.MonthName(now)+
		` is used up: no more simulations are started"`)
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "is used up") }, 10*time.Second,
		10*time.Millisecond)
	require.Equal(t, 1, strings.Count(log.String(), "is used up"))
	require.Contains(t, subscription(), `"status":"Exhausted","creditsIncluded":8,"creditsUsed":11,"creditsRemaining":0,`)

	var test struct {
		CreateSimulationTest struct{ AgentTest struct{ ID string } }
	}
	g.must(t, key, `mutation ($id: ID!) { createSimulationTest(input: {agentId: $id, name: "T", scenario: "S",
		criteria: ["C"]}) { agentTest { id } } }`,
		map[string]any{"id": agent}, &test)
	require.Equal(t, []string{"BUDGET_EXCEEDED"},
		g.query(t, key, `mutation ($id: ID!) { startAgentTestExecution(input: {testIds: [$id]}) { execution { id } } }`,
			map[string]any{"id": test.CreateSimulationTest.AgentTest.ID}).codes())

	// Conversations in progress continue, and other companies are not affected.
	var chat struct {
		StartSimulationChat struct{ SimulationChat struct{ ID string } }
	}
	require.NoError(t, json.Unmarshal(started.Data, &chat))
	g.must(t, key, `mutation ($id: ID!) { sendSimulationMessage(input: {simulationChatId: $id,
		text: "Hello"}) { newMessages { text } } }`,
		map[string]any{"id": chat.StartSimulationChat.SimulationChat.ID}, nil)
	g.read(t, 404, "/Subscription", other)
	require.NoError(t, tenant.ClearPlan(t.Context()))
	require.Empty(t, start().codes())
}
