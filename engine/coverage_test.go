package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

func TestCoverageCountsCallsByEffect(t *testing.T) {
	t.Parallel()
	c := newClinic(t, func(in *model.CreateAgentInput) { in.IsCallTransferEnabled, in.Channel = true, model.ChannelPhone })
	book, nowhere := c.tool(t, c.agent, "book", "https://example.com"), c.tool(t, c.agent, "nowhere", "")
	ask := c.subAgent(t, c.agent, newAgent(t, c.tenant, nil), "ask_expert")
	e := newEngine(greets, engine.Options{})
	one := c.start(t, e, nil)
	two := c.start(t, e, &model.ToolMocking{
		MockedTools: []model.MockedTool{{ToolID: book.ID}}, MockAllSubAgents: true, SideEffects: model.SideEffectsDeny,
	})
	coverage := func(chats ...*model.SimulationChat) map[string][]*model.CallCoverage {
		got, err := e.Coverage(t.Context(), c.tenant, chats)
		require.NoError(t, err)
		return got
	}
	withEffects := func(effects ...model.CallEffect) []*model.CallCoverage {
		none := []string{}
		return []*model.CallCoverage{
			{Kind: model.ToolCallKindTool, TargetID: &book.ID, TechnicalName: "book", Path: none, Effect: effects[0]},
			{Kind: model.ToolCallKindTool, TargetID: &nowhere.ID, TechnicalName: "nowhere", Path: none, Effect: effects[1]},
			{Kind: model.ToolCallKindSubAgent, TargetID: &ask.ID, TechnicalName: "ask_expert", Path: none, Effect: effects[2]},
			{Kind: model.ToolCallKindCallTransfer, TechnicalName: llm.TransferCall, Path: none, Effect: effects[3]},
		}
	}
	before := c.reads.Load()
	require.Equal(t, map[string][]*model.CallCoverage{
		one.ID: withEffects(model.CallEffectReal, model.CallEffectUnavailable, model.CallEffectReal,
			model.CallEffectUnavailable),
		two.ID: withEffects(model.CallEffectMocked, model.CallEffectDenied, model.CallEffectMocked, model.CallEffectDenied),
	}, coverage(one, two))
	require.EqualValues(t, 8, c.reads.Load()-before, "as many statements for one chat as for many: four for each of two "+
		"levels")
	before = c.reads.Load()
	coverage(one)
	require.EqualValues(t, 8, c.reads.Load()-before)
	before = c.reads.Load()
	coverage(two)
	require.EqualValues(t, 4, c.reads.Load()-before, "nothing is read behind a mocked delegation")
	require.Empty(t, coverage())

	for chat, mocking := range map[*model.SimulationChat]*model.ToolMocking{one: nil, two: &two.ToolMocking} {
		coming, err := e.CoverageOfAgents(t.Context(), c.tenant, []string{c.agent.ID}, mocking)
		require.NoError(t, err)
		require.Equal(t, coverage(chat)[chat.ID], coming[c.agent.ID], "a chat with the mocking has the same coverage")
	}
}

// covered returns the calls that are possible in a chat, each with its path, its name and its effect.
func (c *clinic) covered(t *testing.T, e *engine.Engine, chat *model.SimulationChat) []string {
	t.Helper()
	coverage, err := e.Coverage(t.Context(), c.tenant, []*model.SimulationChat{chat})
	require.NoError(t, err)
	var covered []string
	for _, call := range coverage[chat.ID] {
		covered = append(covered, strings.Join(append(call.Path, call.TechnicalName), "/")+" "+string(call.Effect))
	}
	return covered
}

