package model

import (
	"math/big"
	"slices"
	"time"

	"github.com/uptrace/bun"
)

// Bounds of an execution.
const (
	maxRepeats = 20
	// MaxRuns bounds the runs of an execution: each test and each row, as often as it is repeated. So it bounds its tests,
	// too.
	MaxRuns = 4_000
	// MaxRunsValues bounds the values of the rows of its runs, in bytes.
	MaxRunsValues = 20_000_000
	// MaxTestsBytes bounds what its tests hold, in bytes: they are in memory together when it starts.
	MaxTestsBytes  = 20_000_000
	maxConcurrency = 50
)

// AgentTestExecution is the runs that were created together for a list of tests.
type AgentTestExecution struct {
	bun.BaseModel `bun:"table:agent_test_executions,alias:agent_test_execution"`
	Owned

	ID string `bun:",pk"`
	// AgentID is nil when the tests are of several agents, or of one that was deleted.
	AgentID     *string
	Repeats     int32
	Concurrency int32
	VirtualTime bool
	// Votes is how often the judge is asked about a criterion.
	Votes     int32
	State     AgentTestExecutionStatus `bun:"status"`
	RetryOfID *string
	// ScheduleID is the schedule that started it, which may have been deleted, and ScheduledFor the time that it did so
	// for.
	ScheduleID   *string
	ScheduledFor *time.Time
	// RejudgeOfID is the execution whose conversations are judged again, by JudgeModel; nil if it holds its own.
	RejudgeOfID *string
	JudgeModel  *string
	// APIKeyID started it; nil when that was not recorded.
	APIKeyID *string
	// StopRepeating is nil if each test is run as often as Repeats says.
	StopRepeating *StopRepeating `bun:"type:json"`
	// DraftPrompt is tried in place of the agent's prompt, if IsDraft.
	IsDraft     bool `bun:",nullzero"`
	DraftPrompt *string
	// LeftOutTests are those that a retry would repeat, had they not been deleted.
	LeftOutTests []LeftOutTest `bun:"type:jsonb,nullzero"`
	// RunCount is how many runs it was created with; nil when that was not recorded.
	RunCount *int32
	// Unfinished is how many of its runs are not final.
	Unfinished int32
	// NextPosition is that of the run which is handed to the queue when another one ends, so that no
	// more than Concurrency of them are there at once.
	NextPosition int32
	// Version grows with every change of the execution or of a run of it.
	Version    int32
	CreatedAt  time.Time
	StartedAt  *time.Time
	FinishedAt *time.Time
}

// LeftOutTest is a test that was deleted, or a row that a test no longer has, as the runs that it had know it.
type LeftOutTest struct {
	TestID   string `json:"testId"`
	TestName string `json:"testName"`
	// RowName is the name or the number of the row; nil if the whole test is gone.
	RowName *string `json:"rowName,omitempty"`
}

// LeaveOut notes that the test of a run was deleted, so that the run is not repeated.
func (e *AgentTestExecution) LeaveOut(run *AgentTestRun) {
	if gone := (LeftOutTest{TestID: run.TestedID, TestName: run.TestName}); !slices.Contains(e.LeftOutTests, gone) {
		e.LeftOutTests = append(e.LeftOutTests, gone)
	}
}

// IsOfRecord reports whether its runs say something of the tests as they are: neither of a prompt that is only tried
// nor of conversations that were held before.
func (e *AgentTestExecution) IsOfRecord() bool { return !e.IsDraft && e.RejudgeOfID == nil }

// Cursor is its place in a list of executions.
func (e *AgentTestExecution) Cursor() Cursor { return Cursor{e.CreatedAt, e.ID} }

// IsFinished reports whether no run of it will change any more. One that was cancelled is not before
// the runs that were under way have ended.
func (e *AgentTestExecution) IsFinished() bool { return e.FinishedAt != nil }

