package db_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// days returns rows. The first two have names.
func days() []*model.TestRow {
	return []*model.TestRow{
		{Name: new("Monday"), Values: model.JSONObject(`{"day":"Monday"}`)},
		{Name: new("Tuesday"), Values: model.JSONObject(`{"day":"Tuesday"}`)},
		{Values: model.JSONObject(`{"day":"Friday","free":[9,10]}`)},
	}
}

func TestTestRunsWithEachOfItsRows(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent := newAgent(t, tenant)
	table := newSimulationTest(t, tenant, agent.ID, func(in *model.CreateSimulationTestInput) {
		in.Name, in.Rows = "Table",
			days()
	})
	plain := newSimulationTest(t, tenant, agent.ID)
	tests := []string{table.ID, plain.ID}
	execute := func(outcome func(row string, attempt int32) model.AgentTestRunStatus) *model.AgentTestExecution {
		execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{TestIds: tests,
			Repeats: 2, Concurrency: 50})
		require.NoError(t, err)
		for _, run := range runsOf(t, tenant, execution.ID) {
			row := "-"
			if label := model.RowLabel(run.RowName, run.RowNumber); label != nil {
				row = *label
			}
			require.NoError(t, finish(t, tenant, run.ID, outcome(row, run.Attempt)))
		}
		return execution
	}
	first := execute(func(row string, _ int32) model.AgentTestRunStatus {
		if row == "Tuesday" {
			return failed
		}
		return passed
	})
	var ran []string
	for _, run := range runsOf(t, tenant, first.ID) {
		values := "-"
		if run.RowValues != nil {
			values = string(*run.RowValues)
		}
		ran = append(ran, fmt.Sprintf("%t %d %s", run.TestName == "Table", run.Attempt, values))
		require.Empty(t, run.Snapshot.Test.Rows, "a run keeps its own row alone")
	}
	require.Equal(t, []string{
		`true 1 {"day":"Monday"}`, `true 1 {"day":"Tuesday"}`, `true 1 {"day":"Friday","free":[9,10]}`, `false 1 -`,
		`true 2 {"day":"Monday"}`, `true 2 {"day":"Tuesday"}`, `true 2 {"day":"Friday","free":[9,10]}`, `false 2 -`,
	}, ran)

	tallies, err := tenant.TalliesOfExecutions(t.Context(), []string{first.ID})
	require.NoError(t, err)
	require.Len(t, tallies[first.ID], 4, "each row is a sample")
	require.Empty(t, model.FlakyTestIds(tallies[first.ID]), "rows that differ are not flaky")
	chances, judged := model.PassHatK(tallies[first.ID])
	require.Equal(t, []float64{0.75, 0.75}, chances)
	require.Equal(t, []int32{4, 4}, judged)
	flaky, err := tenant.FlakyTests(t.Context(), tests)
	require.NoError(t, err)
	require.Empty(t, flaky)
	isFlaky := true
	page, err := tenant.AgentTests(t.Context(), model.PageArgs{First: 10}, nil, model.AgentTestFilter{IsFlaky: &isFlaky})
	require.NoError(t, err)
	require.Empty(t, page.Nodes)
	failures, err := tenant.FailuresOfTests(t.Context(), tests)
	require.NoError(t, err)
	require.Len(t, failures, 1)
	require.Equal(t, "Tuesday", *failures[table.ID].Run.RowName, "although the newest run, of another row, passed")

	// Rows may be added and removed. A comparison matches them by name, or by values.
	_, err = tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{TestID: table.ID,
		Rows: []*model.TestRow{
			{Name: new("Sunday"), Values: model.JSONObject(`{"day":"Sunday"}`)},
			{Values: model.JSONObject(`{ "free": [9, 10], "day": "Friday" }`)},
			{Name: new("Tuesday"), Values: model.JSONObject(`{"day":"Tue"}`)},
		}})
	require.NoError(t, err)
	second := execute(func(row string, attempt int32) model.AgentTestRunStatus {
		if row == "row 2" && attempt == 2 {
			return failed
		}
		return passed
	})
	compared, err := tenant.CompareAgentTestExecutions(t.Context(), []string{first.ID}, second.ID,
		model.ComparedVariants{}, model.AgentTestCorrectionHolm)
	require.NoError(t, err)
	var changes []string
	for _, test := range compared.Tests {
		label := "-"
		if l := model.RowLabel(test.RowName, test.RowNumber); l != nil {
			label = *l
		}
		changes = append(changes, label+" "+string(test.Change))
	}
	require.Equal(t, []string{"Sunday Added", "row 2 NewlyFailing", "Tuesday NewlyPassing", "- StillPassing",
		"Monday Removed"}, changes)
	flaky, err = tenant.FlakyTests(t.Context(), tests)
	require.NoError(t, err)
	require.Equal(t, map[string]bool{table.ID: true}, flaky)
	page, err = tenant.AgentTests(t.Context(), model.PageArgs{First: 10}, nil, model.AgentTestFilter{IsFlaky: &isFlaky})
	require.NoError(t, err)
	require.Len(t, page.Nodes, 1)
	failures, err = tenant.FailuresOfTests(t.Context(), tests)
	require.NoError(t, err)
	require.Nil(t, failures[table.ID].Run.RowName)
	require.EqualValues(t, 2, *failures[table.ID].Run.RowNumber)

	again, err := tenant.RetryAgentTestExecution(t.Context(), model.RetryAgentTestExecutionInput{ExecutionID: first.ID,
		Only: model.AgentTestRetryAll})
	require.NoError(t, err)
	require.Equal(t, []model.LeftOutTest{{TestID: table.ID, TestName: "Table", RowName: new("Monday")}},
		again.LeftOutTests)
	runs := runsOf(t, tenant, again.ID)
	require.Len(t, runs, 6)
	require.JSONEq(t, `{"day":"Tue"}`, string(*runs[0].RowValues), "rows are repeated as they are now")
}

