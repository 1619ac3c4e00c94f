package query

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// clinic has a company with two agents that lead to each other. "Desk" has three tests, two tools and a knowledge base
// chat. "Nurse" has one test, one tool and another knowledge base chat. A third agent, "Idle", has nothing.
type clinic struct {
	table                   *Table
	tenant                  *db.Tenant
	desk, nurse, simulation string
}

func newClinic(t *testing.T) *clinic {
	t.Helper()
	table := newTestTable(t)
	company, err := table.store.CreateCompany(t.Context(), "Clinic")
	require.NoError(t, err)
	c := &clinic{table: table, tenant: table.store.Tenant(company.ID)}
	c.desk, c.nurse = c.agent(t, "Desk"), c.agent(t, "Nurse")
	c.agent(t, "Idle")
	c.delegate(t, c.desk, c.nurse)
	c.delegate(t, c.nurse, c.desk)
	for _, agentID := range []string{c.desk, c.nurse} {
		c.connect(t, agentID, "chat of "+c.nameOf(agentID))
		c.tool(t, agentID, "tool of "+c.nameOf(agentID))
	}
	c.tool(t, c.desk, "another tool")
	c.simulation = c.test(t, c.desk, "first")
	c.test(t, c.desk, "second")
	c.test(t, c.nurse, "third")
	classification, err := c.tenant.CreateClassificationTest(t.Context(), model.CreateClassificationTestInput{
		AgentID: c.desk, Name: "class", TagExpected: "Booking",
		ConversationContext: &model.ConversationContext{DataBag: model.JSONObject(`{}`),
			Messages: []model.TestMessage{{Role: model.MessageRoleUser, Text: "Hello"}}},
	})
	require.NoError(t, err)
	dbtest.Execute(t, c.tenant, []string{c.simulation}, 2, 1)
	dbtest.Execute(t, c.tenant, []string{classification.Row().ID}, 3, 1)
	return c
}

func (c *clinic) nameOf(agentID string) string {
	return map[string]string{c.desk: "desk", c.nurse: "nurse"}[agentID]
}

func (c *clinic) agent(t *testing.T, name string) string {
	t.Helper()
	agent, err := c.tenant.CreateAgent(t.Context(), model.CreateAgentInput{
		Name: name, Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en", Prompt: "Help.",
		ClassificationTags: []*model.ClassificationTag{{Name: "Booking", Definition: "A booking."}},
	})
	require.NoError(t, err)
	return agent.ID
}

func (c *clinic) delegate(t *testing.T, from, to string) {
	t.Helper()
	_, _, err := c.tenant.AddSubAgent(t.Context(), model.AddSubAgentInput{AgentID: from, DelegateAgentID: to,
		Name: "Sub-agent", TechnicalName: "delegate"})
	require.NoError(t, err)
}

func (c *clinic) connect(t *testing.T, agentID, name string) {
	t.Helper()
	dataset, err := c.tenant.CreateDataset(t.Context(), model.CreateDatasetInput{Name: "dataset of " + name})
	require.NoError(t, err)
	chat, err := c.tenant.CreateKnowledgeBaseChat(t.Context(), model.CreateKnowledgeBaseChatInput{Name: name,
		DatasetIds: []string{dataset.ID}})
	require.NoError(t, err)
	_, err = c.tenant.ConnectKnowledgeBaseChat(t.Context(), model.ConnectKnowledgeBaseChatInput{AgentID: agentID,
		ChatID: chat.ID})
	require.NoError(t, err)
}

func (c *clinic) tool(t *testing.T, agentID, name string) {
	t.Helper()
	tool, err := c.tenant.CreateTool(t.Context(), model.CreateToolInput{Name: name,
		TechnicalName: strings.ReplaceAll(name, " ", "_")})
	require.NoError(t, err)
	_, err = c.tenant.ConnectTool(t.Context(), model.ConnectToolInput{AgentID: agentID, ToolID: tool.ID})
	require.NoError(t, err)
}

func (c *clinic) test(t *testing.T, agentID, name string) string {
	t.Helper()
	test, err := c.tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{AgentID: agentID, Name: name,
		Scenario: "You want an appointment.", Criteria: []string{"An appointment is booked."}, MaxTurns: 1})
	require.NoError(t, err)
	return test.ID
}

// run answers an operation by its plan alone.
func (c *clinic) run(t *testing.T, text string, variables map[string]any) (string, error) {
	t.Helper()
	operation := operationOf(t, c.table, text, variables)
	made := compile(operation, c.table)
	require.NotNil(t, made, text)
	require.Empty(t, made.fallbackFields, text)
	data, err := made.run(t.Context(), c.tenant, variables, nil)
	return strings.Clone(string(data)), err
}