func TestCoverageIncludesSubAgents(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	c.tool(t, c.agent, "book", "https://example.com")
	expert, deep := newAgent(t, c.tenant, nil),
		newAgent(t, c.tenant, func(in *model.CreateAgentInput) {
			in.IsCallTransferEnabled, in.Channel = true,
				model.ChannelPhone
		})
	ask := c.subAgent(t, c.agent, expert, "ask_expert")
	c.subAgent(t, c.agent, deep, "ask_deep")
	c.subAgent(t, expert, deep, "ask_deep")
	c.subAgent(t, expert, c.agent, "ask_back")
	c.tool(t, expert, "dig", "https://example.com")
	c.tool(t, deep, "drill", "https://example.com")
	c.subAgent(t, deep, expert, "ask_up")
	e := newEngine(greets, engine.Options{})

	require.Equal(t, []string{
		"book Mocked", "ask_expert Real", "ask_deep Real",
		"ask_expert/dig Real", "ask_expert/ask_deep Real", "ask_expert/ask_back Unavailable",
		"ask_deep/drill Real", "ask_deep/ask_up Real", "ask_deep/transfer_call Mocked",
	}, c.covered(t, e, c.start(t, e, &model.ToolMocking{MockAllTools: true, MockCallTransfer: true})),
		"tools of a sub-agent cannot be mocked")
	require.Equal(t, []string{
		"book Denied", "ask_expert Mocked", "ask_deep Real",
		"ask_deep/drill Denied", "ask_deep/ask_up Real", "ask_deep/transfer_call Denied",
		"ask_deep/ask_up/dig Denied", "ask_deep/ask_up/ask_deep Unavailable", "ask_deep/ask_up/ask_back Unavailable",
	}, c.covered(t, e, c.start(t, e, &model.ToolMocking{
		MockedSubAgents: []model.MockedSubAgent{{SubAgentID: ask.ID}}, SideEffects: model.SideEffectsDeny,
	})))
}

func TestCoverageEndsAtTheMaximumDepth(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	last := c.agent
	for i := range 6 {
		agent := newAgent(t, c.tenant, nil)
		c.subAgent(t, last, agent, fmt.Sprint("ask_", i))
		last = agent
	}
	e := newEngine(greets, engine.Options{})
	chat := c.start(t, e, nil)
	before := c.reads.Load()
	require.Equal(t, []string{
		"ask_0 Real", "ask_0/ask_1 Real", "ask_0/ask_1/ask_2 Real", "ask_0/ask_1/ask_2/ask_3 Real",
		"ask_0/ask_1/ask_2/ask_3/ask_4 Real", "ask_0/ask_1/ask_2/ask_3/ask_4/ask_5 Unavailable",
	}, c.covered(t, e, chat))
	require.EqualValues(t, 24, c.reads.Load()-before)
}

// A value that only a sub-agent uses is not reported as unknown.
func TestChatKnowsTheFieldsOfSubAgents(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	withField := func(name string) *model.Agent {
		return newAgent(t, c.tenant, func(in *model.CreateAgentInput) { in.Fields = []*model.AgentField{{Name: name}} })
	}
	expert := withField("card")
	c.subAgent(t, c.agent, expert, "ask_expert")
	c.subAgent(t, expert, withField("branch"), "ask_deep")
	mocked := c.subAgent(t, c.agent, withField("shoe"), "ask_mocked")
	e := newEngine(greets, engine.Options{})
	start := func(bag string) []string {
		chat, err := e.StartSimulationChat(t.Context(), c.tenant, model.StartSimulationChatInput{AgentID: c.agent.ID,
			DataBag:     model.JSONObject(bag),
			ToolMocking: &model.ToolMocking{MockedSubAgents: []model.MockedSubAgent{{SubAgentID: mocked.ID}}}})
		require.NoError(t, err)
		return chat.Warnings
	}
	require.Empty(t, start(`{"clinic":"Lakeside","card":"1","branch":"2"}`))
	require.Equal(t, []string{
		`the data bag has the value "shoe", which is not a field of the agent. The value is kept, but check its name`,
	}, start(`{"clinic":"Lakeside","card":"1","shoe":"38"}`), "a mocked sub-agent uses no values")
}
