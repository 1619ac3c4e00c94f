package evaluation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/model"
)

// clinic is an agent with its company.
type clinic struct {
	tenant *db.Tenant
	agent  *model.Agent
}

func newClinic(t *testing.T, change func(*model.CreateAgentInput)) *clinic {
	t.Helper()
	store := dbtest.New(t)
	company, err := store.CreateCompany(t.Context(), t.Name())
	require.NoError(t, err)
	c := &clinic{tenant: store.Tenant(company.ID)}
	c.agent = c.another(t, change)
	return c
}

func (c *clinic) another(t *testing.T, change func(*model.CreateAgentInput)) *model.Agent {
	t.Helper()
	in := model.CreateAgentInput{
		Name: "Reception", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en",
		Prompt: "You are the receptionist of {clinic}.", Fields: []*model.AgentField{{Name: "clinic", IsMandatory: true}},
	}
	if change != nil {
		change(&in)
	}
	agent, err := c.tenant.CreateAgent(t.Context(), in)
	require.NoError(t, err)
	return agent
}

func (c *clinic) tool(t *testing.T, agent *model.Agent, name string) *model.Tool {
	t.Helper()
	tool, err := c.tenant.CreateTool(t.Context(), model.CreateToolInput{
		Name: name, TechnicalName: name, Description: new("To " + name),
		Parameters: model.JSONObject(`{"type":"object","properties":{"day":{"type":"string"}}}`),
	})
	require.NoError(t, err)
	_, err = c.tenant.ConnectTool(t.Context(), model.ConnectToolInput{AgentID: agent.ID, ToolID: tool.ID})
	require.NoError(t, err)
	return tool
}

func (c *clinic) subAgent(t *testing.T, agent, delegate *model.Agent, name string) {
	t.Helper()
	_, _, err := c.tenant.AddSubAgent(t.Context(), model.AddSubAgentInput{
		AgentID: agent.ID, DelegateAgentID: delegate.ID, Name: name, TechnicalName: name, Description: new("Knows"),
	})
	require.NoError(t, err)
}

func TestObstaclesOfATestAreReported(t *testing.T) {
	t.Parallel()
	c := newClinic(t, func(in *model.CreateAgentInput) {
		in.ClassificationTags = []*model.ClassificationTag{{Name: "booked", Definition: "They booked."}}
	})
	e := evaluatorOf(offline.New(), Options{})
	tool := c.tool(t, c.agent, "book")
	simulation, err := c.tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{
		AgentID: c.agent.ID, Name: "S", Scenario: "S", Criteria: []string{"C"}, MaxTurns: 1,
		Variables:   model.JSONObject(`{"clinic":" "}`),
		ToolMocking: &model.ToolMocking{MockedTools: []model.MockedTool{{ToolID: tool.ID}}},
	})
	require.NoError(t, err)
	classification, err := c.tenant.CreateClassificationTest(t.Context(), model.CreateClassificationTestInput{
		AgentID: c.agent.ID, Name: "C", TagExpected: "booked",
		ConversationContext: &model.ConversationContext{
			Messages: []model.TestMessage{{Role: model.MessageRoleUser, Text: "Hi"}}},
	})
	require.NoError(t, err)
	ids := []string{simulation.ID, classification.ID}
	found, err := e.ObstaclesOfTests(t.Context(), c.tenant, append(ids, "test_unknown"))
	require.NoError(t, err)
	noValue := `the variables need a value for the agent's mandatory field "clinic"`
	require.Equal(t, map[string][]string{simulation.ID: {noValue}, classification.ID: {}}, found)

	_, err = c.tenant.DisconnectTool(t.Context(), model.DisconnectToolInput{AgentID: c.agent.ID, ToolID: tool.ID})
	require.NoError(t, err)
	found, err = e.ObstaclesOfTests(t.Context(), c.tenant, ids)
	require.NoError(t, err)
	require.Equal(t, []string{noValue, "the mocked tool book is not connected to the agent"}, found[simulation.ID])

	require.NoError(t, c.tenant.DeleteTool(t.Context(), tool.ID))
	_, err = c.tenant.UpdateAgent(t.Context(), model.UpdateAgentInput{AgentID: c.agent.ID,
		ClassificationTags: []*model.ClassificationTag{}})
	require.NoError(t, err)
	_, err = c.tenant.UpdateAgentTest(t.Context(), model.UpdateAgentTestInput{TestID: simulation.ID,
		Variables: model.JSONObject(`{"clinic":"Lakeside"}`)})
	require.NoError(t, err)
	found, err = e.ObstaclesOfTests(t.Context(), c.tenant, ids)
	require.NoError(t, err)
	require.Equal(t, []string{`the mocked tool "` + tool.ID + `" was deleted`}, found[simulation.ID])
	require.Equal(t, []string{`the test expects the classification tag "booked", which the agent does not have`},
		found[classification.ID])

	// A run with an obstacle ends with Error and names the obstacle. It does not count as Failed.
	execution, err := c.tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{TestIds: ids,
		Repeats: 1, Concurrency: 2})
	require.NoError(t, err)
	runs, err := dbtest.Pages[*model.AgentTestRun](t.Context(), c.tenant, db.RunsOfExecutions, nil, []string{execution.ID},
		model.PageArgs{First: 2})
	require.NoError(t, err)
	require.Len(t, runs, 2)
	for _, run := range runs {
		require.NoError(t, e.RunTest(t.Context(), c.tenant, run.ID, 1))
		ended, err := dbtest.Find[*model.AgentTestRun](t.Context(), c.tenant, db.AgentTestRunRows, []string{run.ID})
		require.NoError(t, err)
		require.Equal(t, model.AgentTestRunStatusError, ended[0].Status)
		require.Equal(t, model.RunErrorCauseAgent, ended[0].Error.Cause)
		want := map[string]string{classification.ID: found[classification.ID][0],
			simulation.ID: `tool "` + tool.ID + `" is not connected to the agent; connected: none`}
		require.Equal(t, "the agent: "+want[run.TestedID], ended[0].Error.Message)
	}
}

