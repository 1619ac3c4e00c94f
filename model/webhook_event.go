package model

import "fmt"

// Data of webhook messages. Receivers rely on the names. It contains no text of a conversation, and no data of
// contacts.
type (
	// ExecutionEnded is the end of an execution of agent tests.
	ExecutionEnded struct {
		ExecutionID string                   `json:"executionId"`
		AgentID     *string                  `json:"agentId"`
		AgentName   *string                  `json:"agentName"`
		Status      AgentTestExecutionStatus `json:"status"`
		Verdict     AgentTestVerdict         `json:"verdict"`
		IsDraft     bool                     `json:"isDraft"`
		// RejudgeOfID is the execution whose conversations were judged again; nil if it held its own.
		RejudgeOfID *string     `json:"rejudgeOfId"`
		Counts      EndedCounts `json:"counts"`
		PassRate    *float64    `json:"passRate"`
		FailedTests []EventTest `json:"failedTests"`
		// Schedule is nil when somebody started it, and Comparison without a baseline.
		Schedule   *EndedSchedule   `json:"schedule"`
		Comparison *EndedComparison `json:"comparison"`
		CreatedAt  string           `json:"createdAt"`
		FinishedAt string           `json:"finishedAt"`
	}
	// ScheduleFailed is a schedule that could not start its tests.
	ScheduleFailed struct {
		ScheduleID string  `json:"scheduleId"`
		Name       string  `json:"name"`
		AgentID    *string `json:"agentId"`
		Error      string  `json:"error"`
		// IsEnabled is false when it starts nothing any more, because its tests were deleted.
		IsEnabled bool   `json:"isEnabled"`
		FailedAt  string `json:"failedAt"`
		// NextRunAt is nil when it has no next time.
		NextRunAt *string `json:"nextRunAt"`
	}
	// EndedSchedule is the schedule that started an execution.
	EndedSchedule struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	// EndedComparison is how an execution stands beside its schedule's baseline.
	EndedComparison struct {
		BaselineID   string              `json:"baselineId"`
		Conclusion   AgentTestConclusion `json:"conclusion"`
		NewlyFailing int32               `json:"newlyFailing"`
		NewlyPassing int32               `json:"newlyPassing"`
	}
	// EndedCounts is how many runs ended how.
	EndedCounts struct {
		Total     int32 `json:"total"`
		Passed    int32 `json:"passed"`
		Failed    int32 `json:"failed"`
		Error     int32 `json:"error"`
		Cancelled int32 `json:"cancelled"`
		Skipped   int32 `json:"skipped"`
	}
	// TestsStartedFailing are tests that have failed in an execution, and had passed before.
	TestsStartedFailing struct {
		ExecutionID string      `json:"executionId"`
		AgentID     *string     `json:"agentId"`
		AgentName   *string     `json:"agentName"`
		Tests       []EventTest `json:"tests"`
	}
	// EventTest is a test.
	EventTest struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	// BudgetWarned is a budget that is nearly used up, or altogether.
	BudgetWarned struct {
		Period      string  `json:"period"`
		CreditsUsed Credits `json:"creditsUsed"`
		Budget      Credits `json:"budget"`
		IsExhausted bool    `json:"isExhausted"`
		Message     string  `json:"message"`
	}
	// DocumentIndexed is a document of which the indexing has ended, well or with the error.
	DocumentIndexed struct {
		DocumentID string  `json:"documentId"`
		DatasetID  string  `json:"datasetId"`
		Name       string  `json:"name"`
		ChunkCount int32   `json:"chunkCount"`
		Error      *string `json:"error"`
	}
)

// mostFailedTests bounds the failed tests that the end of an execution names.
const mostFailedTests = 20

// Ended returns the message about a finished execution. tallies are those of all its tests. agentName is nil without
// an agent.
func (e *AgentTestExecution) Ended(agentName *string, tallies []TestTally) ExecutionEnded {
	counts, failed := AgentTestRunCounts{}, FailedTests(tallies)
	for i := range tallies {
		counts.add(&tallies[i].AgentTestRunCounts)
	}
	return ExecutionEnded{
		ExecutionID: e.ID, AgentID: e.AgentID, AgentName: agentName, Status: e.Status(), Verdict: counts.Verdict(),
		IsDraft: e.IsDraft, RejudgeOfID: e.RejudgeOfID,
		Counts:   EndedCounts{counts.Total, counts.Passed, counts.Failed, counts.Error, counts.Cancelled, counts.Skipped},
		PassRate: counts.PassRate(), FailedTests: failed[:min(len(failed), mostFailedTests)],
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

// FailedTests are the tests of which a run failed, each once whatever rows it has, in the order of the tallies.
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