// Status is its state. One that was cancelled is being cancelled until all of its runs have ended.
func (e *AgentTestExecution) Status() AgentTestExecutionStatus {
	if e.State == AgentTestExecutionStatusCancelled && !e.IsFinished() {
		return AgentTestExecutionStatusCancelling
	}
	return e.State
}

// Validate returns BAD_INPUT when the filter has more states or verdicts than there are. A nil filter is valid.
func (f *AgentTestExecutionFilter) Validate() error {
	var faults Fields
	if f != nil {
		faults.list("filter.statuses", len(f.Statuses), len(AllAgentTestExecutionStatus))
		faults.list("filter.verdicts", len(f.Verdicts), len(AllAgentTestVerdict))
	}
	return faults.Err()
}

// Validate returns BAD_INPUT with every bound that the input breaks.
func (in StartAgentTestExecutionInput) Validate() error {
	var faults Fields
	faults.execution(in)
	return faults.Err()
}

// execution records the faults of what is to be run.
func (f *Fields) execution(in StartAgentTestExecutionInput) {
	given := 0
	if in.TestIds != nil {
		given++
		if len(in.TestIds) == 0 {
			f.Add("testIds", "must have at least one test")
		}
		f.list("testIds", len(in.TestIds), MaxRuns)
	}
	if in.FolderID != nil {
		given++
	}
	if in.AgentID != nil {
		given++
	}
	if given != 1 {
		f.Add("testIds", "must be given, or else folderId or agentId: exactly one of them")
	}
	f.count("repeats", &in.Repeats, 1, maxRepeats)
	f.count("concurrency", &in.Concurrency, 1, maxConcurrency)
	f.votes(in.Votes)
	f.stopRepeating(in.StopRepeating)
	f.draft("prompt", in.Prompt)
}

// NewExecution returns the execution that the input describes, before it is created.
func (in StartAgentTestExecutionInput) NewExecution() *AgentTestExecution {
	return &AgentTestExecution{
		Repeats: in.Repeats, Concurrency: in.Concurrency, VirtualTime: in.VirtualTime, Votes: votes(in.Votes),
		StopRepeating: in.StopRepeating,
		IsDraft:       in.Prompt != nil, DraftPrompt: in.Prompt,
	}
}

// votes is how often the judge is asked, once unless it is said.
func votes(given *int32) int32 {
	if given == nil {
		return 1
	}
	return *given
}

func (f *Fields) votes(given *int32) {
	if n := votes(given); n != 1 && n != 3 && n != 5 {
		f.Add("votes", "must be 1, 3 or 5, not %d", n)
	}
}

// AgentTestRunCounts is how many runs are in each state.
type AgentTestRunCounts struct {
	Total     int32
	Queued    int32
	Running   int32
	Passed    int32
	Failed    int32
	Error     int32
	Cancelled int32
	Skipped   int32
}

// TestTally is how many runs of one test in one execution are in each state; of a test with rows, of one of these.
type TestTally struct {
	// TestedID and TestName are those that the test had; TestID is nil when it was deleted.
	TestedID string
	TestID   *string
	TestName string
	// RowKey is that of the row, empty without rows.
	RowKey string
	AgentTestRunCounts
}

// AgentTestExecutionTest is a test in an execution, or a row of one.
type AgentTestExecutionTest struct {
	Owned

	// TestID and TestName are those that the test had; ExistingID is nil when it was deleted.
	TestID     string
	ExistingID *string
	TestName   string
	// The row, as it was; RowKey is empty and the others are nil without rows.
	RowKey    string
	RowNumber *int32
	RowName   *string
	// FolderID is that of the test now.
	FolderID *string
	// Runs are its runs, by attempt.
	Runs []*AgentTestRun
}

// Counts are how many of its runs are in each state.
func (t *AgentTestExecutionTest) Counts() *AgentTestRunCounts {
	counts := &AgentTestRunCounts{Total: int32(len(t.Runs))}
	for _, run := range t.Runs {
		counts.Add(run.Status)
	}
	return counts
}

