package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

func TestUnfilledPlaceholdersAreReported(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.main.Tools = append(s.main.Tools, newTool("open", `{"type":"object","allOf":[{"properties":{"x":{}}}]}`),
		newTool("plain", `{"type":"object","properties":{}}`))
	mock := func(template string) model.Mock {
		return model.Mock{ResultTemplate: ptr("fine"), Rules: []model.MockRule{{ResultTemplate: &template}, {}}}
	}
	mocking := &model.ToolMocking{
		MockedTools: []model.MockedTool{
			{ToolID: "tool_book", Mock: mock("{day} {day.x} {clinic} {who}")},
			{ToolID: "tool_open", Mock: mock("{who}")},
			{ToolID: "tool_plain", Mock: mock(`{"a":{what}}`)},
		},
		MockedSubAgents: []model.MockedSubAgent{{SubAgentID: "sub_expert", Mock: mock("{request} {day}")}},
	}
	const end = "}, which has no value and is left unchanged"
	require.Equal(t, []string{
		"the mock of book has the placeholder {who" + end,
		"the mock of plain has the placeholder {what" + end,
		"the mock of ask_expert has the placeholder {day" + end,
	}, unfillable(s.main.targets(mocking, false), content.Values{"clinic": "Lakeside"}))
}

func TestCoverageLeavesOutImpossibleCalls(t *testing.T) {
	t.Parallel()
	s := newScene()
	s.main.Tools[1].Endpoint = nil
	s.main.SubAgents = append(s.main.SubAgents, &model.SubAgent{ID: "self", DelegateAgentID: "main",
		TechnicalName: "self"})
	effects := func(m *model.ToolMocking) map[string]model.CallEffect {
		byName := map[string]model.CallEffect{}
		for _, t := range s.main.targets(m, false) {
			byName[t.TechnicalName] = t.Effect
		}
		return byName
	}
	require.Equal(t, map[string]model.CallEffect{
		"book": model.CallEffectReal, "look": model.CallEffectUnavailable, "ask_expert": model.CallEffectReal,
		"self": model.CallEffectUnavailable, "transfer_call": model.CallEffectUnavailable,
	}, effects(&model.ToolMocking{}))
	require.Equal(t, map[string]model.CallEffect{
		"book": model.CallEffectDenied, "look": model.CallEffectDenied, "ask_expert": model.CallEffectReal,
		"self": model.CallEffectUnavailable, "transfer_call": model.CallEffectDenied,
	}, effects(&model.ToolMocking{SideEffects: model.SideEffectsDeny}))
}
