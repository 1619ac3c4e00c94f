package agenttest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/model"
)

// executionShown is an execution as the server sends it, and as reports repeat it.
type executionShown struct {
	ID       string         `json:"id"`
	Agent    *namedRef      `json:"agent"`
	Status   string         `json:"status"`
	IsDraft  bool           `json:"isDraft"`
	Verdict  *string        `json:"verdict"`
	Repeats  int            `json:"repeats"`
	Counts   countsShown    `json:"counts"`
	PassRate *float64       `json:"passRate"`
	Interval *intervalShown `json:"passRateInterval"`
	// Corrected and Variants are read only once the execution has ended. Corrected is nil if there are too few labels.
	Corrected     *correctedShown `json:"correctedPassRate,omitempty"`
	Variants      []variantShown  `json:"variants,omitempty"`
	PassHatK      []float64       `json:"passHatK"`
	PassHatKTests []int           `json:"passHatKTests"`
	RetryOfID     *string         `json:"retryOfId"`
	RejudgeOfID   *string         `json:"rejudgeOfId,omitempty"`
	JudgeModel    *string         `json:"judgeModel,omitempty"`
	Agreement     *agreed         `json:"agreement,omitempty"`
	LeftOutTests  []leftOut       `json:"leftOutTests,omitempty"`
	Usage         *usageShown     `json:"usage,omitempty"`
	CreatedAt     time.Time       `json:"createdAt"`
	StartedAt     *time.Time      `json:"startedAt"`
	FinishedAt    *time.Time      `json:"finishedAt"`
}

// countsShown counts runs by state.
type countsShown struct {
	Total     int `json:"total"`
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Passed    int `json:"passed"`
	Failed    int `json:"failed"`
	Error     int `json:"error"`
	Cancelled int `json:"cancelled"`
	Skipped   int `json:"skipped"`
	// Interval is the confidence interval of the pass rate. It is nil if the query does not select it.
	Interval *intervalShown `json:"passRateInterval,omitempty"`
}

// intervalShown is the confidence interval of a rate, at 95 %.
type intervalShown struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// String returns text to append to a rate.
func (i *intervalShown) String() string {
	if i == nil {
		return ""
	}
	return fmt.Sprintf(" [%.0f–%.0f %%]", 100*i.Low, 100*i.High)
}

// agreed counts how often two judgments of the same conversations gave the same verdict.
type agreed struct {
	Runs         int `json:"runs"`
	SameRuns     int `json:"sameRuns"`
	Criteria     int `json:"criteria"`
	SameCriteria int `json:"sameCriteria"`
}

func (c countsShown) endedRuns() int { return c.Passed + c.Failed + c.Error + c.Cancelled + c.Skipped }

func (c countsShown) String() string {
	text := fmt.Sprintf("%d passed, %d failed, %d error, %d cancelled", c.Passed, c.Failed, c.Error, c.Cancelled)
	if c.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped", c.Skipped)
	}
	return text
}

// counter returns a pointer to the counter of a status, or nil if the status is unknown.
func (c *countsShown) counter(status string) *int {
	return map[string]*int{
		"Queued": &c.Queued, "Running": &c.Running, "Passed": &c.Passed,
		"Failed": &c.Failed, "Error": &c.Error, "Cancelled": &c.Cancelled, "Skipped": &c.Skipped,
	}[status]
}

// runShown is a run as the server sends it, and as reports repeat it.
type runShown struct {
	ID                   string               `json:"id"`
	Test                 *listedTest          `json:"test"`
	TestName             string               `json:"testName"`
	RowNumber            *int                 `json:"rowNumber,omitempty"`
	RowName              *string              `json:"rowName,omitempty"`
	RowValues            json.RawMessage      `json:"rowValues,omitempty"`
	Attempt              int                  `json:"attempt"`
	Variant              *string              `json:"variant,omitempty"`
	Status               string               `json:"status"`
	PromptVersion        int                  `json:"promptVersion"`
	IsDraft              bool                 `json:"isDraft"`
	TurnCount            int                  `json:"turnCount"`
	EndReason            *string              `json:"endReason"`
	CheckResults         []checkShown         `json:"checkResults"`
	Score                *float64             `json:"score"`
	CriteriaResults      []criterionShown     `json:"criteriaResults"`
	ClassificationResult *classificationShown `json:"classificationResult"`
	Error                *runErrorShown       `json:"error"`
	DurationMs           *int                 `json:"durationMs"`
	Usage                *usageShown          `json:"usage,omitempty"`
	StartedAt            *time.Time           `json:"startedAt"`
	FinishedAt           *time.Time           `json:"finishedAt"`
	Extracted            json.RawMessage      `json:"extracted,omitempty"`
	Messages             []messageShown       `json:"messages,omitempty"`
	ToolCalls            []callShown          `json:"toolCalls,omitempty"`
}