// Add counts a run in a state; the total stays.
func (c *AgentTestRunCounts) Add(status AgentTestRunStatus) {
	switch status {
	case AgentTestRunStatusQueued:
		c.Queued++
	case AgentTestRunStatusRunning:
		c.Running++
	case AgentTestRunStatusPassed:
		c.Passed++
	case AgentTestRunStatusFailed:
		c.Failed++
	case AgentTestRunStatusError:
		c.Error++
	case AgentTestRunStatusCancelled:
		c.Cancelled++
	case AgentTestRunStatusSkipped:
		c.Skipped++
	}
}

// PassHatK returns, for each k up to the most judged runs of a test, the chance that k runs of a test all pass, and how
// many tests have so many judged runs. For one test it is C(passed, k) / C(judged, k), which is unbiased. For several
// it is their mean as long as all of them have k judged runs; beyond that it falls from k-1 by as much as the mean of
// those that have, so it never grows because a test drops out. Each is rounded once.
func PassHatK(tallies []TestTally) (chances []float64, tests []int32) {
	chances, tests = []float64{}, []int32{}
	all := big.NewRat(1, 1)
	for k := int32(1); ; k++ {
		of := int32(0)
		now, before := new(big.Rat), new(big.Rat)
		for i := range tallies {
			if tallies[i].Judged() >= k {
				of++
				now.Add(now, tallies[i].allPass(k))
				before.Add(before, tallies[i].allPass(k-1))
			}
		}
		if of == 0 {
			return chances, tests
		}
		if before.Sign() > 0 {
			now.Quo(now, before)
		}
		chance, _ := all.Mul(all, now).Float64()
		chances, tests = append(chances, chance), append(tests, of)
	}
}

// allPass is the chance that k of the judged runs, drawn without putting back, all passed.
func (c *AgentTestRunCounts) allPass(k int32) *big.Rat {
	passed, judged := new(big.Int), new(big.Int)
	return new(big.Rat).SetFrac(passed.Binomial(int64(c.Passed), int64(k)), judged.Binomial(int64(c.Judged()), int64(k)))
}

// Verdict says what runs that have all ended came to.
func (c *AgentTestRunCounts) Verdict() AgentTestVerdict {
	switch {
	case c.Failed > 0:
		return AgentTestVerdictFailed
	case c.Error > 0:
		return AgentTestVerdictError
	case c.Passed > 0 && c.Passed+c.Skipped == c.Total:
		return AgentTestVerdictPassed
	}
	return AgentTestVerdictInconclusive
}

// Judged is how many runs passed or failed.
func (c *AgentTestRunCounts) Judged() int32 { return c.Passed + c.Failed }

// IsFlaky reports whether runs both passed and failed, which says something where they are of one test.
func (c *AgentTestRunCounts) IsFlaky() bool { return c.Passed > 0 && c.Failed > 0 }

// PassRate is the share of the judged runs that passed; nil when none was judged.
func (c *AgentTestRunCounts) PassRate() *float64 {
	judged := c.Judged()
	if judged == 0 {
		return nil
	}
	rate := float64(c.Passed) / float64(judged)
	return &rate
}

// PassRateInterval is where the pass rate may truly be, at 95 %; nil when no run was judged.
func (c *AgentTestRunCounts) PassRateInterval() *RateInterval { return wilson(c.Passed, c.Judged()) }

// FlakyTestIds are the ids of the tests whose runs both passed and failed, those of all their tallies on their own, in
// the order of the tallies.
func FlakyTestIds(tallies []TestTally) []string {
	ids := []string{}
	for i := range tallies {
		if tallies[i].IsFlaky() {
			ids = append(ids, tallies[i].TestedID)
		}
	}
	return Unique(ids)
}

// sample is what runs must have in common to be of one sample: a test and, if it has rows, the row.
type sample struct{ testID, rowKey string }

func (t *AgentTestExecutionTest) sample() sample { return sample{t.TestID, t.RowKey} }