func (c *clinic) answer(t *testing.T, text string, variables map[string]any) string {
	t.Helper()
	data, err := c.run(t, text, variables)
	require.NoError(t, err, text)
	return data
}

// answers requires the answers of plans. In the operations, DESK and NURSE stand for the agents' ids.
func (c *clinic) answers(t *testing.T, cases [][2]string) {
	t.Helper()
	ids := strings.NewReplacer("DESK", `"`+c.desk+`"`, "NURSE", `"`+c.nurse+`"`)
	for _, each := range cases {
		require.JSONEq(t, each[1], c.answer(t, ids.Replace(each[0]), nil), each[0])
	}
}

// Fields that lead to other rows, to other pages or to other lists never share a read.
func TestPlansKeepParentsAndListsApart(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	c.answers(t, [][2]string{
		// Two relations of a row lead to two agents.
		{`{ agent(id: DESK) { subAgents { agent { tests { totalCount } } parent { tests { totalCount } } } } }`,
			`{"agent":{"subAgents":[{"agent":{"tests":{"totalCount":1}},"parent":{"tests":{"totalCount":3}}}]}}`},
		{`{ agent(id: NURSE) { subAgents { agent { tools { name } } parent { tools { name } } } } }`,
			`{"agent":{"subAgents":[{"agent":{"tools":[{"name":"tool of desk"},{"name":"another tool"}]},
			"parent":{"tools":[{"name":"tool of nurse"}]}}]}}`},
		// Each row of a page leads to its own rows, or to none.
		{`{ agents { nodes { knowledgeBaseChat { llmSettings { temperature } datasets { name } } } } }`,
			`{"agents":{"nodes":[{"knowledgeBaseChat":null},
			{"knowledgeBaseChat":{"llmSettings":{"temperature":0.1},"datasets":[{"name":"dataset of chat of nurse"}]}},
			{"knowledgeBaseChat":{"llmSettings":{"temperature":0.1},"datasets":[{"name":"dataset of chat of desk"}]}}]}}`},
		// Two fields lead to two agents.
		{`{ a: agent(id: DESK) { tests { totalCount } } b: agent(id: NURSE) { tests { totalCount } } }`,
			`{"a":{"tests":{"totalCount":3}},"b":{"tests":{"totalCount":1}}}`},
		// Each type of test leads to the runs of its own tests.
		{`{ agentTests { nodes { runs { totalCount } } } }`, runsOfTests},
		{`{ agentTests { nodes { ... on SimulationTest { runs(first: 1) { totalCount } }
			... on ClassificationTest { runs(first: 2) { totalCount } } } } }`, runsOfTests},
	})
	// A filter makes another list. A variable within it is read for each request.
	require.JSONEq(t, `{"a":{"totalCount":3},"b":{"totalCount":0}}`, c.answer(t, `query ($a: Channel!, $b: Channel!) {
		a: agents(filter: {channel: $a}) { totalCount } b: agents(filter: {channel: $b}) { totalCount } }`,
		map[string]any{"a": "Web", "b": "Phone"}))
}

const runsOfTests = `{"agentTests":{"nodes":[{"runs":{"totalCount":3}},{"runs":{"totalCount":0}},
	{"runs":{"totalCount":0}},{"runs":{"totalCount":2}}]}}`