type classificationShown struct {
	TagExpected string  `json:"tagExpected"`
	TagProduced *string `json:"tagProduced"`
	Passed      bool    `json:"passed"`
	Rationale   string  `json:"rationale"`
}

type runErrorShown struct {
	Cause   string `json:"cause"`
	Message string `json:"message"`
}

type messageShown struct {
	Role string `json:"role"`
	Text string `json:"text"`
}

type callShown struct {
	TechnicalName   string          `json:"technicalName"`
	Arguments       json.RawMessage `json:"arguments"`
	Result          *string         `json:"result"`
	Error           *string         `json:"error"`
	Mocked          bool            `json:"mocked"`
	MessageSequence int             `json:"messageSequence"`
}

func (r runShown) isEnded() bool { return r.Status != "Queued" && r.Status != "Running" }

const executionFields = `fragment execution on AgentTestExecution {
	id agent { id name } status isDraft verdict repeats counts { total queued running passed failed error cancelled skipped
		}
	passRate passRateInterval { low high } passHatK passHatKTests retryOfId rejudgeOfId judgeModel
	agreement { runs sameRuns criteria sameCriteria } leftOutTests { testName rowName } createdAt startedAt finishedAt
}
`

const runFields = `fragment run on AgentTestRun {
	id test { id kind name agent { id name } folder { id name } } testName rowNumber rowName rowValues attempt variant
		status promptVersion isDraft turnCount endReason
	checkResults { check { description weight } expected passed observed evidence { messageIndex quote kind } } score
	criteriaResults { criterion expected weight passed applies agreement rationale evidence { messageIndex quote kind } }
	classificationResult { tagExpected tagProduced passed rationale }
	error { cause message } durationMs startedAt finishedAt
}
`

const transcriptFields = `fragment transcript on AgentTestRun {
	extracted messages { role text } toolCalls { technicalName arguments result error mocked messageSequence }
}
`

const executionDocument = executionFields + `query ($id: ID!) { agentTestExecution(id: $id) { ...execution ` + usageFields + ` } }`

const runsDocument = runFields + transcriptFields + `query ($id: ID!, $after: String, $transcripts: Boolean!) {
	page: agentTestRuns(executionId: $id, first: 50, after: $after) {
		nodes { ...run ` + usageFields + ` ...transcript @include(if: $transcripts) } pageInfo { hasNextPage endCursor }
	}
}`

const runUpdatedDocument = runFields + `subscription ($id: ID!) { agentTestRunUpdated(executionId: $id) { ...run } }`

const cancelDocument = `mutation ($id: ID!) { cancelAgentTestExecution(input: {executionId: $id}) { execution { id } }
	}`

const firstWait, lastWait = 50 * time.Millisecond, 2 * time.Second

// follower follows an execution until its end. Events arrive early, but some may be missed. So the follower queries the
// execution again whenever the event stream ends.
type follower struct {
	server    *client.Client
	execution executionShown
	// runs are the known runs, by id.
	runs map[string]runShown
	// transcripts makes the follower read finished runs with their transcripts.
	transcripts bool
	// onChange receives each run that is new or has changed its status, with the counts at that moment.
	onChange func(runShown, countsShown)
}

