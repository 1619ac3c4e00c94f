package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

const expert = "Expert of Lakeside"

func TestSubAgentAnswersADelegation(t *testing.T) {
	t.Parallel()
	s := newScene(do("ask_expert", `{"request":"Dig, please"}`).saying("One moment."), say("It is 42."))
	s.script.answers[expert] = []answer{do("dig", `{"n":1}`).saying("Digging."), say("42")}
	s.history = []llm.Message{{Role: llm.RoleAssistant, Text: "Welcome"}}
	got := s.play(t)
	require.NoError(t, got.err)
	require.Equal(t, "One moment.\n\nIt is 42.", got.text, "the contact does not hear the sub-agent")
	require.Equal(t, []string{"+ask_expert", "+dig", "-dig", "-ask_expert"}, got.order)
	require.Equal(t, []string{"Digging.\n\n42"}, s.resultsBefore(1))

	first := s.script.asked[expert][0]
	require.Equal(t, []llm.Message{{Role: llm.RoleUser, Text: "Dig, please"}}, first.Messages,
		"the request is all that it sees")
	var names []string
	for _, tool := range first.Tools {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"dig", llm.TransferCall}, names, "the sub-agent has its own tools, and cannot end the chat")

	ask, dig := got.calls[0], got.calls[1]
	require.Equal(t, model.ToolCallKindSubAgent, ask.Kind)
	require.Equal(t, "sub_expert", *ask.TargetID)
	require.Nil(t, ask.DelegationID)
	require.Equal(t, ask.ID, *dig.DelegationID)
	require.Equal(t, "tool_dig", *dig.TargetID)
}

func TestDelegationsRunConcurrently(t *testing.T) {
	t.Parallel()
	s := newScene(do("ask_expert", `{"request":"one"}`, "ask_expert", `{"request":"two"}`), say("Done"))
	var together sync.WaitGroup
	together.Add(2)
	meet := func(context.Context) {
		together.Done()
		together.Wait()
	}
	s.script.answers[expert] = []answer{{texts: []string{"42"}, hook: meet}}
	require.NoError(t, s.play(t).err)
	require.Equal(t, []string{"42", "42"}, s.resultsBefore(1))
}

func TestDelegationFailureIsReportedToTheModel(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers []answer
		cause   string
	}{
		"the model": {[]answer{{err: &llm.Error{Cause: llm.RateLimited, Message: "the provider answered 429"}}},
			"the provider answered 429"},
		"too long": {[]answer{do("dig", `{}`)}, "the language model gave no final answer to 8 requests in one turn, " +
			"the limit: raise AGENTGRAPH_MAX_MODEL_CALLS, or change the prompt"},
		"wrong calls": {[]answer{do("digg", `{}`)},
			`the language model made an invalid call again, although it was asked to correct the first one: digg: there is no tool "digg", only dig, transfer_call`},
		"an empty answer": {[]answer{say(" ")}, "the language model gave an empty answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(do("ask_expert", `{"request":"x"}`), say("Sorry"))
			s.script.answers[expert] = test.answers
			got := s.play(t)
			require.NoError(t, got.err, "the agent can say so")
			require.Equal(t, "Sorry", got.reply.Text)
			require.Equal(t, "the sub-agent could not answer", *got.calls[0].Error, "it names no provider or status")
			require.Equal(t, []string{"The call failed: the sub-agent could not answer."}, s.resultsBefore(1))
			require.Len(t, got.causes, 1, "the log has the cause")
			require.ErrorContains(t, got.causes[0], test.cause)
		})
	}
	s := newScene(do("ask_expert", `{"request":"x"}`), say("Sorry"))
	s.others = nil
	got := s.play(t)
	require.NoError(t, got.err)
	require.Equal(t, `agent "expert" does not exist`, *got.calls[0].Error)
}

