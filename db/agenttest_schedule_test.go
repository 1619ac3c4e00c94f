package db_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func newSchedule(t *testing.T, tenant *db.Tenant,
	change func(*model.CreateAgentTestScheduleInput)) *model.AgentTestSchedule {
	t.Helper()
	in := model.CreateAgentTestScheduleInput{Name: "Nightly", Repeats: 2, Concurrency: 3, Votes: 1, Cron: new("0 3 1 1 *"),
		TimeZone: "UTC", IsEnabled: true}
	change(&in)
	schedule, err := tenant.CreateAgentTestSchedule(t.Context(), in)
	require.NoError(t, err)
	return schedule
}

// pass makes schedules due, as if the time had passed.
func pass(t *testing.T, tenant *db.Tenant) {
	t.Helper()
	_, err := db.Raw(tenant).ExecContext(t.Context(), fmt.Sprintf("UPDATE agent_test_schedules SET next_run_at = now(), "+
		"last_run_at = CASE WHEN last_run_at IS NOT NULL THEN '%s'::timestamptz END WHERE company_id = '%s' AND is_enabled",
		time.Now().Add(-time.Hour).Format(time.RFC3339), tenant.CompanyID()))
	require.NoError(t, err)
}

func scheduleByID(t *testing.T, tenant *db.Tenant, id string) *model.AgentTestSchedule {
	t.Helper()
	schedule, err := tenant.AgentTestSchedule(t.Context(), id)
	require.NoError(t, err)
	return schedule
}

func executionsOf(t *testing.T, tenant *db.Tenant) []*model.AgentTestExecution {
	t.Helper()
	page, err := tenant.AgentTestExecutions(t.Context(), model.PageArgs{First: 100}, nil, nil)
	require.NoError(t, err)
	return page.Nodes
}

func TestSchedulesStartOneExecutionPerTime(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	newSimulationTest(t, tenant, agent.ID)
	hook, _ := newWebhook(t, tenant, model.WebhookEventAgentTestExecutionEnded)
	stop := &model.StopRepeating{Good: new(0.9), Bad: new(0.5)}
	schedule := newSchedule(t, tenant, func(in *model.CreateAgentTestScheduleInput) {
		in.AgentID,
			in.StopRepeating = &agent.ID, stop
	})
	require.NoError(t, db.StartScheduled(t.Context(), store))
	require.Empty(t, executionsOf(t, tenant), "it is not due")

	pass(t, tenant)
	var processes sync.WaitGroup
	for range 4 {
		other := dbtest.Open(t, address, dbtest.Options())
		processes.Go(func() {
			if err := db.StartScheduled(t.Context(), other); err != nil {
				t.Error(err)
			}
		})
	}
	processes.Wait()
	executions := executionsOf(t, tenant)
	require.Len(t, executions, 1)
	require.Equal(t, schedule.ID, *executions[0].ScheduleID)
	require.EqualValues(t, 2, executions[0].Repeats)
	require.Equal(t, stop, executions[0].StopRepeating)
	started := scheduleByID(t, tenant, schedule.ID)
	require.Equal(t, executions[0].ID, *started.LastExecutionID)
	require.True(t, started.NextRunAt.After(time.Now()))
	require.Nil(t, started.LastError)

	// The schedule waits until its last execution ends.
	pass(t, tenant)
	require.NoError(t, db.StartScheduled(t.Context(), store))
	require.Len(t, executionsOf(t, tenant), 1)
	for _, run := range runsOf(t, tenant, executions[0].ID) {
		require.NoError(t, finish(t, tenant, run.ID, model.AgentTestRunStatusPassed))
	}
	_, err := tenant.UpdateAgentTestSchedule(t.Context(), model.UpdateAgentTestScheduleInput{ScheduleID: schedule.ID,
		BaselineID: &executions[0].ID})
	require.NoError(t, err)
	require.NoError(t, db.StartScheduled(t.Context(), store))
	executions = executionsOf(t, tenant)
	require.Len(t, executions, 2)
	for _, run := range runsOf(t, tenant, executions[0].ID) {
		require.NoError(t, finish(t, tenant, run.ID, model.AgentTestRunStatusFailed))
	}
	_, data := sentTo(t, tenant, hook.ID)
	require.Len(t, data, 2)
	require.Nil(t, data[0]["comparison"])
	require.Equal(t, map[string]any{"id": schedule.ID, "name": "Nightly"}, data[1]["schedule"])
	require.Equal(t, 1.0, data[1]["comparison"].(map[string]any)["newlyFailing"])

	require.NoError(t, tenant.DeleteAgentTestExecution(t.Context(), executions[1].ID))
	_, err = tenant.UpdateAgentTestSchedule(t.Context(), model.UpdateAgentTestScheduleInput{ScheduleID: schedule.ID,
		Name: new("Weekly")})
	require.NoError(t, err, "a deleted baseline does not block other changes")
	require.NoError(t, tenant.DeleteAgentTestSchedule(t.Context(), schedule.ID))
	require.Equal(t, schedule.ID, *executionsOf(t, tenant)[0].ScheduleID)
}