// A tool that its MCP server dropped is an obstacle until the server offers it again.
func TestObstaclesIncludeToolsThatDisappeared(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	e := evaluatorOf(offline.New(), Options{})
	server, err := c.tenant.CreateMcpServer(t.Context(), model.CreateMcpServerInput{Name: "Shop",
		Endpoint: &model.ToolEndpointInput{Method: model.HTTPMethodPost, URL: "https://shop.example/mcp",
			TimeoutSeconds: 10, Headers: model.JSONObject(`{}`)}})
	require.NoError(t, err)
	pay := model.NewMcpOffer("pay", "Pays.", []byte(`{"type":"object"}`))
	refresh := func(offers ...model.McpOffer) {
		t.Helper()
		_, _, err := c.tenant.RefreshMcpServer(t.Context(), server.ID, offers, nil)
		require.NoError(t, err)
	}
	refresh(pay)
	tool, err := c.tenant.CreateTool(t.Context(), model.CreateToolInput{Name: "Pay", TechnicalName: "shop_pay",
		McpServerID: &server.ID, McpName: &pay.Name})
	require.NoError(t, err)
	_, err = c.tenant.ConnectTool(t.Context(), model.ConnectToolInput{AgentID: c.agent.ID, ToolID: tool.ID})
	require.NoError(t, err)
	test, err := c.tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{AgentID: c.agent.ID,
		Name: "S", Scenario: "S", Criteria: []string{"C"}, MaxTurns: 1, Variables: model.JSONObject(`{"clinic":"Lakeside"}`)})
	require.NoError(t, err)
	requireObstacles := func(want ...string) {
		t.Helper()
		found, err := e.ObstaclesOfTests(t.Context(), c.tenant, []string{test.ID})
		require.NoError(t, err)
		require.ElementsMatch(t, want, found[test.ID])
	}
	requireObstacles()
	refresh()
	requireObstacles("the MCP server no longer offers shop_pay: calls fail unless they are mocked")
	refresh(pay)
	requireObstacles()
}

