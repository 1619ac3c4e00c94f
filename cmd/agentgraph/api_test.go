package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

// environment returns the environment variables of the server and the key.
func (b *bench) environment(t *testing.T) []string {
	return []string{"AGENTGRAPH_URL=" + b.url, "AGENTGRAPH_API_KEY=" + b.key, "XDG_CONFIG_HOME=" + t.TempDir()}
}

// terminalCommand is a command that runs on a terminal.
type terminalCommand struct {
	keys *os.File
	seen dbtest.Output
	cmd  *exec.Cmd
	done chan struct{}
}

func onTerminal(t *testing.T, env []string, args ...string) *terminalCommand {
	t.Helper()
	//nolint:gosec // The tests' own program.
	w := &terminalCommand{cmd: exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], args...),
		done: make(chan struct{})}
	w.cmd.Env = append([]string{asCommand + "=1", "TERM=xterm"}, env...)
	keys, err := pty.StartWithSize(w.cmd, &pty.Winsize{Rows: 40, Cols: 60})
	require.NoError(t, err)
	w.keys = keys
	go func() {
		_, _ = io.Copy(&w.seen, keys)
		close(w.done)
	}()
	t.Cleanup(func() { _ = keys.Close() })
	return w
}

func (w *terminalCommand) await(t *testing.T, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(w.seen.String(), text) }, time.Minute, 5*time.Millisecond,
		text)
}

func (w *terminalCommand) press(t *testing.T, keys string) {
	t.Helper()
	_, err := io.WriteString(w.keys, keys)
	require.NoError(t, err)
}

// code waits until the command ends, and returns its exit code.
func (w *terminalCommand) code() int {
	<-w.done
	_ = w.cmd.Wait()
	return w.cmd.ProcessState.ExitCode()
}

func TestListsPrintTablesOrJSON(t *testing.T) {
	t.Parallel()
	b := newBench(t, "--workers", "0")
	env := b.environment(t)
	var agents []struct{ ID, Name, Channel string }
	require.NoError(t, json.Unmarshal([]byte(process(t, "", env, "agents").out), &agents))
	require.Len(t, agents, 1)
	require.Equal(t, b.agent, agents[0].ID)
	require.Equal(t, "[]\n", process(t, "", env, "agents", "--name", "nobody").out)

	shown := onTerminal(t, append(env, "NO_COLOR=1"), "agents")
	require.Zero(t, shown.code())
	require.Regexp(t, `^ID +NAME +CHANNEL .*…\r\nagent_\w{26}  Front <desk>  Web`, shown.seen.String())
	for line := range strings.Lines(shown.seen.String()) {
		require.LessOrEqual(t, len([]rune(strings.TrimSpace(line))), 60, "as wide as the terminal")
	}
	require.NotContains(t, shown.seen.String(), "\x1b")
	colored := onTerminal(t, env, "agents")
	require.Zero(t, colored.code())
	require.Contains(t, colored.seen.String(), "\x1b[1mID")

	usage := onTerminal(t, env, "usage")
	require.Zero(t, usage.code())
	require.Regexp(t, `Total +0\r\n`, usage.seen.String())
	require.Contains(t, process(t, "", env, "usage").out, `"totalCredits": 0`)
	require.Equal(t, 2, process(t, "", env, "usage", "--from", "2026-02-01", "--to", "2026-01-01").code)
	require.Equal(t, 2, process(t, "", env, "agents", "--channel", "Letter").code)

	b.must(t, `mutation { createAgent(input: {name: "a\u202eb\u2066c\u200dd", channel: Web, direction: Inbound,
		language: "en", prompt: "Help."}) { agent { id } } }`, nil, nil)
	reversed := onTerminal(t, append(env, "NO_COLOR=1"), "agents")
	require.Zero(t, reversed.code())
	require.Contains(t, reversed.seen.String(), "  abc\u200dd ", "without overrides of the text's direction")
	for _, args := range [][]string{{"agents"}, {"query", "{ agents { nodes { name } } }"}} {
		require.Contains(t, process(t, "", env, args...).out, `"a\u202eb\u2066c`+"\u200dd\"")
	}
}

