package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// judgeProvider serves a judge that takes one key and the temperature 0 or 1, and counts how often it is asked.
func judgeProvider(t *testing.T, asked *atomic.Int64) string {
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
		// At 0 it is stricter than later.
		verdict, _ := json.Marshal(fmt.Sprintf(`{"evidence":[],"rationale":"So it is.","passed":%t}`, asked.Add(1) > 1))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"delta\":{\"content\":%s},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", verdict)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAJudgeOfItsOwnIsAskedForVotes(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	b := newBench(t, "--judge-model", "strict", "--judge-base-url", judgeProvider(t, &asked), "--judge-api-key", "strict-key")
	test := b.simulation(t, "Judged", holds, undecided)

	ran := b.test(t, "run", "--test", test, "--votes", "3")
	require.Zero(t, ran.code, "%s%s", ran.out, ran.log)
	require.EqualValues(t, 3, asked.Load(), "the program decides the other criterion")
	var read struct {
		AgentTest struct {
			LastRun struct {
				ID              string
				Execution       struct{ Votes int }
				CriteriaResults []struct {
					DecidedBy string
					Agreement *float64
				}
			}
		}
	}
	b.must(t, `query ($id: ID!) { agentTest(id: $id) { lastRun { id execution { votes } criteriaResults { decidedBy agreement } } } }`,
		map[string]any{"id": test}, &read)
	run := read.AgentTest.LastRun
	require.Equal(t, 3, run.Execution.Votes)
	require.Equal(t, []string{"Program", "Model"}, []string{run.CriteriaResults[0].DecidedBy, run.CriteriaResults[1].DecidedBy})
	require.Nil(t, run.CriteriaResults[0].Agreement)
	require.InDelta(t, 2.0/3, *run.CriteriaResults[1].Agreement, 1e-9)
	require.Contains(t, b.test(t, "show", run.ID).out, "✓ "+undecided+" (67 % of votes)")

	ran = b.test(t, "run", "--test", test, "--votes", "2")
	require.Equal(t, 2, ran.code)
	require.Contains(t, ran.log, "--votes must be 1, 3 or 5")
	ran = b.test(t, "run", "--test", test)
	require.Zero(t, ran.code, "%s%s", ran.out, ran.log)
	require.EqualValues(t, 4, asked.Load())
}

func TestAJudgeNeedsAProvider(t *testing.T) {
	t.Parallel()
	for args, says := range map[string]string{
		"--judge-model strict":   "the model of the judge, strict, has no provider",
		"--contact-model chatty": "the model of the contact, chatty, has no provider",
		"--judge-api-key k":      "--judge-base-url and --judge-api-key need a --judge-model",
	} {
		o := ran(t, append([]string{"serve", "--database-url", "postgres://127.0.0.1:1/none", "--listen", "127.0.0.1:0"}, strings.Fields(args)...)...)
		require.NotZero(t, o.code)
		require.Contains(t, o.log, says)
	}
}
