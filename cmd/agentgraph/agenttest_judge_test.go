package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// judgeProvider serves a judge model that accepts one key and the temperatures 0 and 1. It counts requests, and fails
// the first run.
func judgeProvider(t *testing.T, asked *atomic.Int64) string {
	t.Helper()
	return judgeWho(t, func() bool { return asked.Add(1) > 1 })
}

// judgeWho serves a judge model with the verdicts of a function.
func judgeWho(t *testing.T, passes func() bool) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Model       string
			Temperature *float64
		}
		if r.Header.Get("Authorization") != "Bearer strict-key" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if json.NewDecoder(r.Body).Decode(&request) != nil || request.Model != "strict" || request.Temperature == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		// The judge is stricter at temperature 0.
		verdict, _ := json.Marshal(fmt.Sprintf(`{"evidence":[],"rationale":"So it is.","passed":%t}`, passes()))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%s},\"finish_reason\":\"stop\"}]}\n\ndata: "+
			"[DONE]\n\n", verdict)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestSeparateJudgeVotes(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	b := newBench(t, "--judge-model", "strict", "--judge-base-url", judgeProvider(t, &asked), "--judge-api-key",
		"strict-key")
	test := b.simulation(t, "Judged", holds, undecided)

	ran := b.test(t, "run", "--test", test, "--votes", "3")
	require.Zero(t, ran.code, "%s%s", ran.out, ran.log)
	require.EqualValues(t, 3, asked.Load(), "the program decides the other criterion")
	var read struct {
		AgentTest struct {
			LastRun struct {
				ID        string
				Execution struct {
					ID    string
					Votes int
				}
				CriteriaResults []struct {
					DecidedBy string
					Agreement *float64
				}
			}
		}
	}
	b.must(t, `query ($id: ID!) { agentTest(id: $id) { lastRun { id execution { votes } criteriaResults { decidedBy
		agreement } } } }`,
		map[string]any{"id": test}, &read)
	run := read.AgentTest.LastRun
	require.Equal(t, 3, run.Execution.Votes)
	require.Equal(t, []string{"Program", "Model"}, []string{run.CriteriaResults[0].DecidedBy,
		run.CriteriaResults[1].DecidedBy})
	require.Nil(t, run.CriteriaResults[0].Agreement)
	require.InDelta(t, 2.0/3, *run.CriteriaResults[1].Agreement, 1e-9)
	require.Contains(t, b.test(t, "show", run.ID).out, "✓ "+undecided+" (67 % of votes)")

	ran = b.test(t, "run", "--test", test, "--votes", "2")
	require.Equal(t, 2, ran.code)
	require.Contains(t, ran.log, "--votes must be 1, 3 or 5")
	ran = b.test(t, "run", "--test", test)
	require.Zero(t, ran.code, "%s%s", ran.out, ran.log)
	require.EqualValues(t, 4, asked.Load())

	b.must(t, `query ($id: ID!) { agentTest(id: $id) { lastRun { id execution { id votes } } } }`,
		map[string]any{"id": test}, &read)
	again := b.test(t, "rejudge", read.AgentTest.LastRun.Execution.ID)
	require.Zero(t, again.code, "%s%s", again.out, again.log)
	require.EqualValues(t, 5, asked.Load(), "the conversation is not repeated")
	require.Contains(t, again.out, "Judged by strict: same status in 1 of 1 run, same verdict in 2 of 2 criteria\n")
	rejudged := regexp.MustCompile(`execution_\w+`).FindString(again.out + again.log)
	compared := b.test(t, "compare", read.AgentTest.LastRun.Execution.ID, "--with", rejudged)
	require.Contains(t, compared.out, "Both judged the same conversations.", compared.log)
	b.must(t, `mutation ($test: ID!) { updateSimulationTest(input: {testId: $test,
		criteria: ["says \"never said\""]}) { agentTest { id } } }`, map[string]any{"test": test}, nil)
	again = b.test(t, "rejudge", read.AgentTest.LastRun.Execution.ID, "--criteria", "present")
	require.Equal(t, 1, again.code, "%s%s", again.out, again.log)
	require.Contains(t, b.test(t, "rejudge", read.AgentTest.LastRun.Execution.ID, "--model", "dear").log,
		"model must be one of strict")
	require.Equal(t, 2, b.test(t, "rejudge", "execution_none").code)
}