func TestQueryCommandRunsDocuments(t *testing.T) {
	t.Parallel()
	b := newBench(t, "--workers", "0")
	env, dir := b.environment(t), t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	document := file("agents.graphql",
		`query Named($name: String!, $first: Int!) { agents(filter: {nameContains: $name}, first: $first) { nodes { name } } }
		query All { agents { totalCount } }`)
	variables := file("variables.json", `{"name": "nobody", "first": 1}`)
	query := func(args ...string) outcome {
		return process(t, "", env, append([]string{"query", document, "--operation", "Named"}, args...)...)
	}
	found := `{"data":{"agents":{"nodes":[{"name":"Front <desk>"}]}}}` + "\n"
	require.Equal(t, outcome{0, found, ""}, query("--var", "name=desk", "--var", "first=1"))
	require.Equal(t, outcome{0, found, ""}, query("--var", "name=desk", "--variables", variables),
		"a flag goes before the file")
	require.Equal(t, `{"data":{"agents":{"nodes":[]}}}`+"\n", query("--variables", variables).out)

	wrong := query("--var", "name=desk", "--var", "first=1000")
	require.Equal(t, 2, wrong.code)
	require.Contains(t, wrong.out, `"BAD_INPUT"`, "the response is printed anyway")
	require.Contains(t, wrong.log, "first")
	require.Contains(t, query("--var", "nmae=x").log, "--var: the operation has no variable $nmae")
	require.Contains(t, process(t, "", env, "query", document).log,
		"--operation must name one of the document's operations: Named, All")
	require.Contains(t, process(t, "{ agents {", env, "query", "-").log, "the document is not GraphQL")
	require.Equal(t, 2, process(t, "", env, "query", "missing.graphql").code)
	require.Contains(t, process(t, "", env, "query", "").log, "the document is empty")
	require.Contains(t, process(t, "", env, "query", "fragment f on Agent { id }").log,
		"the document has no query, mutation or subscription")

	require.Equal(t, `{"data":{"agents":{"totalCount":1}}}`+"\n",
		process(t, "", env, "query", "{ agents { totalCount } }").out)
	require.Contains(t, process(t, "", env, "query", "{ agents {").log, "the document is not GraphQL: document:1")

	indented := onTerminal(t, env, "query", document, "--operation", "All")
	require.Zero(t, indented.code())
	require.Equal(t, "{\r\n  \"data\": {\r\n    \"agents\": {\r\n      \"totalCount\": 1\r\n    }\r\n  }\r\n}\r\n",
		indented.seen.String())

	var started struct {
		StartSimulationChat struct{ SimulationChat struct{ ID string } }
	}
	b.must(t, `mutation ($id: ID!) { startSimulationChat(input: {agentId: $id}) { simulationChat { id } } }`,
		map[string]any{"id": b.agent}, &started)
	id := started.StartSimulationChat.SimulationChat.ID
	b.must(t, `mutation ($id: ID!) { sendSimulationMessage(input: {simulationChatId: $id,
		text: "Goodbye"}) { simulationChat { id } } }`, map[string]any{"id": id}, nil)
	followed := process(t, `subscription ($id: ID!) { simulationChatMessages(simulationChatId: $id) { role } }`, env,
		"query", "-", "--var", "id="+id)
	require.Equal(t, 0, followed.code, followed.log)
	require.Equal(t, 3, strings.Count(followed.out, "\n"), "a line for each event")
}

