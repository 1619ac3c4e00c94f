package main

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// bench is a server with an agent. A client runs the agent's tests.
type bench struct {
	*served
	database string
	agent    string
}

// newBench starts a server with the flags. Without flags for a model, the offline models answer.
func newBench(t *testing.T, flags ...string) *bench {
	t.Helper()
	address := dbtest.URL(t)
	_, key := newCompany(t, dbtest.Open(t, address, dbtest.Options()), "Bench")
	b := &bench{served: serve(t, address, key, flags...), database: address}
	var made struct {
		CreateAgent struct{ Agent struct{ ID string } }
	}
	b.must(t, `mutation { createAgent(input: {
		name: "Front <desk>", channel: Web, direction: Inbound, language: "en", prompt: "Opening hours: 9 to 5.",
			inboundWelcomeMessage: "Welcome."
		classificationTags: [
			{name: "Complaint", definition: "The parcel was lost or broken."}
			{name: "Praise", definition: "Somebody is happy."}
		]
	}) { agent { id } } }`, nil, &made)
	b.agent = made.CreateAgent.Agent.ID
	return b
}

// The offline judge can decide the first two criteria, but not the third.
const (
	holds     = `says "Welcome"`
	fails     = `says "]]> & <b>"`
	undecided = "is never rude"
)

// simulation creates a simulation test.
func (b *bench) simulation(t *testing.T, name string, criteria ...string) string {
	t.Helper()
	var made struct {
		CreateSimulationTest struct{ AgentTest struct{ ID string } }
	}
	b.must(t, `mutation ($input: CreateSimulationTestInput!) { createSimulationTest(input: $input) { agentTest { id } } }`,
		map[string]any{
			"input": map[string]any{"agentId": b.agent, "name": name, "scenario": `says: "Goodbye"`, "criteria": criteria},
		}, &made)
	return made.CreateSimulationTest.AgentTest.ID
}

// outcome is the result of a command.
type outcome struct {
	code     int
	out, log string
}

// test runs a subcommand of agentgraph test against the server.
func (b *bench) test(t *testing.T, args ...string) outcome {
	t.Helper()
	return testAgainst(t.Context(), b.url, b.key, args...)
}

func testAgainst(ctx context.Context, address, key string, args ...string) outcome {
	var out, log dbtest.Output
	code := run(ctx, append([]string{"test", args[0], "--url", address, "--api-key", key}, args[1:]...),
		streams{out: &out, log: &log})
	return outcome{code, out.String(), log.String()}
}

