package demo

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

var record = flag.Bool("record", false, "record the past executions again")

// historyFixture is the demo company without its history, with workers and a timetable server for its tools.
type historyFixture struct {
	seeding
	// timetable is the address of a server that lists trial classes. It returns one class for most calls and none for
	// some.
	timetable string
}

func newHistoryFixture(t *testing.T) *historyFixture {
	t.Helper()
	store := dbtest.New(t)
	company, err := store.CreateCompany(t.Context(), "Merrowby Group")
	require.NoError(t, err)
	content := mustRead(t, "merrowby")
	content.History = history{}
	s := newSeeding(store.Tenant(company.ID))
	require.NoError(t, s.all(t.Context(), content, recording{}))
	startWorkers(t, store)
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer := `[{"trialId":"T7","class":"Back care","when":"Wednesday 18:30","trainer":"Noor"}]`
		if slices.Contains([]int32{4, 5, 9}, calls.Add(1)) {
			answer = `[]`
		}
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	return &historyFixture{s, server.URL}
}

// play repeats an execution of the history and returns the results of its runs.
func (s *historyFixture) play(t *testing.T, c company, e pastExecution) map[string][]recordedRun {
	t.Helper()
	agents := slices.IndexFunc(c.Agents, func(a agent) bool { return a.Key == e.Agent })
	_, err := s.tenant.UpdateAgentPrompt(t.Context(), model.UpdateAgentPromptInput{
		AgentID: s.agents[e.Agent], Prompt: c.Agents[agents].prompts()[e.PromptVersion-1],
	})
	require.NoError(t, err)
	byName := s.testsByName(t)
	keys := map[string]string{}
	in := model.StartAgentTestExecutionInput{Repeats: e.Repeats, Concurrency: 1}
	for _, key := range e.Tests {
		test := byName[nameOf(t, c, key)]
		keys[test.ID] = key
		in.TestIds = append(in.TestIds, test.ID)
		if len(e.Unmocked) > 0 && test.Kind == model.AgentTestKindSimulation {
			mocking := (recordingConverter{seeding: s.seeding}).unmocked(test, e.Unmocked).ToolMocking
			_, err := s.tenant.UpdateSimulationTest(t.Context(), model.UpdateSimulationTestInput{TestID: test.ID,
				ToolMocking: mocking})
			require.NoError(t, err)
		}
	}
	for _, key := range e.Unmocked {
		_, err := s.tenant.UpdateTool(t.Context(), model.UpdateToolInput{ToolID: s.tools[key],
			Endpoint: &model.ToolEndpointInput{
				Method: "GET", URL: s.timetable, TimeoutSeconds: 4,
			}})
		require.NoError(t, err)
	}
	takes := map[string][]recordedRun{}
	for i, run := range runTests(t, s.tenant, in) {
		if e.CancelledAfter > 0 && i >= e.CancelledAfter {
			break
		}
		key, next := keys[run.TestedID], takeOf(t, run)
		last := len(takes[key]) - 1
		if last >= 0 && sameTake(takes[key][last], next) == "" {
			takes[key][last].Times++
			continue
		}
		takes[key] = append(takes[key], next)
	}
	return takes
}

func (s *historyFixture) testsByName(t *testing.T) map[string]*model.AgentTestRow {
	t.Helper()
	page, err := s.tenant.AgentTests(t.Context(), wholeList, nil, model.AgentTestFilter{})
	require.NoError(t, err)
	byName := map[string]*model.AgentTestRow{}
	for _, test := range page.Nodes {
		byName[test.Row().Name] = test.Row()
	}
	return byName
}

func nameOf(t *testing.T, c company, key string) string {
	t.Helper()
	for _, group := range c.AgentTests {
		for _, s := range group.Simulations {
			if s.Key == key {
				return s.Name
			}
		}
		for _, s := range group.Classifications {
			if s.Key == key {
				return s.Name
			}
		}
	}
	require.FailNow(t, "there is no test "+key)
	return ""
}