func TestSchedulesFollowChangesOfThePrompt(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	newSimulationTest(t, tenant, agent.ID)
	after := newSchedule(t, tenant, func(in *model.CreateAgentTestScheduleInput) {
		in.AgentID, in.Cron, in.AfterPromptChange = &agent.ID, nil, true
	})
	never := newSchedule(t, tenant, func(in *model.CreateAgentTestScheduleInput) { in.AgentID = &agent.ID })
	require.Nil(t, after.NextRunAt)
	write := func(prompt string) time.Time {
		_, err := tenant.UpdateAgentPrompt(t.Context(), model.UpdateAgentPromptInput{AgentID: agent.ID, Prompt: prompt})
		require.NoError(t, err)
		return *scheduleByID(t, tenant, after.ID).NextRunAt
	}
	first := write("Be brief.")
	require.True(t, first.After(time.Now()))
	require.True(t, write("Be brief, please.").After(first), "each change of the prompt postpones it")
	require.True(t, never.NextRunAt.Equal(*scheduleByID(t, tenant, never.ID).NextRunAt))
	_, err := tenant.UpdateAgent(t.Context(), model.UpdateAgentInput{AgentID: agent.ID, Name: new("Desk")})
	require.NoError(t, err)
	pass(t, tenant)
	_, err = tenant.UpdateAgentTestSchedule(t.Context(), model.UpdateAgentTestScheduleInput{ScheduleID: never.ID,
		IsEnabled: new(false)})
	require.NoError(t, err)
	require.NoError(t, db.StartScheduled(t.Context(), store))
	require.Len(t, executionsOf(t, tenant), 1)
	require.Nil(t, scheduleByID(t, tenant, after.ID).NextRunAt)

	other := newAgent(t, tenant)
	_, err = tenant.UpdateAgentTestSchedule(t.Context(), model.UpdateAgentTestScheduleInput{
		ScheduleID: after.ID, TestIds: []string{newSimulationTest(t, tenant, agent.ID).ID,
			newSimulationTest(t, tenant, other.ID).ID},
	})
	require.Contains(t, fails(t, err, model.Unprocessable),
		"afterPromptChange can be given only if all tests belong to one agent")
}

// A test is deleted after the schedule listed the agent's tests, and before it locks them.
func TestTestsDeletedDuringTheStartAreLeftOut(t *testing.T) {
	t.Parallel()
	dbtest.SkipIfSharded(t) // waitForLocks does not see locks of shards
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	gone, kept := newSimulationTest(t, tenant, agent.ID), newSimulationTest(t, tenant, agent.ID)
	schedule := newSchedule(t, tenant, func(in *model.CreateAgentTestScheduleInput) { in.AgentID = &agent.ID })
	pass(t, tenant)

	var started sync.WaitGroup
	require.NoError(t, tenant.Tx(t.Context(), func(ctx context.Context, tenant *db.Tenant) error {
		require.NoError(t, tenant.DeleteAgentTest(ctx, gone.ID))
		started.Go(func() {
			if err := db.StartScheduled(t.Context(), store); err != nil {
				t.Error(err)
			}
		})
		waitForLocks(t, conn, 1)
		return nil
	}))
	started.Wait()
	require.True(t, scheduleByID(t, tenant, schedule.ID).IsEnabled)
	runs := runsOf(t, tenant, executionsOf(t, tenant)[0].ID)
	require.Len(t, runs, 2)
	for _, run := range runs {
		require.Equal(t, kept.ID, run.TestedID)
	}
}

