package evaluation

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/model"
)

func TestRowFillsEveryPlaceholderOfItsRun(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tenant, id, _ := newRun(t, dbtest.Open(t, dbtest.URL(t), db.Options{}))
	run, err := tenant.RunsWithSnapshots(ctx, []string{id})
	require.NoError(t, err)
	agentID := run[0].Snapshot.Agent.ID
	_, err = tenant.UpdateAgentPrompt(ctx, model.UpdateAgentPromptInput{AgentID: agentID, Prompt: "You know {who}."})
	require.NoError(t, err)
	test, err := tenant.CreateSimulationTest(ctx, model.CreateSimulationTestInput{
		AgentID: agentID, Name: "Table", Scenario: "You are {who} and want {day}.", MaxTurns: 1,
		Criteria: []string{`says "{day}, {who}"`},
		Checks: []*model.TestCheck{
			{Expect: model.TestExpectation{Says: &model.SaidExpectation{Text: new("{day}"), Role: model.MessageRoleAssistant}}}},
		ConversationContext: []*model.TestMessage{{Role: model.MessageRoleUser, Text: "I am {who}, {unknown}."}},
		Variables:           model.JSONObject(`{"who":"nobody","day":"never"}`),
		Rows: []*model.TestRow{
			{Name: new("first"), Values: model.JSONObject(`{"day":"Monday","who":"Ana {day}"}`)},
			{Values: model.JSONObject(`{"day":7}`)},
		},
	})
	require.NoError(t, err)
	obstacles, err := evaluatorOf(offline.New(), Options{}).ObstaclesOfTests(ctx, tenant, []string{test.ID})
	require.NoError(t, err)
	require.Equal(t, []string{"message 1 has the placeholder {unknown}, which has no value and is left unchanged"},
		obstacles[test.ID])

	execution, err := tenant.StartAgentTestExecution(ctx, model.StartAgentTestExecutionInput{TestIds: []string{test.ID},
		Repeats: 1, Concurrency: 5})
	require.NoError(t, err)
	runs, err := dbtest.Pages[*model.AgentTestRun](ctx, tenant, db.RunsOfExecutions, nil, []string{execution.ID},
		model.PageArgs{First: 2})
	require.NoError(t, err)
	var prompts []string
	e := evaluatorOf(&player{answer: func(req llm.Request) line {
		first, _, _ := strings.Cut(req.System, "\n")
		prompts = append(prompts, first)
		return line{text: map[bool]string{true: "Monday, Ana {day}", false: "7, nobody"}[strings.Contains(first, "Ana")]}
	}}, Options{Contact: lines("I want one."), Judge: lines("nothing")})
	said := map[string]string{}
	for _, run := range runs {
		require.NoError(t, e.RunTest(ctx, tenant, run.ID, 1))
		done, err := dbtest.Find[*model.AgentTestRun](ctx, tenant, db.AgentTestRunRows, []string{run.ID})
		require.NoError(t, err)
		require.Equal(t, model.AgentTestRunStatusPassed, done[0].Status, "%+v", done[0].Error)
		require.Equal(t, "{day}", *done[0].CheckResults[0].Check.Expect.Says.Text, "results keep the test's own texts")
		said[*model.RowLabel(run.RowName, run.RowNumber)] = done[0].Messages[0].Text
	}
	require.ElementsMatch(t, []string{"You know Ana {day}.", "You know nobody."}, prompts)
	require.Equal(t, map[string]string{"first": "I am Ana {day}, {unknown}.", "row 2": "I am nobody, {unknown}."}, said)
	instructions, err := e.InstructionsOfRuns(ctx, tenant, []string{runs[0].ID, runs[1].ID})
	require.NoError(t, err)
	require.Contains(t, *instructions[runs[1].ID].Text+*instructions[runs[0].ID].Text, "You know Ana {day}.")
}

func TestRowFillsMockConditionsAndFailures(t *testing.T) {
	t.Parallel()
	values := model.JSONObject(`{"day":"a.b","why":"closed"}`)
	run := &model.AgentTestRun{RowValues: &values, Snapshot: model.RunSnapshot{Test: &model.AgentTestRow{
		ToolMocking: &model.ToolMocking{MockedTools: []model.MockedTool{{Mock: model.Mock{Rules: []model.MockRule{{
			When:    []model.MockCondition{{Argument: "day", Equals: new("{day}"), Matches: new("^{day}$")}},
			Failure: &model.MockFailure{Kind: model.MockFailureKindHTTPError, Body: new("{why}")},
		}}}}}},
	}}}
	before := run.Snapshot.Test
	require.NoError(t, fillRow(run))
	rule := run.Snapshot.Test.ToolMocking.MockedTools[0].Rules[0]
	require.Equal(t, []string{"a.b", `^a\.b$`, "closed"}, []string{*rule.When[0].Equals, *rule.When[0].Matches,
		*rule.Failure.Body})
	require.Equal(t, "{day}", *before.ToolMocking.MockedTools[0].Rules[0].When[0].Equals,
		"other runs may share the snapshot's test")

	long := model.JSONObject(`{"x":"` + strings.Repeat("x", 10_000) + `"}`)
	run.RowValues = &long
	run.Snapshot.Test = &model.AgentTestRow{}
	for range 200 {
		run.Snapshot.Test.ConversationMessages = append(run.Snapshot.Test.ConversationMessages,
			model.TestMessage{Text: strings.Repeat("{x}", 3000)})
	}
	require.ErrorContains(t, fillRow(run), "more than 1024 KiB")
}
