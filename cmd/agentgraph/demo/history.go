package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// history is the invented past of the agents and their tests.
type history struct {
	// DaysAgo is the age of each prompt in days, oldest first, by the key of the agent.
	DaysAgo    map[string][]float64 `json:"promptsDaysAgo"`
	Executions []pastExecution      `json:"executions"`
}

// pastExecution is a finished execution.
type pastExecution struct {
	Key   string `json:"key"`
	Agent string `json:"agent"`
	// PromptVersion is the version of the agent's prompt at that time.
	PromptVersion int32   `json:"promptVersion"`
	DaysAgo       float64 `json:"daysAgo"`
	// Tests are keys of tests. A retry lists the tests whose runs did not pass.
	Tests   []string `json:"tests"`
	Repeats int32    `json:"repeats"`
	RetryOf string   `json:"retryOf"`
	// CancelledAfter is how many runs had ended when it was cancelled, or 0 if it was not cancelled.
	CancelledAfter int `json:"cancelledAfter"`
	// Unmocked are tools that the tests did not mock yet at that time.
	Unmocked []string `json:"unmocked"`
}

// plannedRun is a run of a past execution.
type plannedRun struct {
	test    string
	attempt int32
}

func (e pastExecution) plan() []plannedRun {
	var runs []plannedRun
	for attempt := int32(1); attempt <= e.Repeats; attempt++ {
		for _, test := range e.Tests {
			runs = append(runs, plannedRun{test, attempt})
		}
	}
	return runs
}

// recording has the results of past runs, by the keys of the execution and the test, in the order of the attempts. A
// test of this package records them with the real engine.
type recording map[string]map[string][]recordedRun

// recordedRun is the result of one or more consecutive runs.
type recordedRun struct {
	// Times is how many consecutive attempts had this result.
	Times      int                      `json:"times"`
	Status     model.AgentTestRunStatus `json:"status"`
	DurationMs int32                    `json:"durationMs"`
	Messages   []model.TestMessage      `json:"messages"`
	ToolCalls  []recordedCall           `json:"toolCalls"`
	TurnCount  int32                    `json:"turnCount"`
	EndReason  *string                  `json:"endReason"`
	// CriteriaResults refer to calls by their index in ToolCalls, from 0, instead of an id.
	CriteriaResults      []model.CriterionResult     `json:"criteriaResults"`
	ClassificationResult *model.ClassificationResult `json:"classificationResult"`
	Error                *model.RunError             `json:"error"`
}

// recordedCall is a call without the values that differ between databases.
type recordedCall struct {
	Kind            model.ToolCallKind `json:"kind"`
	TechnicalName   string             `json:"technicalName"`
	Arguments       model.JSONObject   `json:"arguments"`
	Result          *string            `json:"result"`
	Error           *string            `json:"error"`
	Mocked          bool               `json:"mocked"`
	MockRule        *int32             `json:"mockRule"`
	MessageSequence int32              `json:"messageSequence"`
	DurationMs      int32              `json:"durationMs"`
}

// readRecording returns the recording of a folder, or an empty one if there is none.
func readRecording(folder string) (recording, error) {
	text, err := files.ReadFile(folder + "/history.json")
	if errors.Is(err, fs.ErrNotExist) {
		return recording{}, nil
	}
	if err != nil {
		return nil, err
	}
	var r recording
	return r, json.Unmarshal(text, &r)
}

// result returns the result of an attempt at a test, or nil if it was never started.
func (r recording) result(execution string, run plannedRun) *recordedRun {
	left := int(run.attempt)
	for i, t := range r[execution][run.test] {
		if left -= t.Times; left <= 0 {
			return &r[execution][run.test][i]
		}
	}
	return nil
}