func TestRunExitCodesFollowVerdicts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	passing, failing, erring := b.simulation(t, "Passing", holds), b.simulation(t, "Failing", holds, fails),
		b.simulation(t, "Erring", undecided)
	for name, c := range map[string]struct {
		args []string
		code int
		out  []string
		log  string
	}{
		"passed": {[]string{"--test", passing, "--repeat", "2"}, 0, []string{
			"Passed     Passing [1]", "Passed     Passing [2]", "2 runs: 2 passed, 0 failed, 0 error, 0 cancelled",
			"Pass rate: 100 % of 2 judged", "Passed: all 2 runs passed",
		}, ""},
		"failed": {[]string{"--test", passing, "--test", failing}, 1, []string{
			"Failed     Failing [1]", "✗ " + fails, "Failed: 1 of 2 runs failed",
		}, "1 of 2 runs failed"},
		"error": {[]string{"--test", passing, "--test", erring}, 3,
			[]string{"Error      Erring [1]", "Judge: "}, "1 of 2 runs could not be judged"},
		"failed and error": {[]string{"--agent", b.agent}, 1, nil, "1 of 3 runs failed"},
		"enough passed": {[]string{"--test", passing + "," + failing, "--min-pass-rate", "0.5"}, 0,
			[]string{"Passed: the pass rate is 50 %"}, ""},
		"too few passed": {[]string{"--test", passing, "--test", failing, "--min-pass-rate", "0.51"}, 1, nil,
			"the pass rate is 50 %, below 51 %"},
		"enough passed, and error": {[]string{"--agent", b.agent, "--min-pass-rate", "0.5"}, 3, nil,
			"1 of 3 runs could not be judged"},
		"nothing judged": {[]string{"--test", erring, "--min-pass-rate", "0"}, 3, nil,
			"1 of 1 runs could not be judged"},
		"unknown test":   {[]string{"--test", "agenttest_x"}, 2, nil, `"agenttest_x" does not exist`},
		"unknown folder": {[]string{"--folder", "x"}, 2, nil, "does not exist"},
		"unknown baseline": {[]string{"--test", passing, "--baseline", "x"}, 2, nil,
			`--baseline: execution "x" does not exist`},
		"nothing to run": {nil, 2, nil, "use --agent, --folder or --test to name the tests"},
		"two things to run": {[]string{"--test", passing, "--folder", "x"}, 2, nil,
			"--folder and --test cannot be combined"},
		"too many repeats": {[]string{"--test", passing, "--repeat", "21"}, 2, nil, "--repeat must be 1 to 20"},
		"too many baselines": {[]string{"--test", passing, "--baseline", "1,2,3,4,5,6"}, 2, nil,
			"--baseline: at most 5 executions, not 6"},
		"early stops do not lower the weight of a test": {[]string{"--test", passing + "," + failing, "--repeat", "4",
			"--until-failed", "--concurrency", "1", "--min-pass-rate", "0.6"}, 1,
			[]string{"Mean pass rate of the tests: 50 %; of all 5 judged runs: 80 % [38–96 %]\n"},
			"the mean pass rate of the tests is 50 %, below 60 %"},
		"stops that a baseline cannot use": {[]string{"--test", passing, "--until-failed", "--baseline", "x"}, 2, nil,
			"--until-failed and --baseline cannot be combined"},
		"no rate": {[]string{"--test", passing, "--min-pass-rate", "NaN"}, 2, nil,
			"--min-pass-rate must be 0 to 1"},
		"empty baseline": {[]string{"--test", passing, "--baseline", ""}, 2, nil, "--baseline must not be empty"},
		"empty variant":  {[]string{"--test", passing, "--variant="}, 2, nil, "--variant must not be empty"},
		"empty rates": {[]string{"--test", passing, "--until-decided", ""}, 2, nil,
			"--until-decided must not be empty"},
		"empty folder":  {[]string{"--agent", b.agent, "--folder", ""}, 2, nil, "--folder must not be empty"},
		"empty agent":   {[]string{"--test", passing, "--agent", ""}, 2, nil, "--agent must not be empty"},
		"empty test":    {[]string{"--agent", b.agent, "--test", ""}, 2, nil, "--test must not be empty"},
		"empty report":  {[]string{"--agent", b.agent, "--junit", ""}, 2, nil, "--junit must not be empty"},
		"unknown flag":  {[]string{"--tset", "x"}, 2, nil, "unknown flag --tset"},
		"unknown agent": {[]string{"--agent", "nope"}, 2, nil, `agent "nope" does not exist`},
		"no timeout":    {[]string{"--test", passing, "--timeout=-1s"}, 2, nil, "--timeout must not be negative"},
		"ends before the timeout": {[]string{"--test", passing, "--timeout", "10m"}, 0,
			[]string{"Passed: the run passed"}, ""},
		"one file for two reports": {[]string{"--test", passing, "--junit", "/tmp/x.xml", "--json", "/tmp/./x.xml"}, 2, nil,
			"--junit and --json name the same file /tmp/./x.xml"},
		"no directory": {[]string{"--test", passing, "--junit", "/nowhere/at/all.xml"}, 2, nil,
			"--junit: the directory /nowhere/at does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := b.test(t, append([]string{"run"}, c.args...)...)
			require.Equal(t, c.code, ran.code, "%s%s", ran.out, ran.log)
			for _, line := range c.out {
				require.Contains(t, ran.out, line)
			}
			require.Contains(t, ran.log, c.log)
			if c.code != 0 {
				require.Equal(t, 1, strings.Count(ran.log, "agentgraph: "), ran.log)
			}
			require.NotContains(t, ran.out+ran.log, b.key)
		})
	}
}

func TestResultThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	test := b.simulation(t, "Passing", holds)
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { require.NoError(t, full.Close()) })
	var log dbtest.Output
	code := run(t.Context(), []string{"test", "run", "--url", b.url, "--api-key", b.key, "--test", test},
		streams{out: full, log: &log})
	require.Equal(t, 3, code, log.String())
	require.Contains(t, log.String(), "/dev/full: no space left on device")
}

func TestErrorsSayWhyTheServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, "--workers", "0")
	reader := newKey(t, dbtest.Open(t, b.database, dbtest.Options()).Tenant(b.companyID(t)), model.APIKeyScopeRead)
	elsewhere := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusMovedPermanently))
	t.Cleanup(elsewhere.Close)
	answering := func(status int, contentType, text string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	encrypted := httptest.NewTLSServer(http.NotFoundHandler())
	encrypted.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(encrypted.Close)
	for name, c := range map[string]struct {
		url, key string
		code     int
		says     string
	}{
		"nobody":    {"http://127.0.0.1:1", b.key, 3, "the server at http://127.0.0.1:1 cannot be reached: "},
		"wrong key": {b.url, "ag_wrong", 3, "API key"},
		"no scope":  {b.url, reader, 3, "simulate"},
		"redirect": {elsewhere.URL, b.key, 3, "the server answered 301 Moved Permanently instead of GraphQL: check its " +
			"address"},
		"busy": {answering(429, "text/html", "<p>"), b.key, 3,
			"the server answered 429 Too Many Requests: wait, then try again"},
		"restarting": {answering(502, "text/html", "<p>"), b.key, 3, "the server answered 502 Bad Gateway, perhaps from a " +
			"proxy before it: check that the server runs, then try again"},
		"a page": {answering(200, "text/html", "<p>"), b.key, 3,
			"the server answered 200 OK with text/html instead of GraphQL: check its address"},
		"no data": {answering(200, "application/json", `{"data":null}`), b.key, 3,
			"the server answered 200 OK with application/json instead of GraphQL: check its address"},
		"certificate": {encrypted.URL, b.key, 3, "x509: certificate signed by unknown authority: SSL_CERT_FILE can name a " +
			"file with the certificate of its authority"},
		"no TLS":   {strings.Replace(b.url, "http:", "https:", 1), b.key, 3, "server gave HTTP response to HTTPS client"},
		"no url":   {"example", b.key, 2, "--url must be an address"},
		"password": {"http://user:hunter2@127.0.0.1:1", b.key, 2, "--url must not contain a password"},
		"no key":   {b.url, " ", 2, "--api-key or AGENTGRAPH_API_KEY must hold a key"},
	} {
		ran := testAgainst(t.Context(), c.url, c.key, "run", "--agent", b.agent, "--reconnect", "0s")
		require.Equal(t, c.code, ran.code, "%s: %s", name, ran.log)
		require.Contains(t, ran.log, c.says, name)
		require.NotContains(t, ran.log, "hunter2", name)
		require.Equal(t, 1, strings.Count(ran.log, "\n"), name)
	}
}

func (b *bench) companyID(t *testing.T) string {
	t.Helper()
	var read struct{ Company struct{ ID string } }
	b.must(t, `{ company { id } }`, nil, &read)
	return read.Company.ID
}