func TestPlansDescribePages(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	chat := dbtest.Chats(t, c.tenant, c.desk, 1)
	require.Len(t, chat, 1)
	c.answers(t, [][2]string{
		{`{ agents(first: 2, offset: 0) { pageInfo { hasNextPage hasPreviousPage } } }`,
			`{"agents":{"pageInfo":{"hasNextPage":true,"hasPreviousPage":false}}}`},
		{`{ agents(first: 2, offset: 1) { nodes { name } pageInfo { hasNextPage hasPreviousPage } } }`,
			`{"agents":{"nodes":[{"name":"Nurse"},{"name":"Desk"}],"pageInfo":{"hasNextPage":false,"hasPreviousPage":true}}}`},
		{`{ simulationChats { nodes { lastMessage { text } } } }`, `{"simulationChats":{"nodes":[{"lastMessage":null}]}}`},
	})
	const page = `{ agents(first: 2) { edges { cursor } pageInfo { startCursor endCursor hasNextPage } } }`
	var got struct {
		Agents struct {
			Edges    []struct{ Cursor string }
			PageInfo struct{ StartCursor, EndCursor string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(c.answer(t, page, nil)), &got))
	require.Len(t, got.Agents.Edges, 2)
	require.Equal(t, got.Agents.Edges[0].Cursor, got.Agents.PageInfo.StartCursor)
	require.Equal(t, got.Agents.Edges[1].Cursor, got.Agents.PageInfo.EndCursor)
}

// The generated executor answers operations that need an error, and totals that it computes from sums.
func TestPlansLeaveErrorsToTheExecutor(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	for _, text := range []string{
		`{ agent(id: "none") { id } }`, `{ campaignItems(campaignId: "none") { totalCount } }`,
		`{ agentTestRuns { totalCount } }`,
	} {
		_, err := c.run(t, text, nil)
		require.ErrorIs(t, err, errUnplanned, text)
	}
	require.JSONEq(t, `{"agentTestRuns":{"totalCount":0}}`,
		c.answer(t, `{ agentTestRuns(status: Passed) { totalCount } }`, nil))

	const run = `{ agentTestRuns { nodes { id testName } } }`
	var got struct {
		AgentTestRuns struct {
			Nodes []struct{ ID, TestName string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(c.answer(t, run, nil)), &got))
	first := got.AgentTestRuns.Nodes[len(got.AgentTestRuns.Nodes)-1]
	require.Equal(t, "first", first.TestName)
	require.NoError(t, c.tenant.DeleteAgentTest(t.Context(), c.simulation))
	require.JSONEq(t, `{"agentTestRun":{"test":null}}`,
		c.answer(t, `query ($id: ID!) { agentTestRun(id: $id) { test { id } } }`, map[string]any{"id": first.ID}))
}

// Responses reuse the memory of earlier ones, also of other operations and companies. The test is not parallel, because
// other tests would take the memory.
func TestReusedMemoryHoldsNothingOld(t *testing.T) {
	c := newClinic(t)
	company, err := c.table.store.CreateCompany(t.Context(), "Another")
	require.NoError(t, err)
	other := &clinic{table: c.table, tenant: c.table.store.Tenant(company.ID)}
	for _, name := range []string{"one", "two"} {
		other.tool(t, other.agent(t, name), "tool of "+name)
	}
	const tools = `{ agents { nodes { tools { name } } } }`
	for range 5 {
		require.JSONEq(t, `{"agents":{"nodes":[{"tools":[]},{"tools":[{"name":"tool of nurse"}]},
			{"tools":[{"name":"tool of desk"},{"name":"another tool"}]}]}}`, c.answer(t, tools, nil))
		require.JSONEq(t, `{"agents":{"nodes":[{"tools":[{"name":"tool of two"}]},{"tools":[{"name":"tool of one"}]}]}}`,
			other.answer(t, tools, nil))
		require.JSONEq(t, `{"agents":{"totalCount":3}}`, c.answer(t, `{ agents { totalCount } }`, nil))
		require.JSONEq(t, `{"agents":{"totalCount":2}}`, other.answer(t, `{ agents { totalCount } }`, nil))
	}
	reused := newResponse(compile(operationOf(t, c.table, `{ agents { totalCount } }`, nil), c.table), nil, nil)
	defer reused.release()
	for _, f := range reused.lookups[:1] {
		require.Empty(t, f.totals)
		require.Empty(t, f.keyIndexes)
	}
}

// countingBudget counts the bytes and the statements of a response.
type countingBudget struct{ reserved, statements int }

func (b *countingBudget) Reserve(bytes int) error {
	b.reserved += bytes
	return nil
}

func (b *countingBudget) CountStatement() error {
	b.statements++
	return nil
}

// A plan counts as one statement. What it reads counts twice, and not at all once the executor answers.
func TestPlansReserveMemory(t *testing.T) {
	t.Parallel()
	c := newClinic(t)
	const length = 40_000
	_, err := c.tenant.UpdateAgent(t.Context(), model.UpdateAgentInput{AgentID: c.desk,
		Prompt: new(strings.Repeat("a", length))})
	require.NoError(t, err)
	run := func(text string) (*countingBudget, error) {
		b := &countingBudget{}
		made := compile(operationOf(t, c.table, text, nil), c.table)
		_, err := made.run(model.WithMemoryBudget(t.Context(), b), c.tenant, nil, nil)
		return b, err
	}
	b, err := run(`{ agents { nodes { prompt } } }`)
	require.NoError(t, err)
	require.Equal(t, 1, b.statements)
	require.InDelta(t, 2*length, b.reserved, 2_000)
	b, err = run(`{ agents { nodes { prompt } } agent(id: "none") { id } }`)
	require.ErrorIs(t, err, errUnplanned)
	require.Zero(t, b.reserved)
}
