package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMocksOfUnconnectedToolsAreRefused(t *testing.T) {
	t.Parallel()
	tool := func(id string) MockedTool { return MockedTool{ToolID: id} }
	sub := func(id string) MockedSubAgent { return MockedSubAgent{SubAgentID: id} }
	connectedTools := []*Tool{{ID: "tool_book", TechnicalName: "book"}, {ID: "tool_look", TechnicalName: "look"}}
	connectedSubAgents := []*SubAgent{{ID: "sub_expert", TechnicalName: "ask_expert"}}
	const tools, subAgents = "connected: tool_book (book), tool_look (look)", "connected: sub_expert (ask_expert)"
	for name, test := range map[string]struct {
		mocking ToolMocking
		message string
		fields  Fields
	}{
		"connected": {mocking: ToolMocking{
			MockedTools:     []MockedTool{tool("tool_look"), tool("tool_book")},
			MockedSubAgents: []MockedSubAgent{sub("sub_expert")},
		}},
		"unknown": {
			ToolMocking{MockedTools: []MockedTool{tool("tool_book"), tool("x")}},
			`tool "x" is not connected to the agent; ` + tools,
			Fields{"toolMocking.mockedTools.1.toolId": {"is not connected to the agent"}},
		},
		"a sub-agent's tool": {
			ToolMocking{MockAllTools: true, MockedTools: []MockedTool{tool("tool_dig")}},
			`tool "tool_dig" is not connected to the agent; ` + tools,
			Fields{"toolMocking.mockedTools.0.toolId": {"is not connected to the agent"}},
		},
		"each kind of its own": {
			ToolMocking{MockedTools: []MockedTool{tool("sub_expert")}, MockedSubAgents: []MockedSubAgent{sub("tool_book")}},
			`tool "sub_expert" is not connected to the agent; ` + tools +
				`; sub-agent "tool_book" is not connected to the agent; ` + subAgents,
			Fields{
				"toolMocking.mockedTools.0.toolId":         {"is not connected to the agent"},
				"toolMocking.mockedSubAgents.0.subAgentId": {"is not connected to the agent"},
			},
		},
		"twice": {
			ToolMocking{
				MockedTools:     []MockedTool{tool("tool_book"), tool("tool_book")},
				MockedSubAgents: []MockedSubAgent{sub("sub_expert"), sub("sub_expert")},
			},
			`tool "tool_book" is mocked twice; sub-agent "sub_expert" is mocked twice`,
			Fields{
				"toolMocking.mockedTools.1.toolId":         {"is mocked twice"},
				"toolMocking.mockedSubAgents.1.subAgentId": {"is mocked twice"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.mocking.Check(connectedTools, connectedSubAgents)
			if test.message == "" {
				require.NoError(t, err)
				return
			}
			var known *Error
			require.ErrorAs(t, err, &known)
			require.Equal(t, Unprocessable, known.Code)
			require.Equal(t, test.message, known.Message)
			require.Equal(t, test.fields, known.Fields)
		})
	}
	alone := &ToolMocking{MockedTools: []MockedTool{tool("x")}}
	require.ErrorContains(t, alone.Check(nil, nil), "connected: none")
}
