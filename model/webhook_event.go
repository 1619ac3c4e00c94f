package model

import "fmt"

// Data of webhook messages. Receivers rely on the names. It contains no text of conversations, and no data of contacts.
// The doc tags are for the documentation.
type (
	// ExecutionEnded describes an execution of agent tests that has ended.
	ExecutionEnded struct {
		ExecutionID string                   `json:"executionId" doc:"The execution."`
		AgentID     *string                  `json:"agentId" doc:"Its agent; null if the tests belong to several agents."`
		AgentName   *string                  `json:"agentName" doc:"The agent's name; null if the tests belong to several agents."`
		Status      AgentTestExecutionStatus `json:"status" doc:"Completed or Cancelled."`
		Verdict     AgentTestVerdict         `json:"verdict" doc:"Passed, Failed, Error or Inconclusive."`
		IsDraft     bool                     `json:"isDraft" doc:"Whether it tried a prompt that is not saved."`
		RejudgeOfID *string                  `json:"rejudgeOfId" doc:"The execution whose conversations this one judged again; null if this execution had its own conversations."`
		Counts      EndedCounts              `json:"counts" doc:"The number of runs by outcome: total, passed, failed, error, cancelled and skipped."`
		PassRate    *float64                 `json:"passRate" doc:"The share of the judged runs that passed, 0 to 1; null if none was judged."`
		FailedTests []EventTest              `json:"failedTests" doc:"The first 20 tests with a failed run."`
		Schedule    *EndedSchedule           `json:"schedule" doc:"The schedule that started it; null if there is none."`
		Comparison  *EndedComparison         `json:"comparison" doc:"The comparison with the schedule's baseline; null without one. Its conclusion is Regressed, Improved, NoDifference or CannotDecide."`
		CreatedAt   string                   `json:"createdAt" doc:"When it was created."`
		FinishedAt  string                   `json:"finishedAt" doc:"When its last run ended."`
	}
	// ScheduleFailed describes a schedule that could not start its tests.
	ScheduleFailed struct {
		ScheduleID string  `json:"scheduleId" doc:"The schedule."`
		Name       string  `json:"name" doc:"Its name."`
		AgentID    *string `json:"agentId" doc:"Its agent; null if the tests belong to several agents."`
		Error      string  `json:"error" doc:"Why it could not start them."`
		IsEnabled  bool    `json:"isEnabled" doc:"False if it was disabled because everything that it runs was deleted."`
		FailedAt   string  `json:"failedAt" doc:"When it failed."`
		NextRunAt  *string `json:"nextRunAt" doc:"When it tries again; null without a next time."`
	}
	// EndedSchedule is the schedule that started an execution.
	EndedSchedule struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	// EndedComparison compares an execution with the baseline of its schedule.
	EndedComparison struct {
		BaselineID   string              `json:"baselineId"`
		Conclusion   AgentTestConclusion `json:"conclusion"`
		NewlyFailing int32               `json:"newlyFailing"`
		NewlyPassing int32               `json:"newlyPassing"`
	}
	// EndedCounts counts runs by their final status.
	EndedCounts struct {
		Total     int32 `json:"total"`
		Passed    int32 `json:"passed"`
		Failed    int32 `json:"failed"`
		Error     int32 `json:"error"`
		Cancelled int32 `json:"cancelled"`
		Skipped   int32 `json:"skipped"`
	}
	// TestsStartedFailing lists tests that failed in an execution and had passed before.
	TestsStartedFailing struct {
		ExecutionID string      `json:"executionId" doc:"The execution."`
		AgentID     *string     `json:"agentId" doc:"Its agent; null if the tests belong to several agents."`
		AgentName   *string     `json:"agentName" doc:"The agent's name; null if the tests belong to several agents."`
		Tests       []EventTest `json:"tests" doc:"The tests. Each has a failed run, and had none in its previous judged execution."`
	}
	// EventTest identifies a test.
	EventTest struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	// BudgetWarned describes a budget that is nearly or completely used up.
	BudgetWarned struct {
		Period      string  `json:"period" doc:"The month."`
		CreditsUsed Credits `json:"creditsUsed" doc:"The credits that were used in it."`
		Budget      Credits `json:"budget" doc:"The month's budget."`
		IsExhausted bool    `json:"isExhausted" doc:"Whether the budget is used up."`
		Message     string  `json:"message" doc:"The warning as a sentence."`
	}
	// DocumentIndexed describes a document whose indexing has succeeded or failed.
	DocumentIndexed struct {
		DocumentID string  `json:"documentId" doc:"The document."`
		DatasetID  string  `json:"datasetId" doc:"Its dataset."`
		Name       string  `json:"name" doc:"Its name."`
		ChunkCount int32   `json:"chunkCount" doc:"How many chunks it has."`
		Error      *string `json:"error" doc:"Why it could not be indexed; null if it was."`
	}
)

