package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
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
