package db_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// startDraft starts an execution that tries a prompt.
func startDraft(t *testing.T, in model.StartAgentTestExecutionInput, prompt string) model.StartAgentTestExecutionInput {
	t.Helper()
	in.Repeats, in.Concurrency, in.Prompt = max(in.Repeats, 1), 5, &prompt
	return in
}

func TestTriedDraftChangesNothing(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tenant, _ := recordingJobs(t)
	agent := newAgent(t, tenant)
	test := newSimulationTest(t, tenant, agent.ID)
	before := runsOf(t, tenant, start(t, tenant, test.ID).ID)[0]
	require.NoError(t, finish(t, tenant, before.ID, model.AgentTestRunStatusPassed))

	execution, err := tenant.StartAgentTestExecution(ctx,
		startDraft(t, model.StartAgentTestExecutionInput{TestIds: []string{test.ID}, Repeats: 2}, "Try this."))
	require.NoError(t, err)
	require.True(t, execution.IsDraft)
	require.Equal(t, "Try this.", *execution.DraftPrompt)
	runs := runsOf(t, tenant, execution.ID)
	for _, run := range runs {
		require.True(t, run.IsDraft)
		require.Equal(t, "Try this.", run.Snapshot.Agent.Prompt)
		require.Equal(t, agent.PromptVersion, run.PromptVersion)
	}
	lastRun(t, tenant, test.ID, before.ID, model.AgentTestRunStatusPassed)

	// A worker is lost. The next worker tries the same prompt.
	_, err = tenant.ClaimRun(ctx, runs[0].ID, 1)
	require.NoError(t, err)
	again, err := tenant.ClaimRun(ctx, runs[0].ID, 2)
	require.NoError(t, err)
	require.Equal(t, "Try this.", again.Snapshot.Agent.Prompt)
	again.Status = model.AgentTestRunStatusFailed
	require.NoError(t, tenant.FinishRun(ctx, again))
	require.NoError(t, finish(t, tenant, runs[1].ID, model.AgentTestRunStatusPassed))
	lastRun(t, tenant, test.ID, before.ID, model.AgentTestRunStatusPassed)
	flaky, err := tenant.FlakyTests(ctx, []string{test.ID})
	require.NoError(t, err)
	require.Empty(t, flaky, "both runs used an unsaved draft")
	tallies, err := tenant.TalliesOfExecutions(ctx, []string{execution.ID})
	require.NoError(t, err)
	require.Equal(t, []string{test.ID}, model.FlakyTestIds(tallies[execution.ID]),
		"the execution itself has the result")

	retried, err := tenant.RetryAgentTestExecution(ctx, model.RetryAgentTestExecutionInput{ExecutionID: execution.ID,
		Only: model.AgentTestRetryNotPassed})
	require.NoError(t, err)
	require.True(t, retried.IsDraft)
	require.Equal(t, "Try this.", runsOf(t, tenant, retried.ID)[0].Snapshot.Agent.Prompt)
	_, err = tenant.CancelAgentTestExecution(ctx, model.CancelAgentTestExecutionInput{ExecutionID: retried.ID})
	require.NoError(t, err)
	lastRun(t, tenant, test.ID, before.ID, model.AgentTestRunStatusPassed)

	kept, err := tenant.Agent(ctx, agent.ID)
	require.NoError(t, err)
	require.Equal(t, agent.Prompt, kept.Prompt)
}

func TestInvalidDraftsAreRefused(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	tenant, _ := newCompany(t, dbtest.New(t))
	one, two := newSimulationTest(t, tenant, newAgent(t, tenant).ID), newSimulationTest(t, tenant, newAgent(t, tenant).ID)
	_, err := tenant.StartAgentTestExecution(ctx,
		startDraft(t, model.StartAgentTestExecutionInput{TestIds: []string{one.ID, two.ID}}, "Try this."))
	fails(t, err, model.Unprocessable)
	for _, prompt := range []string{"", strings.Repeat("x", 50_001), "\x00"} {
		_, err := tenant.StartAgentTestExecution(ctx,
			startDraft(t, model.StartAgentTestExecutionInput{TestIds: []string{one.ID}}, prompt))
		fails(t, err, model.BadInput)
	}
	_, err = tenant.StartAgentTestExecution(ctx,
		startDraft(t, model.StartAgentTestExecutionInput{TestIds: []string{one.ID}}, strings.Repeat("é", 50_000)))
	require.NoError(t, err)
}