func TestRunsOfRowsAreBounded(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent := newAgent(t, tenant)
	in := simulationInput(agent.ID)
	for i := range model.MaxRows {
		in.Rows = append(in.Rows, &model.TestRow{Values: model.JSONObject(fmt.Sprintf(`{"n":%d}`, i))})
	}
	many, err := tenant.CreateSimulationTest(t.Context(), in)
	require.NoError(t, err)
	_, err = tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{TestIds: []string{many.ID},
		Repeats: 9, Concurrency: 1})
	faults(t, err, model.Unprocessable, "repeats", "make 4500 runs of all tests, rows and "+
		"variants, but an execution has at most 4000")

	wide := newSimulationTest(t, tenant, agent.ID, func(in *model.CreateSimulationTestInput) {
		in.Name = "Wide"
		for i := range 45 {
			in.Rows = append(in.Rows, &model.TestRow{Name: new(fmt.Sprint(i)),
				Values: model.JSONObject(fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 10_000)))})
		}
	})
	ids := []string{wide.ID}
	for range 2 {
		copied, err := tenant.CopyAgentTests(t.Context(), model.CopyAgentTestsInput{TestIds: []string{wide.ID}})
		require.NoError(t, err)
		ids = append(ids, copied[0].Row().ID)
	}
	_, err = tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{TestIds: ids, Repeats: 15,
		Concurrency: 1})
	faults(t, err, model.Unprocessable, "repeats", "make runs with 20272275 bytes of row values and starting "+
		"conversations in total, but an execution has at most 20000000")

	begun := newSimulationTest(t, tenant, agent.ID, func(in *model.CreateSimulationTestInput) {
		in.Name = "Begun"
		for range 50 {
			in.ConversationContext = append(in.ConversationContext, &model.TestMessage{
				Role: model.MessageRoleUser, Text: strings.Repeat("x", 9_800)})
		}
		for i := range 3 {
			in.Rows = append(in.Rows, &model.TestRow{Values: model.JSONObject(fmt.Sprintf(`{"n":%d}`, i))})
		}
	})
	_, err = tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{TestIds: []string{begun.ID},
		Repeats: 14, Concurrency: 1})
	faults(t, err, model.Unprocessable, "repeats", "make runs with 20634936 bytes of row values and starting "+
		"conversations in total, but an execution has at most 20000000")

	agent = newTaggedAgent(t, tenant, "New", "Old")
	table := func(tags ...string) (*model.ClassificationTest, error) {
		in := model.CreateClassificationTestInput{AgentID: agent.ID, Name: strings.Join(tags, " "), TagExpected: "{tag}",
			ConversationContext: conversation("{said}")}
		for i, tag := range tags {
			in.Rows = append(in.Rows, &model.TestRow{Values: model.JSONObject(fmt.Sprintf(`{"said":"%d","tag":%q}`, i, tag))})
		}
		return tenant.CreateClassificationTest(t.Context(), in)
	}
	_, err = table("New", "Old", "New")
	require.NoError(t, err)
	_, err = table("New", "Lost")
	faults(t, err, model.Unprocessable, "tagExpected", `is "Lost", but must be one of the agent's`)
}

