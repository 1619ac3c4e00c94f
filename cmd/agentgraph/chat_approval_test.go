package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newRefunds returns a bench with the agent "Refunds", and the number of real calls of its tool. Each call needs the
// approval of a person.
func newRefunds(t *testing.T) (*bench, *atomic.Int32) {
	t.Helper()
	made := &atomic.Int32{}
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		made.Add(1)
		_, _ = io.WriteString(w, `{"state": "refunded"}`)
	}))
	t.Cleanup(shop.Close)
	b := newBench(t, "--workers", "0", "--tool-allow", "127.0.0.1")
	var created struct {
		CreateAgent struct{ Agent struct{ ID string } }
		CreateTool  struct{ Tool struct{ ID string } }
	}
	b.must(t, `mutation ($prompt: String!, $url: String!) {
		createAgent(input: {name: "Refunds", channel: Web, direction: Inbound, language: "en", prompt: $prompt,
			inboundWelcomeMessage: "Welcome."}) { agent { id } }
		createTool(input: {name: "Refund", technicalName: "refund", description: "Pays the money back.", approval: Ask
			endpoint: {method: POST, url: $url, timeoutSeconds: 5}}) { tool { id } }
	}`, map[string]any{"url": shop.URL, "prompt": "# Examples\nUser: refund me\nCall: refund\nAgent: It is <state>.\n"},
		&created)
	b.must(t, `mutation ($agentId: ID!, $toolId: ID!) { connectTool(input: {agentId: $agentId, toolId: $toolId}) {
		agent { id } } }`,
		map[string]any{"agentId": created.CreateAgent.Agent.ID, "toolId": created.CreateTool.Tool.ID}, nil)
	return b, made
}

func TestChatAsksOnATerminalToApproveACall(t *testing.T) {
	t.Parallel()
	b, made := newRefunds(t)
	chat := onTerminal(t, append(b.environment(t), "NO_COLOR=1"), "chat", "Refunds")
	for i, step := range []struct {
		key, shown string
		calls      int32
	}{
		{"y", "It is refunded.", 1}, {"n", "that did not work", 1}, {"", "that did not work", 1},
		{"YES", "It is refunded.", 2}, {"sure", "that did not work", 2},
	} {
		from := len(chat.seen.String())
		since := func(text string) {
			t.Helper()
			require.Eventually(t, func() bool { return strings.Contains(chat.seen.String()[from:], text) }, time.Minute,
				5*time.Millisecond, "step %d, %s\n%s", i, text, chat.seen.String()[from:])
		}
		if i == 0 {
			since("You: ")
		}
		chat.press(t, "refund me\n")
		since("Approve refund {}? [y/N] ")
		chat.press(t, step.key+"\n")
		since(step.shown)
		since("\r\nYou: ")
		require.Equal(t, step.calls, made.Load())
	}
	chat.press(t, "\x03")
	require.Equal(t, 4, chat.code())
}

func TestChatWithoutATerminalReadsApprovals(t *testing.T) {
	t.Parallel()
	b, made := newRefunds(t)
	for _, test := range []struct {
		name, input, answer string
		calls               int32
	}{
		{"nobody is left to ask", "refund me\n", "a person did not approve the call", 0},
		{"the next line denies", "refund me\nno\n", "a person did not approve the call", 0},
		{"the next line approves", "refund me\nyes\n", "It is refunded.", 1},
	} {
		o := process(t, test.input, b.environment(t), "chat", "Refunds")
		require.Zero(t, o.code, "%s: %s", test.name, o.log)
		require.Regexp(t, `\{"approval":\{"approval":"Pending","arguments":\{\},"technicalName":"refund",`, o.out, test.name)
		require.Contains(t, o.out, test.answer, test.name)
		require.Equal(t, test.calls, made.Load(), test.name)
	}
	require.Zero(t, b.openChats(t))
}

// The answer can arrive before the events of its calls.
func TestChatShowsCallsWhoseEventsAreLate(t *testing.T) {
	t.Parallel()
	b, _ := newRefunds(t)
	target, err := url.Parse(b.url)
	require.NoError(t, err)
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	refuses := false
	late := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if refuses && strings.Contains(string(body), "toolCalls {") {
			_, _ = io.WriteString(w, `{"data":null,"errors":[{"message":"too much","extensions":{"code":"LIMIT_EXCEEDED"}}]}`)
			return
		}
		if strings.Contains(string(body), "simulationChatEvents") {
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(late.Close)
	o := process(t, "refund me\nWhat?\nrefund me\n", b.environment(t), "chat", "Refunds", "--mock", "--url", late.URL)
	require.Zero(t, o.code, o.log)
	kinds := regexp.MustCompile(`(?m)^\{"(\w+)".*\n`).ReplaceAllString(o.out, "$1 ")
	require.Equal(t, "chat message call message message message message call message message ", kinds, o.out)

	refuses = true // for example, because the chat has too many calls for one response
	o = process(t, "refund me\nWhat?\n", b.environment(t), "chat", "Refunds", "--mock", "--url", late.URL)
	require.Zero(t, o.code, o.log)
	require.Equal(t, 5, strings.Count(o.out, `{"message":`), o.out)
}