// maxFailedTests is the maximum number of failed tests in a message.
const maxFailedTests = 20

// Ended returns the message about a finished execution. tallies are the tallies of all its tests. agentName is nil if
// there is no agent.
func (e *AgentTestExecution) Ended(agentName *string, tallies []TestTally) ExecutionEnded {
	counts, failed := AgentTestRunCounts{}, FailedTests(tallies)
	for i := range tallies {
		counts.addCounts(&tallies[i].AgentTestRunCounts)
	}
	return ExecutionEnded{
		ExecutionID: e.ID, AgentID: e.AgentID, AgentName: agentName, Status: e.Status(), Verdict: counts.Verdict(),
		IsDraft: e.IsDraft, RejudgeOfID: e.RejudgeOfID,
		Counts:   EndedCounts{counts.Total, counts.Passed, counts.Failed, counts.Error, counts.Cancelled, counts.Skipped},
		PassRate: counts.PassRate(), FailedTests: failed[:min(len(failed), maxFailedTests)],
		CreatedAt: e.CreatedAt.UTC().Format(dateTimeLayout), FinishedAt: e.FinishedAt.UTC().Format(dateTimeLayout),
	}
}

// Failure returns the message about a schedule that has just failed.
func (s *AgentTestSchedule) Failure() ScheduleFailed {
	failure := ScheduleFailed{
		ScheduleID: s.ID, Name: s.Name, AgentID: s.AgentID, Error: *s.LastError, IsEnabled: s.IsEnabled,
		FailedAt: s.LastFailedAt.UTC().Format(dateTimeLayout),
	}
	if s.NextRunAt != nil {
		failure.NextRunAt = new(s.NextRunAt.UTC().Format(dateTimeLayout))
	}
	return failure
}

// FailedTests returns the tests with a failed run, each once even if several of its rows failed, in the order of the
// tallies.
func FailedTests(tallies []TestTally) []EventTest {
	failed := []EventTest{}
	for i := range tallies {
		if tallies[i].Failed > 0 {
			failed = append(failed, EventTest{tallies[i].TestedID, tallies[i].TestName})
		}
	}
	return Unique(failed)
}

// Warned returns the message about a subscription with a Warning.
func (s *CompanySubscription) Warned() BudgetWarned {
	return BudgetWarned{
		Period: MonthName(s.PeriodStart), CreditsUsed: s.CreditsUsed, Budget: *s.Budget,
		IsExhausted: s.Status() == CompanySubscriptionStatusExhausted, Message: s.Warning(),
	}
}

// Indexed returns the message about a document that is Ready or Failed.
func (d *Document) Indexed() DocumentIndexed {
	return DocumentIndexed{DocumentID: d.ID, DatasetID: d.DatasetID, Name: d.Name, ChunkCount: d.ChunkCount,
		Error: d.Error}
}

// Occasion identifies a message that is sent once: by month, budget, and whether the budget is used up.
func (w BudgetWarned) Occasion() string {
	return fmt.Sprintf("budget %s %s %t", w.Period, w.Budget, w.IsExhausted)
}