func (s seeding) agentTests(ctx context.Context, c company, r recording) error {
	now := time.Now().UTC().Truncate(time.Second)
	ago := func(days float64) time.Time {
		return now.Add(-time.Duration(days * float64(24*time.Hour))).Truncate(time.Second)
	}
	first := ago(1)
	for key, days := range c.History.DaysAgo {
		var written []time.Time
		for _, day := range days {
			written = append(written, ago(day))
		}
		if err := s.tenant.DateAgent(ctx, s.agents[key], written); err != nil {
			return err
		}
		if written[0].Before(first) {
			first = written[0]
		}
	}
	// The tests were created a day after the first agents.
	rows, err := s.collectTestRows(c.AgentTests, first.Add(24*time.Hour))
	if err != nil {
		return err
	}
	past := recordingConverter{seeding: s, rows: rows, recording: r, executions: map[string]*model.AgentTestExecution{}}
	if past.agents, err = s.agentsByKey(ctx); err != nil {
		return err
	}
	prompts := map[string][]string{}
	for _, a := range c.Agents {
		prompts[a.Key] = a.prompts()
	}
	h := db.AgentTestHistory{Folders: rows.folders, Tests: rows.tests}
	for _, e := range c.History.Executions {
		agent := *past.agents[e.Agent]
		agent.PromptVersion, agent.Prompt = e.PromptVersion, prompts[e.Agent][e.PromptVersion-1]
		execution, runs, err := past.execution(e, &agent, ago(e.DaysAgo))
		if err != nil {
			return fmt.Errorf("execution %s: %w", e.Key, err)
		}
		h.Executions, h.Runs = append(h.Executions, execution), append(h.Runs, runs...)
	}
	return s.tenant.ImportAgentTests(ctx, h)
}

func (s seeding) agentsByKey(ctx context.Context) (map[string]*model.Agent, error) {
	rows, err := s.tenant.AgentsByID(ctx, slices.Collect(maps.Values(s.agents)))
	byKey := map[string]*model.Agent{}
	for key, id := range s.agents {
		for _, row := range rows {
			if row.ID == id {
				byKey[key] = row
			}
		}
	}
	return byKey, err
}

// recordingConverter converts the recording to rows.
type recordingConverter struct {
	seeding
	rows      testRows
	recording recording
	agents    map[string]*model.Agent
	// executions are the converted executions, by key.
	executions map[string]*model.AgentTestExecution
}

// pastConcurrency is how many runs of a past execution were in progress at the same time.
const pastConcurrency = 5

// execution returns the rows of an execution that started at the time at. agent has the prompt that it had then.
func (p recordingConverter) execution(e pastExecution, agent *model.Agent,
	at time.Time) (*model.AgentTestExecution, []*model.AgentTestRun, error) {
	planned := e.plan()
	execution := &model.AgentTestExecution{
		ID: model.NewID("execution"), AgentID: &agent.ID, Repeats: e.Repeats, Concurrency: pastConcurrency, VirtualTime: true,
		Votes: 1,
		State: model.AgentTestExecutionStatusCompleted, Version: 1, CreatedAt: at, StartedAt: &at,
	}
	if e.RetryOf != "" {
		execution.RetryOfID = &p.executions[e.RetryOf].ID
	}
	free := [pastConcurrency]time.Time{at, at, at, at, at}
	runs := make([]*model.AgentTestRun, len(planned))
	for i, plan := range planned {
		test, known := p.rows.byKey[plan.test]
		if !known {
			return nil, nil, fmt.Errorf("there is no test %s", plan.test)
		}
		run := &model.AgentTestRun{
			ID: model.NewID("run"), ExecutionID: execution.ID, TestID: &test.ID, TestedID: test.ID, TestName: test.Name,
			Position: int32(i), Attempt: plan.attempt, Status: model.AgentTestRunStatusCancelled,
			PromptVersion: agent.PromptVersion,
			Snapshot:      model.RunSnapshot{Test: p.unmocked(test, e.Unmocked), Agent: agent, VirtualTime: true},
			Messages:      []model.TestMessage{}, ToolCalls: []*model.ToolCall{}, CheckResults: []model.CheckResult{},
			CriteriaResults: []model.CriterionResult{},
			CreatedAt:       at,
		}
		runs[i] = run
		if len(e.Unmocked) > 0 {
			test.UpdatedAt = at.Add(24 * time.Hour)
		}
		if e.CancelledAfter > 0 && i >= e.CancelledAfter {
			continue
		}
		lane := slices.Index(free[:], slices.MinFunc(free[:], time.Time.Compare))
		if err := p.setResult(run, p.recording.result(e.Key, plan), free[lane]); err != nil {
			return nil, nil, fmt.Errorf("run %d of test %s: %w", plan.attempt, plan.test, err)
		}
		free[lane] = *run.FinishedAt
		execution.Version += 2
		run.Version = execution.Version
	}
	end := slices.MaxFunc(free[:], time.Time.Compare)
	execution.FinishedAt = &end
	execution.NextPosition = int32(min(pastConcurrency, len(runs)) + len(runs))
	if e.CancelledAfter > 0 {
		execution.State, execution.NextPosition = model.AgentTestExecutionStatusCancelled,
			int32(pastConcurrency+e.CancelledAfter)
		execution.Version++
		for _, run := range runs[e.CancelledAfter:] {
			run.FinishedAt, run.Version = &end, execution.Version
		}
	}
	p.executions[e.Key] = execution
	return execution, runs, nil
}