func TestRunWritesReports(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	// The first row is named "row 2", which is also the default name of the second row. Another test is named like a run
	// of these rows.
	b.must(t, `mutation ($id: ID!) { updateSimulationTest(input: {testId: $id, rows: [{name: "row 2", values: {n: 1}},
		{values: {n: 2}}]}) {
		agentTest { id } } }`, map[string]any{"id": b.simulation(t, "Passing", holds)}, nil)
	namesake := b.simulation(t, "Passing (row 2)", holds)
	b.simulation(t, "Failing & \x0b<odd>", holds, fails)
	b.simulation(t, "Erring", undecided)
	b.must(t, `mutation ($id: ID!) { createClassificationTest(input: {
		agentId: $id, name: "Classified", tagExpected: "Praise", conversationContext: {messages: [{role: user,
			text: "My parcel is lost and broken."}]}
	}) { agentTest { id } } }`, map[string]any{"id": b.agent}, nil)
	dir := t.TempDir()
	junit, report := filepath.Join(dir, "junit.xml"), filepath.Join(dir, "report.json")
	require.NoError(t, os.WriteFile(junit, []byte("old"), 0o600))
	ran := b.test(t, "run", "--agent", b.agent, "--repeat", "2", "--junit", junit, "--json", report)
	require.Equal(t, 1, ran.code, ran.log)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "no temporary files remain")

	read := readJUnit(t, junit)
	require.Len(t, read.Suites, 1)
	suite := read.Suites[0]
	require.Equal(t, "Front <desk>", suite.Name)
	for _, totals := range []junitTotals{read.junitTotals, suite.junitTotals} {
		require.Equal(t, junitTotals{Tests: 12, Failures: 4, Errors: 2}, totals)
	}
	cases := map[string]junitCase{}
	for _, c := range suite.Cases {
		cases[c.Name] = c
	}
	require.Len(t, cases, 12, "names are unique")
	require.Contains(t, cases, "Passing (row 2) [2] "+namesake)
	require.Nil(t, cases["Passing (row 2) [2] "+namesake].Failure)
	failed := cases["Failing & <odd> [1]"]
	require.Equal(t, "not met: "+fails, failed.Failure.Message)
	require.Nil(t, failed.Error)
	require.Contains(t, failed.Output, "agent: Welcome.")
	require.Equal(t, "Judge", cases["Erring [1]"].Error.Type)
	require.Contains(t, cases["Erring [1]"].Error.Message, "Judge: ")
	require.Equal(t, `expected the tag "Praise", produced "Complaint"`, cases["Classified [1]"].Failure.Message)

	whole := readReport(t, report)
	require.Equal(t, "Failed", whole.Outcome)
	require.Equal(t, 1, whole.ExitCode)
	require.Equal(t, map[string]int{"total": 12, "queued": 0, "running": 0, "passed": 6, "failed": 4, "error": 2,
		"cancelled": 0, "skipped": 0}, whole.Execution.Counts)
	require.InDelta(t, 0.6, *whole.Execution.PassRate, 1e-9)
	require.InDelta(t, 0.6, *whole.DecidingPassRate, 1e-9)
	require.Len(t, whole.Runs, 12)
	for _, run := range whole.Runs {
		require.NotEmpty(t, run.Messages)
		require.Equal(t, b.agent, run.Test.Agent.ID)
	}

	ran = b.test(t, "run", "--agent", b.agent, "--baseline", "x", "--junit", junit, "--json", report)
	require.Equal(t, 2, ran.code)
	require.NoFileExists(t, junit, "no report of an earlier command remains")
	require.NoFileExists(t, report)
}

func TestInterruptedTestRunIsCancelledOnTheServer(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 100)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices a disconnect only after reading the body
		if r.Method == http.MethodPost {
			asked <- struct{}{}
		}
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	b := newBench(t, "--openai-base-url", silent.URL, "--openai-api-key", "k")
	test := b.simulation(t, "Endless", holds)
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		<-asked
		interrupt()
	}()
	junit := filepath.Join(t.TempDir(), "junit.xml")
	ran := testAgainst(ctx, b.url, b.key, "run", "--test", test, "--repeat", "3", "--concurrency", "1", "--junit", junit)
	require.Equal(t, 4, ran.code, ran.out+ran.log)
	require.Contains(t, ran.out, "3 runs: 0 passed, 0 failed, 0 error, 3 cancelled")
	require.Contains(t, ran.log, "the execution was cancelled after 0 of 3 runs")
	var kept struct {
		AgentTestExecutions struct {
			Nodes []struct {
				Status     string
				FinishedAt *string
			}
		}
	}
	b.must(t, `{ agentTestExecutions { nodes { status finishedAt } } }`, nil, &kept)
	require.Len(t, kept.AgentTestExecutions.Nodes, 1)
	require.Equal(t, "Cancelled", kept.AgentTestExecutions.Nodes[0].Status)
	require.NotNil(t, kept.AgentTestExecutions.Nodes[0].FinishedAt)
	require.Equal(t, 3, readJUnit(t, junit).Suites[0].Skipped)
}

