package model

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// Bounds of an execution.
const (
	// MaxRepeats bounds how often an execution runs each test, or each row of a test.
	MaxRepeats = 20
	// MaxRuns bounds the runs of an execution: every repetition of each test and each row. It therefore bounds the
	// tests as well.
	MaxRuns = 4_000
	// MaxRecentRuns bounds the runs of a company's executions that are unfinished or were started within the last hour.
	MaxRecentRuns = 100_000
	// MaxRunsValues bounds the values in the rows of an execution's runs and the conversations that the runs continue, in
	// bytes.
	MaxRunsValues = 20_000_000
	// MaxTestsBytes bounds the size of an execution's tests, in bytes. All of them are in memory when the execution
	// starts.
	MaxTestsBytes  = 20_000_000
	maxConcurrency = 50
)

// AgentTestExecution is a set of runs that were created together for a list of tests.
type AgentTestExecution struct {
	bun.BaseModel `bun:"table:agent_test_executions,alias:agent_test_execution"`
	Owned

	ID string `bun:",pk"`
	// AgentID is nil when the tests belong to several agents, or to a deleted one.
	AgentID     *string
	Repeats     int32
	Concurrency int32
	VirtualTime bool
	// Votes is how often the judge evaluates each criterion.
	Votes     int32
	State     AgentTestExecutionStatus `bun:"status"`
	RetryOfID *string
	// ScheduleID is the schedule that started the execution. The schedule may be deleted by now. ScheduledFor is the time
	// for which it was scheduled.
	ScheduleID   *string
	ScheduledFor *time.Time
	// BlameSearchID is the search in which the execution is a step. The search may be deleted by now.
	BlameSearchID *string
	// RejudgeOfID is the execution whose conversations JudgeModel judges again. Nil if the execution has its own
	// conversations.
	RejudgeOfID *string
	JudgeModel  *string
	// APIKeyID is the key that started the execution, or nil if the key was not recorded.
	APIKeyID *string
	// StopRepeating is nil if each test runs exactly Repeats times.
	StopRepeating *StopRepeating `bun:"type:json"`
	// IsDraft is set if the execution tries DraftPrompt instead of the agent's prompt, or the variants in Tried.
	IsDraft     bool `bun:",nullzero"`
	DraftPrompt *string
	Tried       []TestVariant `bun:"variants,type:jsonb,nullzero"`
	// LeftOutTests are deleted tests and rows. If they still existed, the execution would have repeated or judged them
	// again.
	LeftOutTests []LeftOutTest `bun:"type:jsonb,nullzero"`
	// RunCount is the number of runs at creation, or nil if that was not recorded.
	RunCount *int32
	// Unfinished is the number of runs that are not final.
	Unfinished int32
	// NextPosition is the position of the run to enqueue when another run ends, so that at most Concurrency runs are
	// active.
	NextPosition int32
	// Version grows with every change of the execution or of one of its runs.
	Version    int32
	CreatedAt  time.Time
	StartedAt  *time.Time
	FinishedAt *time.Time
}

// LeftOutTest is a deleted test, or a row that a test no longer has, as its earlier runs describe it.
type LeftOutTest struct {
	TestID   string `json:"testId"`
	TestName string `json:"testName"`
	// RowName is the name or the number of the row. Nil if the whole test was deleted.
	RowName *string `json:"rowName,omitempty"`
}

// LeaveOut records that the test of a run was deleted, so that the run is not repeated.
func (e *AgentTestExecution) LeaveOut(run *AgentTestRun) {
	if gone := (LeftOutTest{TestID: run.TestedID, TestName: run.TestName}); !slices.Contains(e.LeftOutTests, gone) {
		e.LeftOutTests = append(e.LeftOutTests, gone)
	}
}

// IsOfRecord reports whether the execution's runs count in the history of the tests. They count unless the execution
// uses a draft prompt, variants or earlier conversations.
func (e *AgentTestExecution) IsOfRecord() bool { return !e.IsDraft && e.RejudgeOfID == nil }

// Cursor returns the position of this object in a list of executions.
func (e *AgentTestExecution) Cursor() Cursor { return Cursor{e.CreatedAt, e.ID} }

// IsFinished reports whether all runs of the execution are final. A cancelled execution is finished only after its
// running runs have ended.
func (e *AgentTestExecution) IsFinished() bool { return e.FinishedAt != nil }

// Status returns the state. A cancelled execution is Cancelling until all of its runs have ended.
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

// execution trims the labels of variants, and records the faults of the input.
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
	switch {
	case given == 0:
		f.Add("testIds", "must be given unless folderId or agentId is: give exactly one of them")
	case given > 1 && in.TestIds != nil:
		f.Add("testIds", "cannot be combined with folderId or agentId: give exactly one of them")
	case given > 1:
		f.Add("folderId", "cannot be combined with agentId: give exactly one of them")
	}
	f.count("repeats", &in.Repeats, 1, MaxRepeats)
	f.count("concurrency", &in.Concurrency, 1, maxConcurrency)
	f.votes(in.Votes)
	f.stopRepeating(in.StopRepeating)
	f.draft("prompt", in.Prompt)
	f.visible("prompt", in.Prompt)
	for i, v := range in.Variants {
		v.Label = strings.TrimSpace(v.Label)
		f.visible(fmt.Sprintf("variants.%d.prompt", i), v.Prompt)
	}
	f.variants("variants", in.Variants, in.Prompt)
}

