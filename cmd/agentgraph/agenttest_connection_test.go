package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// cuttableProxy is a proxy whose connections can be cut.
type cuttableProxy struct {
	*httptest.Server
	target  atomic.Pointer[url.URL]
	streams chan struct{}
	// failures receives each request that the target did not answer.
	failures chan struct{}
	// noStreams refuses event streams, as some proxies do.
	noStreams bool
	// isHung lets requests wait until their clients disconnect.
	isHung atomic.Bool
}

func newCuttableProxy(t *testing.T, target string, noStreams bool) *cuttableProxy {
	t.Helper()
	c := &cuttableProxy{streams: make(chan struct{}, 100), failures: make(chan struct{}, 100), noStreams: noStreams}
	c.pointTo(t, target)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(c.target.Load()) },
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			c.failures <- struct{}{}
			w.WriteHeader(http.StatusBadGateway)
		},
	}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.isHung.Load() {
			_, _ = io.Copy(io.Discard, r.Body) // the server notices a disconnect only after reading the body
			<-r.Context().Done()
			return
		}
		if r.Header.Get("Accept") == "text/event-stream" {
			c.streams <- struct{}{}
			if c.noStreams {
				w.WriteHeader(http.StatusBadGateway)
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *cuttableProxy) pointTo(t *testing.T, target string) {
	t.Helper()
	address, err := url.Parse(target)
	require.NoError(t, err)
	c.target.Store(address)
}

func TestTestRunResumesAfterALostConnection(t *testing.T) {
	t.Parallel()
	b := newBench(t, "--workers", "0")
	test := b.simulation(t, "Passing", holds)
	proxy := newCuttableProxy(t, b.url, false)
	ran := make(chan outcome, 1)
	go func() {
		ran <- testAgainst(context.WithoutCancel(t.Context()), proxy.URL, b.key, "run", "--test", test, "--repeat", "5")
	}()
	<-proxy.streams
	proxy.pointTo(t, "http://127.0.0.1:1") // the server cannot be reached
	proxy.CloseClientConnections()
	<-proxy.failures // the client has tried to reconnect
	proxy.pointTo(t, serve(t, b.database, b.key).url)
	o := <-ran
	require.Equal(t, 0, o.code, o.out+o.log)
	require.Contains(t, o.out, "5 runs: 5 passed")
	require.Equal(t, 5, strings.Count(o.out, "Passed     Passing"), "each run is reported once")
}

// A server that restarts, or a proxy before it, delays the start of a test run. A start whose response was lost is not
// repeated.
func TestTestRunWaitsForItsServer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	test := b.simulation(t, "Passing", holds)
	target, err := url.Parse(b.url)
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		FlushInterval: -1,
	}
	var requests, starts atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		switch n := requests.Add(1); {
		case n == 1:
			panic(http.ErrAbortHandler) // the connection is reset
		case n == 2:
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusServiceUnavailable)
		case bytes.Contains(body, []byte("startAgentTestExecution(")) && starts.Add(1) == 1:
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			w.WriteHeader(http.StatusBadGateway)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(front.Close)
	o := testAgainst(t.Context(), front.URL, b.key, "run", "--test", test)
	require.Equal(t, 0, o.code, o.out+o.log)
	require.Equal(t, 1, strings.Count(o.log, "Retrying for up to 1m0s: the server answered 503 Service Unavailable"),
		o.log)
	require.EqualValues(t, 2, starts.Load())
	listed := b.test(t, "executions", "--json")
	require.Equal(t, 1, strings.Count(listed.out, `"status"`), listed.out)

	requests.Store(0)
	o = testAgainst(t.Context(), front.URL, b.key, "list")
	require.Equal(t, 0, o.code, o.out+o.log)
}

func TestTestRunWithoutEventsIsPolled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	test := b.simulation(t, "Passing", holds)
	o := testAgainst(t.Context(), newCuttableProxy(t, b.url, true).URL, b.key, "run", "--test", test, "--repeat", "5")
	require.Equal(t, 0, o.code, o.out+o.log)
	require.Equal(t, 5, strings.Count(o.out, "Passed     Passing"), "each run is reported once")
}

func TestInterruptedTestRunEndsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, "--workers", "0")
	test := b.simulation(t, "Passing", holds)
	for name, c := range map[string]struct {
		signals, code int
		says          string
	}{
		"one signal": {1, 3, "could not be cancelled, and continues on the server: the server at "},
		"two":        {2, 4, "interrupted again: execution execution_"},
	} {
		proxy := newCuttableProxy(t, b.url, false)
		junit := filepath.Join(t.TempDir(), "junit.xml")
		//nolint:gosec // The tests' own program.
		command := exec.CommandContext(t.Context(), os.Args[0], "test", "run", "--test", test, "--junit", junit)
		command.Env = append(b.environment(t), asCommand+"=1", "AGENTGRAPH_URL="+proxy.URL)
		var out, log dbtest.Output
		command.Stdout, command.Stderr = &out, &log
		require.NoError(t, command.Start())
		<-proxy.streams
		proxy.isHung.Store(true)
		require.NoError(t, command.Process.Signal(syscall.SIGTERM))
		require.Eventually(t, func() bool {
			_, err := os.Stat(junit)
			return err == nil
		}, time.Minute, 5*time.Millisecond, "the report is written before the server answers")
		if c.signals == 2 {
			require.NoError(t, command.Process.Signal(syscall.SIGTERM))
		}
		_ = command.Wait()
		require.Contains(t, out.String(), "Cancelling the execution on the server\n")
		require.Equal(t, c.code, command.ProcessState.ExitCode(), name+out.String()+log.String())
		require.Contains(t, log.String(), c.says)
		require.Equal(t, 1, readJUnit(t, junit).Errors)
	}
}

func TestTestRunWithLostServerIsAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t, "--workers", "0")
	test := b.simulation(t, "Passing", holds)
	proxy := newCuttableProxy(t, b.url, false)
	junit := filepath.Join(t.TempDir(), "junit.xml")
	ran := make(chan outcome, 1)
	go func() {
		ran <- testAgainst(context.WithoutCancel(t.Context()), proxy.URL, b.key, "run", "--test", test, "--reconnect", "0s",
			"--junit", junit)
	}()
	<-proxy.streams
	proxy.pointTo(t, "http://127.0.0.1:1")
	proxy.CloseClientConnections()
	o := <-ran
	require.Equal(t, 3, o.code, o.out+o.log)
	require.Contains(t, o.log, "continues on the server")
	require.Equal(t, 1, readJUnit(t, junit).Errors, "unseen runs do not count as passed")
}

func TestTestRunWithLostServerCountsSeenRuns(t *testing.T) {
	t.Parallel()
	b := newBench(t, "--workers", "0")
	test := b.simulation(t, "Passing", holds)
	proxy := newCuttableProxy(t, b.url, false)
	var out dbtest.Output
	ran := make(chan int, 1)
	go func() {
		ran <- run(context.WithoutCancel(t.Context()), []string{
			"test", "run", "--url", proxy.URL, "--api-key", b.key, "--test", test, "--repeat", "2", "--reconnect", "0s",
		}, streams{out: &out, log: io.Discard})
	}()
	<-proxy.streams
	tenant := dbtest.Open(t, b.database, dbtest.Options()).Tenant(b.companyID(t))
	runs, err := tenant.AgentTestRuns(t.Context(), model.PageArgs{First: 1}, model.AgentTestRunFilter{TestID: &test})
	require.NoError(t, err)
	one, err := tenant.ClaimRun(t.Context(), runs.Nodes[0].ID, 1)
	require.NoError(t, err)
	one.Status = model.AgentTestRunStatusPassed
	require.NoError(t, tenant.FinishRun(t.Context(), one))
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "Passed     Passing") }, time.Minute,
		10*time.Millisecond)
	proxy.pointTo(t, "http://127.0.0.1:1")
	proxy.CloseClientConnections()
	require.Equal(t, 3, <-ran, out.String())
	require.Contains(t, out.String(), "2 runs: 1 passed, 0 failed")
}