func TestTimedOutTestRunIsCancelledOnTheServer(t *testing.T) {
	t.Parallel()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server notices a disconnect only after reading the body
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	b := newBench(t, "--openai-base-url", silent.URL, "--openai-api-key", "k")
	test := b.simulation(t, "Endless", holds)
	file := filepath.Join(t.TempDir(), "report.json")
	ran := b.test(t, "run", "--test", test, "--repeat", "2", "--timeout", "3s", "--virtual-time", "--json", file)
	require.Equal(t, 4, ran.code, ran.out+ran.log)
	require.Contains(t, ran.out, "the time limit of --timeout was reached: cancelling the execution on the server\n")
	require.Contains(t, ran.out, "2 runs: 0 passed, 0 failed, 0 error, 2 cancelled")
	require.Contains(t, ran.log, "the execution was cancelled after 0 of 2 runs, because it took longer than --timeout 3s")
	report := readReport(t, file)
	require.Equal(t, "Cancelled", report.Outcome)
	require.NotNil(t, report.Execution.FinishedAt)
	execution, err := dbtest.Open(t, b.database, dbtest.Options()).Tenant(b.companyID(t)).
		AgentTestExecution(t.Context(), report.Execution.ID)
	require.NoError(t, err)
	require.True(t, execution.VirtualTime)
}

func TestTestRunShowsProgressOnATerminal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.simulation(t, "Passing", holds)
	b.simulation(t, "Failing", fails)
	screen, terminal, err := pty.Open()
	require.NoError(t, err)
	require.NoError(t, pty.Setsize(screen, &pty.Winsize{Rows: 24, Cols: 120}))
	shown := make(chan string)
	go func() {
		var all bytes.Buffer
		_, _ = all.ReadFrom(screen) // fails when the terminal is closed
		shown <- all.String()
	}()
	var log bytes.Buffer
	code := run(t.Context(), []string{"test", "run", "--url", b.url, "--api-key", b.key, "--agent", b.agent, "--repeat",
		"5"}, streams{out: terminal, log: &log})
	require.NoError(t, terminal.Close())
	text := <-shown
	require.NoError(t, screen.Close())
	require.Equal(t, 1, code, log.String())
	require.Contains(t, text, "10/10 [")
	require.Contains(t, text, "5 passed, 5 failed, 0 error, 0 cancelled, 0 running")
	require.Equal(t, 5, strings.Count(text, "\x1b[31mFailed   \x1b[0m  Failing"), text)
	require.NotContains(t, text, "Passed     Passing", "the bar counts passed runs")
	require.Contains(t, text, "\x1b[31mFailed\x1b[0m: 5 of 10 runs failed")
}

