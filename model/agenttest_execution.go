package model

import (
	"math/big"
	"time"

	"github.com/uptrace/bun"
)

// Bounds of an execution.
const (
	MaxTests       = 200
	maxRepeats     = 20
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

// LeftOutTest is a test that was deleted, as the runs that it had know it.
type LeftOutTest struct {
	TestID   string `json:"testId"`
	TestName string `json:"testName"`
}

// IsNode marks a Node.
func (*AgentTestExecution) IsNode() {}

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

// Validate returns BAD_INPUT with every bound that the input breaks.
func (in StartAgentTestExecutionInput) Validate() error {
	var faults Fields
	given := 0
	if in.TestIds != nil {
		given++
		if len(in.TestIds) == 0 {
			faults.Add("testIds", "must have at least one test")
		}
		faults.list("testIds", len(in.TestIds), MaxTests)
	}
	if in.FolderID != nil {
		given++
	}
	if in.AgentID != nil {
		given++
	}
	if given != 1 {
		faults.Add("testIds", "must be given, or else folderId or agentId: exactly one of them")
	}
	faults.count("repeats", &in.Repeats, 1, maxRepeats)
	faults.count("concurrency", &in.Concurrency, 1, maxConcurrency)
	if votes := in.votes(); votes != 1 && votes != 3 && votes != 5 {
		faults.Add("votes", "must be 1, 3 or 5, not %d", votes)
	}
	faults.draft("prompt", in.Prompt)
	return faults.Err()
}

// NewExecution returns the execution that the input describes, before it is created.
func (in StartAgentTestExecutionInput) NewExecution() *AgentTestExecution {
	return &AgentTestExecution{
		Repeats: in.Repeats, Concurrency: in.Concurrency, VirtualTime: in.VirtualTime, Votes: in.votes(),
		IsDraft: in.Prompt != nil, DraftPrompt: in.Prompt,
	}
}

func (in StartAgentTestExecutionInput) votes() int32 {
	if in.Votes == nil {
		return 1
	}
	return *in.Votes
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
}

// TestTally is how many runs of one test in one execution are in each state.
type TestTally struct {
	// TestedID and TestName are those that the test had; TestID is nil when it was deleted.
	TestedID string
	TestID   *string
	TestName string
	AgentTestRunCounts
}

// AgentTestExecutionTest is a test in an execution.
type AgentTestExecutionTest struct {
	Owned

	// TestID and TestName are those that the test had; ExistingID is nil when it was deleted.
	TestID     string
	ExistingID *string
	TestName   string
	// FolderID is that of the test now.
	FolderID *string
	// Runs are its runs, by attempt.
	Runs []*AgentTestRun
}

// Counts are how many of its runs are in each state.
func (t *AgentTestExecutionTest) Counts() *AgentTestRunCounts {
	counts := &AgentTestRunCounts{Total: int32(len(t.Runs))}
	for _, run := range t.Runs {
		switch run.Status {
		case AgentTestRunStatusQueued:
			counts.Queued++
		case AgentTestRunStatusRunning:
			counts.Running++
		case AgentTestRunStatusPassed:
			counts.Passed++
		case AgentTestRunStatusFailed:
			counts.Failed++
		case AgentTestRunStatusError:
			counts.Error++
		case AgentTestRunStatusCancelled:
			counts.Cancelled++
		}
	}
	return counts
}

// PassHatK returns, for each k up to the most judged runs of a test, the chance that k runs of a test all pass, and how
// many tests have so many judged runs. For one test it is C(passed, k) / C(judged, k), which is unbiased. For several it
// is their mean as long as all of them have k judged runs; beyond that it falls from k-1 by as much as the mean of those
// that have, so it never grows because a test drops out. Each is rounded once.
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
	case c.Passed > 0 && c.Passed == c.Total:
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

// FlakyTestIds are the ids of the tests whose runs both passed and failed, in the order of the tallies.
func FlakyTestIds(tallies []TestTally) []string {
	ids := []string{}
	for i := range tallies {
		if tallies[i].IsFlaky() {
			ids = append(ids, tallies[i].TestedID)
		}
	}
	return ids
}