func TestSubAgentHasItsOwnFields(t *testing.T) {
	t.Parallel()
	s := newScene(do("ask_expert", `{"request":"x"}`), say("Done"))
	s.others["expert"].Agent.Prompt = "Expert {name} {today} {mood} {phone}"
	s.others["expert"].Agent.Fields = []model.AgentField{
		{Name: "name", IsMandatory: true}, {Name: "today", IsSystem: true},
		{Name: "phone", IsSystem: true, IsMandatory: true},
	}
	s.script.answers["Expert Ana 2026-03-01 {mood} +12025550143"] = []answer{do("deeper", `{"request":"y"}`), say("42")}
	s.others["expert"].SubAgents = []*model.SubAgent{{ID: "sub_deep", DelegateAgentID: "deep", TechnicalName: "deeper"}}
	s.others["deep"] = &Speaker{Agent: &model.Agent{ID: "deep", Prompt: "Deep {today}"}}
	s.script.answers["Deep 2026-03-01"] = []answer{say("43")}
	got := s.play(t)
	require.NoError(t, got.err)
	require.Equal(t, []string{"42"}, s.resultsBefore(1))
	require.Equal(t, "43", *got.calls[1].Result, "a sub-agent gets the values of its parent's fields")
	require.Equal(t, []string{"the sub-agent ask_expert answers without values for mood, because the data bag has none"},
		got.warnings)
	require.Equal(t, []string{"ask_expert", "deeper"}, s.started)

	s = newScene(do("ask_expert", `{"request":"x"}`), say("Done"))
	s.others["expert"].Agent.Fields = []model.AgentField{{Name: "shoe", IsMandatory: true}}
	s.script.answers[expert] = []answer{say("42")}
	got = s.play(t)
	require.NoError(t, got.err)
	require.Nil(t, got.calls[0].Error)
	require.Contains(t, got.warnings,
		"the sub-agent ask_expert answers without values for shoe, because the data bag has none",
		"the sub-agent is asked despite the missing value")
}

// chain makes agent_0 delegate to agent_1 and so on, and the last agent to the first.
func chain(s *scene, length int) {
	for i := range length {
		name := fmt.Sprintf("agent_%d", i)
		sub := &model.SubAgent{ID: fmt.Sprint("sub_", i), TechnicalName: "deeper", DelegateAgentID: fmt.Sprintf("agent_%d",
			(i+1)%length)}
		s.others[name] = &Speaker{Agent: &model.Agent{ID: name, Prompt: name}, SubAgents: []*model.SubAgent{sub}}
		s.script.answers[name] = []answer{do("deeper", `{"request":"on"}`), say("end of " + name)}
	}
	s.main = s.others["agent_0"]
	s.main.Agent.Prompt = "Main"
	s.script.answers["Main"] = s.script.answers["agent_0"]
}

func TestDelegationDepthIsBounded(t *testing.T) {
	t.Parallel()
	s := newScene()
	chain(s, 10)
	got := s.play(t)
	require.NoError(t, got.err)
	require.Len(t, got.calls, 6)
	for i, call := range got.calls[:5] {
		require.Equal(t, fmt.Sprintf("end of agent_%d", i+1), *call.Result)
	}
	require.Equal(t, "delegations can be at most 5 deep", *got.calls[5].Error)
	require.Equal(t, got.calls[4].ID, *got.calls[5].DelegationID)
}

func TestDelegationsDoNotFormCycles(t *testing.T) {
	t.Parallel()
	for _, length := range []int{1, 2, 3} {
		s := newScene()
		chain(s, length)
		got := s.play(t)
		require.NoError(t, got.err)
		require.Len(t, got.calls, length)
		require.Equal(t, "the agent behind it is already waiting for this answer, so asking it would never end",
			*got.calls[length-1].Error)
	}
	// An agent may get two requests one after the other.
	s := newScene(do("ask_expert", `{"request":"x"}`), do("ask_expert", `{"request":"y"}`), say("Done"))
	s.script.answers[expert] = []answer{say("42")}
	got := s.play(t)
	require.NoError(t, got.err)
	require.Nil(t, got.calls[1].Error)
}