// If a judge always says yes but quotes no evidence, only criteria that forbid something can pass.
func TestJudgeEvalMeasuresTheJudge(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	asked.Store(1) // from this point on the judge says yes
	flags := []string{"--judge-model", "strict", "--judge-base-url", judgeProvider(t, &asked), "--judge-api-key",
		"strict-key"}
	o := ran(t, append([]string{"judge", "eval", "--json"}, flags...)...)
	require.Equal(t, 3, o.code, o.log)
	var measured struct {
		Model                                        string
		Right, FalsePasses, FalseFailures, Undecided int
		Accuracy, Kappa                              *float64
		Verdicts                                     []struct{ Passed, Holds *bool }
	}
	require.NoError(t, json.Unmarshal([]byte(o.out), &measured))
	require.Equal(t, "strict", measured.Model)
	require.Len(t, measured.Verdicts, 60)
	// The judge quotes nothing. Without a quote, a criterion on the agent's words is undecided.
	require.Positive(t, measured.Undecided)
	require.Equal(t, 60, measured.Right+measured.FalsePasses+measured.Undecided)
	require.Zero(t, measured.FalseFailures)
	require.Contains(t, o.log, fmt.Sprintf("the judge did not decide %d criteria", measured.Undecided))

	file := filepath.Join(t.TempDir(), "ours.yaml")
	require.NoError(t, os.WriteFile(file,
		[]byte(`[{name: Ours, messages: [{role: assistant, text: Hello}], criteria: [{criterion: is never rude, holds: true}]}]`),
		0o600))
	o = ran(t, append([]string{"judge", "eval", file}, flags...)...)
	require.Zero(t, o.code, o.log)
	require.Contains(t, o.out, "strict: 1 of 1 verdicts are right\nFalse passes: 0 of 0 that do not hold\nFalse "+
		"failures: 0 of 1 that hold\nWithout a verdict: 0\n")
	o = ran(t, append([]string{"judge", "eval", file, "--openai-api-key", "k"},
		append(flags[:4:4], "--judge-api-key", "wrong")...)...)
	require.Equal(t, 3, o.code, o.log)
	require.Contains(t, o.out, "! Ours: is never rude\n")

	require.NoError(t, os.WriteFile(file,
		[]byte(`[{name: Ours, messages: [{role: assistant, text: Hello}], criteria: [{criterion: greets}]}]`), 0o600))
	o = ran(t, append([]string{"judge", "eval", file}, flags...)...)
	require.Equal(t, 2, o.code)
	require.Contains(t, o.log, "conversation 0 (Ours): each criterion needs the keys criterion and holds")
	require.Equal(t, 2, ran(t, "judge", "eval").code, "no judge is configured")

	const talk = `{name: Ours, messages: [{role: user, text: Hi}, {role: assistant, text: Hello}], `
	for more, says := range map[string]string{
		`toolCalls: [{technicalName: book, messageSequence: 1}], criteria: [{criterion: greets, holds: true}]}`: "the " +
			"messageSequence of call 0 (book) must be the position of a message that the agent answers",
		`toolCalls: [{technicalName: book, messageSequence: 7}], criteria: [{criterion: greets, holds: true}]}`: "call 0 (book)",
		`criteria: [{criterion: greets, holds: true, weight: 2}]}`:                                              `unknown key "weight"`,
		`endsBy: agent, criteria: [{criterion: greets, holds: true}]}`:                                          `unknown key "endsBy"`,
	} {
		require.NoError(t, os.WriteFile(file, []byte("["+talk+more+"]"), 0o600))
		o = ran(t, append([]string{"judge", "eval", file}, flags...)...)
		require.Equal(t, 2, o.code, more)
		require.Contains(t, o.log, "conversation 0 (Ours): ")
		require.Contains(t, o.log, says)
	}
}

func TestJudgeNeedsAProvider(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"--judge-model strict":   "the model of the judge, strict, has no provider",
		"--contact-model chatty": "the model of the contact, chatty, has no provider",
		"--judge-api-key k":      "--judge-base-url and --judge-api-key need a --judge-model",
	} {
		o := ran(t, append([]string{"serve", "--database-url", "postgres://127.0.0.1:1/none", "--listen", "127.0.0.1:0"},
			strings.Fields(args)...)...)
		require.NotZero(t, o.code)
		require.Contains(t, o.log, says)
	}
}

func TestRejudgeNamesDeletedTests(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, deleted := b.simulation(t, "Stays", holds), b.simulation(t, "Goes", holds)
	file := filepath.Join(t.TempDir(), "report.json")
	require.Zero(t, b.test(t, "run", "--agent", b.agent, "--json", file).code)
	b.must(t, `mutation ($id: ID!) { deleteAgentTest(input: {testId: $id}) { deletedId } }`,
		map[string]any{"id": deleted}, nil)
	again := b.test(t, "rejudge", readReport(t, file).Execution.ID, "--criteria", "present")
	require.Zero(t, again.code, "%s%s", again.out, again.log)
	require.Contains(t, again.out, "1 run: 1 passed")
	require.Contains(t, again.out, "Left out, because they were deleted: 1 test or row (Goes)\n")
}