func TestTestRunIsComparedWithItsBaseline(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	test, other := b.simulation(t, "Greets", holds), b.simulation(t, "Other", fails)
	execution := func(args ...string) string {
		file := filepath.Join(t.TempDir(), "report.json")
		b.test(t, append([]string{"run", "--json", file}, args...)...)
		return readReport(t, file).Execution.ID
	}
	good, once := execution("--test", test, "--repeat", "5"), execution("--test", other)

	same := b.test(t, "run", "--test", test, "--repeat", "5", "--baseline", good)
	require.Zero(t, same.code, same.log)
	require.Contains(t, same.out, "Against "+good+": no difference (5/5 [57–100 %] before, 5/5 [57–100 %] now, p = 1)")
	require.Contains(t, same.log, "A comparison of 5 repeats detects a test's drop from 100 % to 10 % in 9 of 10 cases; "+
		"20 repeats detect a test's drop from 100 % to 60 % in 9 of 10 cases. This assumes that no other test fails.")
	decided := b.test(t, "run", "--test", test, "--baseline", good, "--concurrency", "1")
	require.Zero(t, decided.code, "a test that passes all its runs has not become worse: %s", decided.log)
	require.Contains(t, decided.log, "6 runs if all pass, at most 20: about ")
	require.Contains(t, decided.out, "20 runs: 6 passed, 0 failed, 0 error, 0 cancelled, 14 skipped")

	apart := b.test(t, "run", "--test", test, "--baseline", once, "--min-pass-rate", "0", "--repeat", "1")
	require.Equal(t, 5, apart.code, apart.out)
	require.Contains(t, apart.out,
		"\n  Not run now: 1 test or row (Other)\n  Not in the baseline: 1 test or row (Greets)\n")
	require.Contains(t, apart.log, "nothing to compare: no test was judged both in "+once+" and in execution_")
	single := b.test(t, "run", "--test", test, "--baseline", good, "--repeat", "1")
	require.Zero(t, single.code, single.log)
	require.Contains(t, single.out, "Against "+good+": not worse, because every run passed (5/5 ")

	unsure := b.test(t, "run", "--test", other, "--baseline", once, "--min-pass-rate", "0")
	require.Equal(t, 5, unsure.code, unsure.out)
	require.Contains(t, unsure.log, "too few runs to decide whether something is worse than the baseline "+once)

	b.must(t, `mutation ($id: ID!, $criterion: String!) {
		updateSimulationTest(input: {testId: $id, criteria: [$criterion]}) { agentTest { id } }
	}`, map[string]any{"id": test, "criterion": fails}, nil)
	worse := b.test(t, "run", "--test", test, "--repeat", "5", "--baseline", good, "--min-pass-rate", "0")
	require.Equal(t, 1, worse.code, worse.out)
	require.Contains(t, worse.log, "worse than the baseline "+good)
	decided = b.test(t, "run", "--test", test, "--baseline", good, "--min-pass-rate", "0", "--concurrency", "1")
	require.Equal(t, 1, decided.code, decided.out)
	require.Contains(t, decided.out, "20 runs: 0 passed, 20 failed, 0 error, 0 cancelled, in ")
	require.Contains(t, worse.out, "Greets: newly failing (5/5 [57–100 %] before, 0/5 [0–43 %] now, p = 0.0079), "+
		"regressed")

	var newest struct {
		AgentTestExecutions struct{ Nodes []struct{ ID string } }
	}
	b.must(t, `{ agentTestExecutions(first: 2) { nodes { id } } }`, nil, &newest)
	head := newest.AgentTestExecutions.Nodes[0].ID
	compared := b.test(t, "compare", good, once, "--with", head, "--correction", "benjamini-hochberg")
	require.Equal(t, 1, compared.code, compared.log)
	require.Contains(t, compared.out, "Against "+good+", "+once+": regressed (5/5 ")
	require.Contains(t, compared.log, "worse than "+good+", "+once)
	require.Zero(t, b.test(t, "compare", good, "--with", good).code)
	disjoint := b.test(t, "compare", once, "--with", good)
	require.Equal(t, 5, disjoint.code, disjoint.log)
	require.Contains(t, disjoint.log, "nothing to compare: no test was judged both in "+once+" and in "+good)
	plain := b.test(t, "compare", good, "--with", good, "--with-variant", "small")
	require.Contains(t, plain.log, `headVariant: execution "`+good+`" has no variants, not "small"`)
	few := b.test(t, "compare", once, "--with", once)
	require.Equal(t, 5, few.code, few.out)
}