func TestDelegationsShareTheTurnLimit(t *testing.T) {
	t.Parallel()
	a := do()
	for i := range 30 {
		a.calls = append(a.calls, llm.ToolCall{ID: fmt.Sprint(i), Name: "ask_expert", Arguments: `{"request":"x"}`})
	}
	s := newScene(a)
	s.script.answers[expert] = []answer{say("42")}
	got := s.play(t)
	require.Equal(t, "the language model gave no final answer to 40 requests in one turn, the limit including "+
		"sub-agents: raise AGENTGRAPH_MAX_MODEL_CALLS, or change the prompts", requireFault(t, got.err))
	require.Len(t, s.script.asked[expert], 38, "the agent itself was asked twice")
}

func TestMocksApplyInsideDelegations(t *testing.T) {
	t.Parallel()
	s := newScene(do("ask_expert", `{"request":"x"}`), say("Done"))
	s.others["expert"].SubAgents = []*model.SubAgent{{ID: "sub_other", TechnicalName: "other", DelegateAgentID: "other"}}
	s.others["other"] = &Speaker{Agent: &model.Agent{ID: "other", Prompt: "Other"}}
	s.script.answers[expert] = []answer{do("dig", `{}`, "other", `{"request":"y"}`), say("42")}
	s.script.answers["Other"] = []answer{say("43")}
	s.mocking = model.ToolMocking{
		MockAllTools: true, MockAllSubAgents: false,
		// The id belongs to a tool of the sub-agent, which cannot be mocked.
		MockedTools:     []model.MockedTool{{ToolID: "tool_dig"}},
		MockedSubAgents: []model.MockedSubAgent{{SubAgentID: "sub_other"}},
	}
	got := s.play(t)
	require.NoError(t, got.err)
	require.Equal(t, []string{"dig{}"}, s.effected)
	for _, call := range got.calls {
		require.False(t, call.Mocked)
	}

	s.effected, s.script.asked = nil, nil
	s.mocking = model.ToolMocking{SideEffects: model.SideEffectsDeny}
	got = s.play(t)
	require.NoError(t, got.err)
	require.Empty(t, s.effected)
	require.Equal(t, string(errDenied), *got.calls[1].Error)
	require.Equal(t, "43", *got.calls[2].Result, "delegating is not a side effect")
}

// The console starts chats with this mocking and calls them sandboxed if their coverage has no real call.
func TestSandboxMakesNoRealCallInsideDelegations(t *testing.T) {
	t.Parallel()
	s := newScene(do("ask_expert", `{"request":"x"}`), say("Done"))
	s.script.answers[expert] = []answer{do("dig", `{}`), say("42")}
	realIn := func(m model.ToolMocking) []string {
		survey := surveyOf(s.main.Agent.ID, &m, true, 5)
		known := map[string]*Speaker{s.main.Agent.ID: s.main}
		maps.Copy(known, s.others)
		for len(survey.next) > 0 {
			survey.descend(known)
		}
		names := []string{}
		for _, call := range survey.calls {
			if call.Effect == model.CallEffectReal && call.Kind != model.ToolCallKindSubAgent {
				names = append(names, strings.Join(append(slices.Clone(call.Path), call.TechnicalName), " "))
			}
		}
		return names
	}
	sandbox := model.ToolMocking{MockAllTools: true, MockCallTransfer: true, SideEffects: model.SideEffectsDeny}
	require.Empty(t, realIn(sandbox))
	s.mocking = sandbox
	got := s.play(t)
	require.NoError(t, got.err)
	require.Empty(t, s.effected)
	require.Equal(t, string(errDenied), *got.calls[1].Error)

	sandbox.SideEffects = model.SideEffectsAllow
	require.Equal(t, []string{"ask_expert dig"}, realIn(sandbox), "the console names the call")
}

func TestCancelledTurnStopsItsDelegations(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s := newScene(do("ask_expert", `{"request":"x"}`))
	s.script.answers[expert] = []answer{do("dig", `{}`)}
	s.effects.call = func(ctx context.Context, _ *model.Tool, _ model.JSONObject) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	}
	got := s.playUntil(ctx, t)
	require.ErrorIs(t, got.err, context.Canceled)
	require.Equal(t, []string{"+ask_expert", "+dig", "-dig", "-ask_expert"}, got.order)
}