// takeOf returns the recorded parts of a run.
func takeOf(t *testing.T, run *model.AgentTestRun) recordedRun {
	t.Helper()
	results, err := citing(run.CriteriaResults, func(id string) (string, error) {
		place := slices.IndexFunc(run.ToolCalls, func(c *model.ToolCall) bool { return c.ID == id })
		require.GreaterOrEqual(t, place, 0, "a quote of a call that was not made")
		return strconv.Itoa(place), nil
	})
	require.NoError(t, err)
	recorded := recordedRun{
		Times: 1, Status: run.Status, DurationMs: *run.DurationMs, ToolCalls: []recordedCall{}, TurnCount: run.TurnCount,
		EndReason:       run.EndReason,
		CriteriaResults: results, ClassificationResult: run.ClassificationResult, Error: run.Error,
	}
	for _, m := range run.Messages {
		m.Timestamp = nil
		recorded.Messages = append(recorded.Messages, m)
	}
	for _, c := range run.ToolCalls {
		recorded.ToolCalls = append(recorded.ToolCalls, recordedCall{
			Kind: c.Kind, TechnicalName: c.TechnicalName, Arguments: c.Arguments, Result: c.Result, Error: c.Error,
			Mocked:   c.Mocked,
			MockRule: c.MockRule, MessageSequence: c.MessageSequence, DurationMs: c.DurationMs,
		})
	}
	return recorded
}

// sameTake describes how two recorded runs differ. It ignores durations, usage and Times.
func sameTake(a, b recordedRun) string {
	return cmp.Diff(a, b, cmpopts.IgnoreFields(recordedRun{}, "Times", "DurationMs"),
		cmpopts.IgnoreFields(model.TestMessage{}, "Usage"), cmpopts.IgnoreFields(recordedCall{}, "DurationMs"),
		cmpopts.EquateEmpty())
}

// separator returns the text to write ahead of element n. For the first element, 0, it returns before unchanged. For
// other elements, it returns a comma, a line break, and before without its leading brace and line breaks.
func separator(n int, before string) string {
	if n == 0 {
		return before
	}
	return ",\n" + strings.TrimLeft(before, "{\n")
}

// lines returns the recording as JSON with one line for each recordedRun.
func lines(t *testing.T, r recording) []byte {
	t.Helper()
	var text bytes.Buffer
	for i, execution := range slices.Sorted(maps.Keys(r)) {
		fmt.Fprintf(&text, "%s%q: {", separator(i, "{\n"), execution)
		for j, test := range slices.Sorted(maps.Keys(r[execution])) {
			fmt.Fprintf(&text, "%s%q: [", separator(j, "\n  "), test)
			for k, take := range r[execution][test] {
				line, err := json.Marshal(take)
				require.NoError(t, err)
				fmt.Fprintf(&text, "%s%s", separator(k, "\n    "), line)
			}
			text.WriteString("]")
		}
		text.WriteString("}")
	}
	text.WriteString("}\n")
	return text.Bytes()
}

// The demo history must equal the program's real behavior, so this test repeats each execution. With -record it
// rewrites the history.
func TestDemoHistoryEqualsRealRuns(t *testing.T) {
	t.Parallel()
	content := mustRead(t, "merrowby")
	fixture, again := newHistoryFixture(t), recording{}
	for _, e := range content.History.Executions {
		again[e.Key] = fixture.play(t, content, e)
	}
	if *record {
		require.NoError(t, os.WriteFile("merrowby/history.json", lines(t, again), 0o644))
		return
	}
	recorded, err := readRecording("merrowby")
	require.NoError(t, err)
	for _, e := range content.History.Executions {
		for _, plan := range e.plan() {
			was, is := recorded.result(e.Key, plan), again.result(e.Key, plan)
			require.Equal(t, was == nil, is == nil, "%s %v", e.Key, plan)
			if is != nil {
				require.Empty(t, sameTake(*was, *is), "%s %v", e.Key, plan)
			}
		}
	}
}

func TestHistoryQuotesNameTheirCalls(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	seeded, err := Seed(t.Context(), store)
	require.NoError(t, err)
	page, err := store.Tenant(seeded.ID).AgentTestRuns(t.Context(), wholeList, model.AgentTestRunFilter{})
	require.NoError(t, err)
	named := 0
	for _, run := range page.Nodes {
		for _, result := range run.CriteriaResults {
			for _, cited := range result.Evidence {
				if cited.ToolCallID == nil {
					continue
				}
				named++
				at := slices.IndexFunc(run.ToolCalls, func(c *model.ToolCall) bool { return c.ID == *cited.ToolCallID })
				require.GreaterOrEqual(t, at, 0)
				require.Contains(t, cited.Quote, run.ToolCalls[at].TechnicalName)
			}
		}
	}
	require.NotZero(t, named)
}