// An agent can also reach the tools of agents that it delegates to, up to the maximum depth.
func TestObstaclesIncludeChecksAndWeights(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	e := evaluatorOf(offline.New(), Options{})
	expert, deepest := c.another(t, nil), c.another(t, nil)
	c.subAgent(t, c.agent, expert, "ask_expert")
	c.subAgent(t, expert, deepest, "ask_deepest")
	c.subAgent(t, deepest, c.agent, "ask_first")
	require.NotNil(t, c.tool(t, deepest, "refund"))
	called := func(name string) *model.TestCheck {
		return &model.TestCheck{Expect: model.TestExpectation{Called: &model.CalledExpectation{
			NeverCalledExpectation: model.NeverCalledExpectation{TechnicalName: &name}, Min: 1,
		}}}
	}
	kind := model.ToolCallKindRetrieval
	searches := &model.TestCheck{Weight: new(int32(1)), Expect: model.TestExpectation{Called: &model.CalledExpectation{
		NeverCalledExpectation: model.NeverCalledExpectation{Kind: &kind}, Min: 1,
	}}}
	test, err := c.tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{
		AgentID: c.agent.ID, Name: "S", Scenario: "S", MaxTurns: 1, Variables: model.JSONObject(`{"clinic":"Lakeside"}`),
		Checks: []*model.TestCheck{called("ask_expert"), called("refund"), called("ask_first"), called("refnd"), searches},
	})
	require.NoError(t, err)
	found, err := e.ObstaclesOfTests(t.Context(), c.tenant, []string{test.ID})
	require.NoError(t, err)
	require.Equal(t, []string{
		"the weights have no effect: set passAt below 1, or remove the weights",
		"check 4 expects a call of refnd, which the agent cannot make",
		"check 5 expects a call of the knowledge base, which the agent cannot make",
	}, found[test.ID])
	_, err = c.tenant.UpdateAgentTest(t.Context(), model.UpdateAgentTestInput{TestID: test.ID, PassAt: new(0.5),
		Checks: []*model.TestCheck{called("refund"), searches}})
	require.NoError(t, err)
	found, err = e.ObstaclesOfTests(t.Context(), c.tenant, []string{test.ID})
	require.NoError(t, err)
	require.Equal(t, []string{"check 2 expects a call of the knowledge base, which the agent cannot make"}, found[test.ID])
}

func TestObstaclesIncludeFieldsOfSubAgents(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	e := evaluatorOf(offline.New(), Options{})
	withField := func(name string) *model.Agent {
		return c.another(t, func(in *model.CreateAgentInput) {
			in.Fields = []*model.AgentField{{Name: name, IsMandatory: true}}
		})
	}
	expert := withField("card")
	c.subAgent(t, c.agent, expert, "ask_expert")
	c.subAgent(t, expert, withField("branch"), "ask_deep")
	var checks []*model.TestCheck
	for _, name := range []string{"ask_expert", "ask_deep"} {
		checks = append(checks, &model.TestCheck{Expect: model.TestExpectation{Called: &model.CalledExpectation{
			NeverCalledExpectation: model.NeverCalledExpectation{TechnicalName: &name}, Min: 1}}})
	}
	create := func(variables string, mocking *model.ToolMocking, checks ...*model.TestCheck) string {
		test, err := c.tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{AgentID: c.agent.ID,
			Name: variables, Scenario: "S", MaxTurns: 1, Variables: model.JSONObject(variables), ToolMocking: mocking,
			MayRepeatName: true, Checks: checks})
		require.NoError(t, err)
		return test.ID
	}
	none, one, mocked, first := create(`{"clinic":"Lakeside"}`, nil, checks...),
		create(`{"clinic":"Lakeside","card":"1"}`, nil, checks...),
		create(`{"clinic":"Lakeside"}`, &model.ToolMocking{MockAllSubAgents: true}, checks[0]),
		create(`{"clinic":"Lakeside"}`, nil, checks[0])
	found, err := e.ObstaclesOfTests(t.Context(), c.tenant, []string{none, one, mocked, first})
	require.NoError(t, err)
	require.Equal(t, map[string][]string{
		none: {"the sub-agent ask_expert answers without values for card: add them to the variables",
			"the sub-agent ask_deep answers without values for branch: add them to the variables"},
		one:    {"the sub-agent ask_deep answers without values for branch: add them to the variables"},
		mocked: {},
		first:  {"the sub-agent ask_expert answers without values for card: add them to the variables"},
	}, found)
}