func TestSchedulesReportWhyTheyDidNotStart(t *testing.T) {
	t.Parallel()
	store := dbtest.Open(t, dbtest.URL(t), dbtest.Options())
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	folder, err := tenant.CreateAgentTestFolder(t.Context(), model.CreateAgentTestFolderInput{AgentID: agent.ID,
		Name: "Folder", Color: "#112233"})
	require.NoError(t, err)
	kept, gone := newSimulationTest(t, tenant, agent.ID), newSimulationTest(t, tenant, agent.ID)
	ofFolder := newSchedule(t, tenant, func(in *model.CreateAgentTestScheduleInput) { in.FolderID = &folder.ID })
	ofTests := newSchedule(t, tenant,
		func(in *model.CreateAgentTestScheduleInput) { in.TestIds = []string{gone.ID, kept.ID, kept.ID} })
	require.Equal(t, agent.ID, *ofFolder.AgentID)

	hook, _ := newWebhook(t, tenant, model.WebhookEventAgentTestScheduleFailed)
	setBudget(t, tenant, 1)
	recordNow(t, tenant, 1)
	pass(t, tenant)
	require.NoError(t, db.StartScheduled(t.Context(), store))
	require.Contains(t, *scheduleByID(t, tenant, ofTests.ID).LastError, "is used up")
	require.Contains(t, *scheduleByID(t, tenant, ofFolder.ID).LastError, "folderId has no tests")
	require.True(t, scheduleByID(t, tenant, ofTests.ID).IsEnabled)
	types, failures := sentTo(t, tenant, hook.ID)
	require.Equal(t, []string{"agent_test_schedule.failed", "agent_test_schedule.failed"}, types)
	for _, failure := range failures {
		failed := scheduleByID(t, tenant, failure["scheduleId"].(string))
		require.Equal(t, []any{*failed.LastError, failed.Name, true}, []any{failure["error"], failure["name"],
			failure["isEnabled"]})
		require.NotEmpty(t, failure["nextRunAt"])
		require.NotNil(t, failed.LastFailedAt)
	}
	require.NoError(t, tenant.ClearPlan(t.Context()))

	require.NoError(t, tenant.DeleteAgentTest(t.Context(), gone.ID))
	pass(t, tenant)
	require.NoError(t, db.StartScheduled(t.Context(), store))
	executions := executionsOf(t, tenant)
	require.Len(t, executions, 1, "deleted tests are left out")
	require.Len(t, runsOf(t, tenant, executions[0].ID), 2)
	for _, run := range runsOf(t, tenant, executions[0].ID) {
		require.NoError(t, finish(t, tenant, run.ID, model.AgentTestRunStatusPassed))
	}
	renamed, err := tenant.UpdateAgentTestSchedule(t.Context(), model.UpdateAgentTestScheduleInput{ScheduleID: ofTests.ID,
		Name: new("Weekly")})
	require.NoError(t, err, "a deleted test does not block other changes")
	require.Equal(t, []string{gone.ID, kept.ID}, renamed.TestIds)
	require.NoError(t, tenant.DeleteAgentTest(t.Context(), kept.ID))
	disabled := scheduleByID(t, tenant, ofTests.ID)
	require.False(t, disabled.IsEnabled, "before it is due")
	require.Equal(t, "all of its tests were deleted", *disabled.DisabledReason)
	require.Nil(t, disabled.NextRunAt)

	require.NoError(t, tenant.DeleteAgentTestFolder(t.Context(), folder.ID))
	require.Equal(t, "the folder was deleted", *scheduleByID(t, tenant, ofFolder.ID).DisabledReason)
	_, err = tenant.UpdateAgentTestSchedule(t.Context(), model.UpdateAgentTestScheduleInput{ScheduleID: ofFolder.ID,
		IsEnabled: new(true)})
	fails(t, err, model.NotFound)
	ofAgent := newSchedule(t, tenant, func(in *model.CreateAgentTestScheduleInput) { in.AgentID = &agent.ID })
	require.NoError(t, tenant.DeleteAgent(t.Context(), agent.ID))
	require.Equal(t, "the agent was deleted", *scheduleByID(t, tenant, ofAgent.ID).DisabledReason)
	require.Nil(t, scheduleByID(t, tenant, ofAgent.ID).NextRunAt)
}

