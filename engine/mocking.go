package engine

import (
	"cmp"
	"slices"

	"github.com/agentgraph/agentgraph/model"
)

// MockingOf returns a mocking with the defaults for what is not given. given may be nil.
func MockingOf(given *model.ToolMocking) *model.ToolMocking {
	mocking := *cmp.Or(given, &model.ToolMocking{})
	mocking.SideEffects = cmp.Or(mocking.SideEffects, model.SideEffectsAllow)
	return &mocking
}

func mockOfTool(mocking *model.ToolMocking, id string) *model.Mock {
	if i := slices.IndexFunc(mocking.MockedTools, func(m model.MockedTool) bool { return m.ToolID == id }); i >= 0 {
		return &mocking.MockedTools[i].Mock
	}
	if mocking.MockAllTools {
		return &model.Mock{}
	}
	return nil
}

func mockOfSubAgent(mocking *model.ToolMocking, id string) *model.Mock {
	isOf := func(m model.MockedSubAgent) bool { return m.SubAgentID == id }
	if i := slices.IndexFunc(mocking.MockedSubAgents, isOf); i >= 0 {
		return &mocking.MockedSubAgents[i].Mock
	}
	if mocking.MockAllSubAgents {
		return &model.Mock{}
	}
	return nil
}

// delegated returns the mocking for the conversations of sub-agents. Their own tools and sub-agents cannot be mocked.
func delegated(mocking *model.ToolMocking) *model.ToolMocking {
	return &model.ToolMocking{
		MockCallTransfer: mocking.MockCallTransfer, CallTransferFailure: mocking.CallTransferFailure,
		SideEffects: mocking.SideEffects,
	}
}