// NewExecution returns the execution that the input describes. It is not stored yet.
func (in StartAgentTestExecutionInput) NewExecution() *AgentTestExecution {
	execution := &AgentTestExecution{
		Repeats: in.Repeats, Concurrency: in.Concurrency, VirtualTime: in.VirtualTime, Votes: votes(in.Votes),
		StopRepeating: in.StopRepeating,
		IsDraft:       in.Prompt != nil || in.Variants != nil, DraftPrompt: in.Prompt,
	}
	if in.Variants != nil {
		execution.Tried = Values(in.Variants)
	}
	return execution
}

// votes returns the number of votes of the judge, by default 1.
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

// AgentTestRunCounts is the number of runs in each state.
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

// TestTally counts the runs of one test, or of one of its rows, in an execution by their state. Each variant has its
// own tally.
type TestTally struct {
	// TestedID and TestName are the id and name at the time of the run. TestID is nil when the test was deleted.
	TestedID string
	TestID   *string
	TestName string
	// RowKey is the key of the row, empty without rows. Variant is nil without variants.
	RowKey  string
	Variant *string
	AgentTestRunCounts
}

// AgentTestExecutionTest is a test in an execution, or one row of a test.
type AgentTestExecutionTest struct {
	Owned

	// TestID and TestName are the id and name at the time of the run. ExistingID is nil when the test was deleted.
	TestID     string
	ExistingID *string
	TestName   string
	// RowKey, RowName and RowNumber are those at the time of the run. Without rows, RowKey is empty and the others are
	// nil.
	RowKey    string
	RowNumber *int32
	RowName   *string
	// FolderID is the test's current folder.
	FolderID *string
	// Runs are the runs of the test or the row, by attempt.
	Runs []*AgentTestRun
}

// Counts returns the number of the test's runs in each state.
func (t *AgentTestExecutionTest) Counts() *AgentTestRunCounts { return countsOf(t.Runs) }

func countsOf(runs []*AgentTestRun) *AgentTestRunCounts {
	counts := &AgentTestRunCounts{Total: int32(len(runs))}
	for _, run := range runs {
		counts.Add(run.Status)
	}
	return counts
}

// Add counts a run in a state. The total does not change.
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

// PassHatK returns the chance that k runs of a test all pass, for each k up to the most judged runs of a test. It also
// returns how many tests have at least k judged runs. For one test the chance is C(passed, k) / C(judged, k), which is
// unbiased. For several tests it is the mean of their chances, as long as all of them have k judged runs. For a larger
// k, it is the chance at k-1 times the factor by which the mean of the remaining tests decreases. So the chance never
// grows when a test with few runs drops out. Each value is rounded once.
func PassHatK(tallies []TestTally) (chances []float64, tests []int32) {
	chances, tests = []float64{}, []int32{}
	all := big.NewRat(1, 1)
	for k := int32(1); ; k++ {
		judged := int32(0)
		now, before := new(big.Rat), new(big.Rat)
		for i := range tallies {
			if tallies[i].Judged() >= k {
				judged++
				now.Add(now, tallies[i].allPass(k))
				before.Add(before, tallies[i].allPass(k-1))
			}
		}
		if judged == 0 {
			return chances, tests
		}
		if before.Sign() > 0 {
			now.Quo(now, before)
		}
		chance, _ := all.Mul(all, now).Float64()
		chances, tests = append(chances, chance), append(tests, judged)
	}
}

// allPass returns the probability that k of the judged runs, drawn without replacement, all passed.
func (c *AgentTestRunCounts) allPass(k int32) *big.Rat {
	passed, judged := new(big.Int), new(big.Int)
	return new(big.Rat).SetFrac(passed.Binomial(int64(c.Passed), int64(k)), judged.Binomial(int64(c.Judged()), int64(k)))
}

// Verdict returns the overall result of runs that have all ended.
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

// Judged returns how many runs passed or failed.
func (c *AgentTestRunCounts) Judged() int32 { return c.Passed + c.Failed }

// IsFlaky reports whether some runs passed and others failed. It is meaningful for runs of one test.
func (c *AgentTestRunCounts) IsFlaky() bool { return c.Passed > 0 && c.Failed > 0 }

// PassRate returns the share of the judged runs that passed, or nil when none was judged.
func (c *AgentTestRunCounts) PassRate() *float64 { return ratio(c.Passed, c.Judged()) }

// PassRateInterval returns the 95 % confidence interval of the pass rate, or nil when no run was judged.
func (c *AgentTestRunCounts) PassRateInterval() *RateInterval { return wilson(c.Passed, c.Judged()) }

// FlakyTestIds returns the ids of the tests with both passed and failed runs, in the order of the tallies.
func FlakyTestIds(tallies []TestTally) []string {
	ids := []string{}
	for i := range tallies {
		if tallies[i].IsFlaky() {
			ids = append(ids, tallies[i].TestedID)
		}
	}
	return Unique(ids)
}

// sample identifies the runs of one sample: a test and, if it has rows, the row.
type sample struct{ testID, rowKey string }

func (t *AgentTestExecutionTest) sample() sample { return sample{t.TestID, t.RowKey} }