// unmocked returns the test in its earlier state, without mocks for the tools.
func (p recordingConverter) unmocked(test *model.AgentTestRow, tools []string) *model.AgentTestRow {
	if len(tools) == 0 {
		return test
	}
	was, mocking := *test, *test.ToolMocking
	was.UpdatedAt = was.CreatedAt
	mocking.MockedTools = slices.DeleteFunc(slices.Clone(mocking.MockedTools), func(m model.MockedTool) bool {
		return slices.ContainsFunc(tools, func(key string) bool { return p.tools[key] == m.ToolID })
	})
	mocking.MockAllTools, mocking.SideEffects = false, model.SideEffectsAllow
	was.ToolMocking = &mocking
	return &was
}

// setResult sets the result of a run that started at the time at.
func (p recordingConverter) setResult(run *model.AgentTestRun, t *recordedRun, at time.Time) error {
	if t == nil {
		return fmt.Errorf("it is not recorded")
	}
	end := at.Add(time.Duration(t.DurationMs) * time.Millisecond)
	run.Status, run.Claim, run.StartedAt, run.FinishedAt, run.DurationMs = t.Status, 1, &at, &end, &t.DurationMs
	run.TurnCount, run.EndReason, run.Error = t.TurnCount, t.EndReason, t.Error
	run.ClassificationResult = t.ClassificationResult
	step := end.Sub(at) / time.Duration(len(t.Messages)+1)
	when := func(message int) time.Time { return at.Add(time.Duration(message+1) * step).Truncate(time.Millisecond) }
	given := len(t.Messages)
	if run.Snapshot.Test.Kind != model.AgentTestKindClassification {
		given = len(run.Snapshot.Test.ConversationMessages)
	}
	for i, m := range t.Messages {
		if i >= given {
			written := when(i)
			m.Timestamp = &written
		}
		run.Messages = append(run.Messages, m)
	}
	for i, c := range t.ToolCalls {
		call := &model.ToolCall{
			ID: model.NewID("call"), Position: int32(i), Kind: c.Kind, TechnicalName: c.TechnicalName, Arguments: c.Arguments,
			Result: c.Result, Error: c.Error, Mocked: c.Mocked, MockRule: c.MockRule, MessageSequence: c.MessageSequence,
			StartedAt: when(int(c.MessageSequence)), DurationMs: c.DurationMs, IsTurnKept: true,
		}
		switch c.Kind {
		case model.ToolCallKindTool:
			call.TargetID = idOf(p.tools, c.TechnicalName)
		case model.ToolCallKindRetrieval:
			call.TargetID = run.Snapshot.Agent.KnowledgeBaseChatID
		case model.ToolCallKindSubAgent:
			call.TargetID = idOf(p.subAgents, p.keyOf(run.Snapshot.Agent.ID)+"."+c.TechnicalName)
		}
		run.ToolCalls = append(run.ToolCalls, call)
	}
	var err error
	run.CriteriaResults, err = citing(t.CriteriaResults, func(place string) (string, error) {
		i, err := strconv.Atoi(place)
		if err == nil && (i < 0 || i >= len(run.ToolCalls)) {
			err = fmt.Errorf("it has no call %d", i)
		}
		if err != nil {
			return "", err
		}
		return run.ToolCalls[i].ID, nil
	})
	return err
}

// citing returns the results with the ids of cited calls replaced by name.
func citing(results []model.CriterionResult, name func(call string) (string, error)) ([]model.CriterionResult, error) {
	named := slices.Clone(results)
	for i := range named {
		named[i].Evidence = slices.Clone(named[i].Evidence)
		for j, cited := range named[i].Evidence {
			if cited.ToolCallID == nil {
				continue
			}
			call, err := name(*cited.ToolCallID)
			if err != nil {
				return nil, err
			}
			named[i].Evidence[j].ToolCallID = &call
		}
	}
	return named, nil
}

func (p recordingConverter) keyOf(agentID string) string {
	for key, id := range p.seeding.agents {
		if id == agentID {
			return key
		}
	}
	return ""
}

func idOf(known ids, key string) *string {
	if id, ok := known[key]; ok {
		return &id
	}
	return nil
}