func TestTestNamesAreUniqueInTheirFolder(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newCompany(t, store)
	agent, other := newTaggedAgent(t, tenant, "New"), newTaggedAgent(t, tenant, "New")
	folder := newFolder(t, tenant, agent.ID, "Smoke")
	named := func(name string, folderID *string) (*model.SimulationTest, error) {
		in := simulationInput(agent.ID)
		in.Name, in.FolderID = name, folderID
		return tenant.CreateSimulationTest(t.Context(), in)
	}
	first, err := named("Books", nil)
	require.NoError(t, err)
	_, err = named("Books", nil)
	faults(t, err, model.Unprocessable, "name", first.ID)
	inFolder, err := named("Books", &folder.ID)
	require.NoError(t, err, "another folder")
	second, err := named("Books (2)", nil)
	require.NoError(t, err)
	_, err = tenant.CreateClassificationTest(t.Context(), model.CreateClassificationTestInput{
		AgentID: agent.ID, Name: "Books", TagExpected: "New", ConversationContext: conversation("Hello"),
	})
	faults(t, err, model.Unprocessable, "name", first.ID)
	newClassificationTest(t, tenant, other.ID, "Books")

	_, err = tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{TestID: second.ID,
		Name: new("Books")})
	faults(t, err, model.Unprocessable, "name", first.ID)
	_, err = tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{TestID: inFolder.ID,
		FolderID: new("")})
	faults(t, err, model.Unprocessable, "name", first.ID)
	_, err = tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{TestID: first.ID, Name: new("Books"),
		MaxTurns: new(int32(3))})
	require.NoError(t, err, "its own name")

	// Of several concurrent creations, one gets the name.
	errs := together(5, func(int) error { _, err := named("Raced", nil); return err })
	require.Len(t, errs, 4)

	// An older database may have tests with the same name. All their other fields can be changed.
	shared := *first.AgentTestRow
	shared.ID = model.NewID("test")
	require.NoError(t, tenant.ImportAgentTests(t.Context(), db.AgentTestHistory{Tests: []*model.AgentTestRow{&shared}}))
	_, err = tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{TestID: shared.ID,
		Scenario: new("You are lost.")})
	require.NoError(t, err)

	require.NoError(t, tenant.DeleteAgentTestFolder(t.Context(), folder.ID))
	require.Equal(t, "Books (3)", testByID(t, tenant, inFolder.ID).Row().Name)
}

func TestEachRowIsDecidedSeparately(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	table := newSimulationTest(t, tenant, newAgent(t, tenant).ID,
		func(in *model.CreateSimulationTestInput) { in.Rows = days() })
	execution, err := tenant.StartAgentTestExecution(t.Context(), model.StartAgentTestExecutionInput{
		TestIds: []string{table.ID}, Repeats: 2, Concurrency: 1, StopRepeating: &model.StopRepeating{},
	})
	require.NoError(t, err)
	require.NoError(t, finish(t, tenant, runsOf(t, tenant, execution.ID)[0].ID, failed))
	var statuses []model.AgentTestRunStatus
	for _, run := range runsOf(t, tenant, execution.ID) {
		statuses = append(statuses, run.Status)
	}
	waiting := model.AgentTestRunStatusQueued
	require.Equal(t, []model.AgentTestRunStatus{failed, waiting, waiting, model.AgentTestRunStatusSkipped, waiting,
		waiting}, statuses)
}