func TestChatReadsStandardInput(t *testing.T) {
	t.Parallel()
	b := newBench(t, "--workers", "0")
	env := b.environment(t)
	o := process(t, "What are your opening hours?\n\nGoodbye\nnever sent\n", env, "chat", "front")
	require.Equal(t, 0, o.code, o.log)
	var roles []string
	for line := range strings.Lines(o.out) {
		var said struct {
			Message *struct {
				Role, Text          string
				IsConversationEnded bool
			}
		}
		require.NoError(t, json.Unmarshal([]byte(line), &said))
		if said.Message != nil {
			roles = append(roles, said.Message.Role)
			require.NotContains(t, said.Message.Text, "never sent")
		}
	}
	require.Equal(t, []string{"assistant", "user", "assistant", "user", "assistant"}, roles)

	require.Equal(t, 2, process(t, "", env, "chat", "nobody").code)
	require.Contains(t, process(t, "", env, "chat", "nobody").log, `agent "nobody" does not exist`)
	failed := process(t, strings.Repeat("x", 20_000)+"\nWhat are your opening hours?\n", env, "chat", "front")
	require.Equal(t, 2, failed.code)
	require.Contains(t, failed.log, "a message was not answered: ")
	require.Contains(t, failed.out, `"role":"assistant"`, "the next message is still sent")
	damaged := process(t, "What are your opening hours?\nGr\xf6\xdfe\n", env, "chat", "front")
	require.Equal(t, 2, damaged.code)
	require.Contains(t, damaged.log, "line 2 is not UTF-8: save the file with the encoding UTF-8")
	require.Equal(t, 2, strings.Count(damaged.out, `"role":"assistant"`), damaged.out)
	require.NotContains(t, damaged.out, "Gr")
	marked := process(t, "\ufeffGoodbye\n", env, "chat", "front")
	require.Equal(t, 0, marked.code, marked.log)
	require.Contains(t, marked.out, `"text":"Goodbye"`)
	left := process(t, "", env, "chat", b.agent)
	require.Equal(t, 0, left.code, left.log)
	require.Equal(t, 0, b.openChats(t), "the end of the input ends the chat")
	b.must(t, `mutation { createAgent(input: {name: "Clinic", channel: Web, direction: Inbound, language: "en",
		prompt: "Help.", fields: [{name: "clinicName", isMandatory: true}]}) { agent { id } } }`, nil, nil)
	incomplete := process(t, "", env, "chat", "Clinic")
	require.Equal(t, 2, incomplete.code)
	require.Contains(t, incomplete.log, "mandatory fields: clinicName: add --data NAME=VALUE for each of them")
	wrong := process(t, "", append(env, "AGENTGRAPH_API_KEY=wrong"), "chat", b.agent)
	require.Equal(t, 3, wrong.code)
}

func (b *bench) openChats(t *testing.T) int {
	t.Helper()
	var read struct{ SimulationChats struct{ TotalCount int } }
	b.must(t, `{ simulationChats(filter: {statuses: [Open, Replying]}) { totalCount } }`, nil, &read)
	return read.SimulationChats.TotalCount
}

func TestChatRunsOnATerminal(t *testing.T) {
	t.Parallel()
	b := newBench(t, "--workers", "0")
	chat := onTerminal(t, append(b.environment(t), "NO_COLOR=1"), "chat", "Front <desk>")
	chat.await(t, "Front <desk>: Welcome.\r\nYou: ")
	chat.press(t, "What are your opening hours?\n")
	chat.await(t, "9 to 5")
	require.Eventually(t, func() bool { return strings.HasSuffix(chat.seen.String(), "\r\nYou: ") }, time.Minute,
		5*time.Millisecond)
	require.Equal(t, 2, strings.Count(chat.seen.String(), "Front <desk>: "), chat.seen.String())
	chat.press(t, "\x03")
	require.Equal(t, 4, chat.code(), "Ctrl-C")
	require.Contains(t, chat.seen.String(), "The chat has ended")
	require.NotContains(t, chat.seen.String(), "\x1b[3")
	require.Equal(t, 0, b.openChats(t))

	chat = onTerminal(t, b.environment(t), "chat", "Front <desk>")
	chat.await(t, "You: ")
	chat.press(t, "Goodbye\n")
	require.Equal(t, 0, chat.code())
	require.Contains(t, chat.seen.String(), "The agent ended the conversation")
}

// The model never answers, so the agent stays busy.
func TestCtrlCInterruptsTheAnswer(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 10)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, _ = io.Copy(io.Discard, r.Body)
			asked <- struct{}{}
			<-r.Context().Done()
		}
	}))
	t.Cleanup(silent.Close)
	t.Cleanup(silent.CloseClientConnections)
	b := newBench(t, "--workers", "0", "--openai-base-url", silent.URL, "--openai-api-key", "k")
	chat := onTerminal(t, b.environment(t), "chat", b.agent)
	chat.await(t, "You: ")
	chat.press(t, "Hello\n")
	<-asked
	chat.press(t, "\x03")
	require.Equal(t, 4, chat.code())
	require.Contains(t, chat.seen.String(), "The chat has ended")
	require.Equal(t, 0, b.openChats(t))
}