func TestSchedulesThatCannotRunAreRefused(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent := newAgent(t, tenant)
	rows := make([]*model.TestRow, 150)
	for i := range rows {
		rows[i] = &model.TestRow{Values: model.JSONObject(fmt.Sprintf(`{"hour": %d}`, i))}
	}
	_, err := tenant.CreateSimulationTest(t.Context(), model.CreateSimulationTestInput{
		AgentID: agent.ID, Name: "Hours", Scenario: "Ask.", Criteria: []string{"Polite."}, MaxTurns: 1, Rows: rows,
	})
	require.NoError(t, err)
	schedule := newSchedule(t, tenant, func(in *model.CreateAgentTestScheduleInput) {
		in.AgentID, in.Repeats = &agent.ID,
			20
	})
	for range 51 {
		newSimulationTest(t, tenant, agent.ID)
	}
	_, err = tenant.UpdateAgentTestSchedule(t.Context(), model.UpdateAgentTestScheduleInput{ScheduleID: schedule.ID,
		Votes: new(int32(3))})
	require.Contains(t, fails(t, err, model.Unprocessable), "agentId has tests, rows and repeats that make 4020 runs, "+
		"but an execution has at most 4000")
	_, err = tenant.CreateAgentTestSchedule(t.Context(), model.CreateAgentTestScheduleInput{
		Name: "All", AgentID: &agent.ID, Repeats: 20, Concurrency: 1, Votes: 1, Cron: new("0 3 * * *"), TimeZone: "UTC",
		IsEnabled: true,
	})
	require.Contains(t, fails(t, err, model.Unprocessable), "4020 runs")
	_, err = tenant.UpdateAgentTestSchedule(t.Context(), model.UpdateAgentTestScheduleInput{ScheduleID: schedule.ID,
		IsEnabled: new(false)})
	require.NoError(t, err, "a disabled schedule can be too large")
	_, err = tenant.UpdateAgentTestSchedule(t.Context(), model.UpdateAgentTestScheduleInput{ScheduleID: schedule.ID,
		IsEnabled: new(true)})
	fails(t, err, model.Unprocessable)
	_, err = tenant.UpdateAgentTestSchedule(t.Context(), model.UpdateAgentTestScheduleInput{ScheduleID: schedule.ID,
		IsEnabled: new(true), Repeats: new(int32(19))})
	require.NoError(t, err)
}

func TestSchedulesAreBounded(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent := newAgent(t, tenant)
	for range model.MaxSchedules {
		newSchedule(t, tenant, func(in *model.CreateAgentTestScheduleInput) { in.AgentID = &agent.ID })
	}
	_, err := tenant.CreateAgentTestSchedule(t.Context(), model.CreateAgentTestScheduleInput{
		Name: "One more", AgentID: &agent.ID, Repeats: 1, Concurrency: 1, Votes: 1, Cron: new("0 3 * * *"), TimeZone: "UTC",
	})
	require.Contains(t, fails(t, err, model.Unprocessable), "has 50 test schedules, the maximum")
}