// follow returns nil once the execution is finished and all of its runs are known.
func (f *follower) follow(ctx context.Context) error {
	for wait := firstWait; ; wait = min(2*wait, lastWait) {
		// It does not matter why the stream ended, because the execution is queried next. Without events, this loop polls.
		_ = f.server.Subscribe(ctx, client.Request{Query: runUpdatedDocument,
			Variables: client.Variables{"id": f.execution.ID}}, func(data json.RawMessage) error {
			var event struct{ AgentTestRunUpdated runShown }
			err := json.Unmarshal(data, &event)
			if wait = firstWait; err == nil {
				f.update(event.AgentTestRunUpdated)
			}
			return err
		})
		err := f.readExecution(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && f.execution.FinishedAt != nil:
			return nil
		case err != nil && client.IsTemporary(err):
			return fmt.Errorf("%w; execution %s continues on the server", err, f.execution.ID)
		case err != nil:
			return err
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// cancel cancels the execution, unless it has finished, and waits until the runs in progress end.
func (f *follower) cancel(ctx context.Context) error {
	cancelling, stop := context.WithTimeoutCause(ctx, cancelTimeout, errCancelTimeout)
	defer stop()
	err := f.server.Query(cancelling, cancelDocument, client.Variables{"id": f.execution.ID}, &struct{}{})
	switch {
	case errors.Is(context.Cause(ctx), errInterruptedAgain):
		return client.Exit(client.ExitCancelled, fmt.Errorf("%w: execution %s may continue on the server",
			errInterruptedAgain, f.execution.ID))
	case err != nil && client.CodeOf(err) != model.Conflict:
		return fmt.Errorf("execution %s could not be cancelled, and continues on the server: %w", f.execution.ID, err)
	}
	if err := f.follow(ctx); err != nil {
		return client.Exit(client.ExitCancelled, fmt.Errorf("execution %s was cancelled, but its final state could not be "+
			"read: %w", f.execution.ID, cmp.Or(context.Cause(ctx), err)))
	}
	return nil
}

// readExecution queries the execution. If it is finished, or if the follower has missed the end of a run, readExecution
// queries its runs too.
func (f *follower) readExecution(ctx context.Context) error {
	var now struct{ AgentTestExecution *executionShown }
	if err := f.server.Query(ctx, executionDocument, client.Variables{"id": f.execution.ID}, &now); err != nil {
		return err
	}
	if now.AgentTestExecution == nil {
		return client.NotFound(fmt.Sprintf("execution %s no longer exists", f.execution.ID))
	}
	finished := now.AgentTestExecution.FinishedAt != nil
	if finished || f.counts().endedRuns() != now.AgentTestExecution.Counts.endedRuns() {
		runs, err := readRuns(ctx, f.server, f.execution.ID, finished && f.transcripts)
		if err != nil {
			return err
		}
		for _, run := range runs {
			f.update(run)
		}
	}
	f.execution = *now.AgentTestExecution
	return nil
}

func (f *follower) update(run runShown) {
	before, known := f.runs[run.ID]
	if known && before.isEnded() && !run.isEnded() {
		return
	}
	f.runs[run.ID] = run
	if before.Status != run.Status {
		f.onChange(run, f.counts())
	}
}

// counts counts the known runs by status, and counts all others as queued.
func (f *follower) counts() countsShown {
	counts := countsShown{Total: f.execution.Counts.Total, Queued: f.execution.Counts.Total - len(f.runs)}
	for _, run := range f.runs {
		if counter := counts.counter(run.Status); counter != nil {
			*counter++
		}
	}
	return counts
}

// readRuns reads all runs of an execution, in the order of their creation.
func readRuns(ctx context.Context, server *client.Client, id string, transcripts bool) ([]runShown, error) {
	with := client.Variables{"id": id, "transcripts": transcripts}
	runs, err := client.ReadAll[runShown](ctx, server, runsDocument, with, 0)
	slices.Reverse(runs)
	return runs, err
}

// pause waits, and returns an error if ctx ends first.
func pause(ctx context.Context, wait time.Duration) error {
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// results returns the known runs, in the order of their creation.
func (f *follower) results() []runShown {
	return slices.SortedFunc(maps.Values(f.runs), func(a, b runShown) int { return strings.Compare(a.ID, b.ID) })
}
