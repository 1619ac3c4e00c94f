package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// startServing starts a replica of the program and returns its process and its address.
func (s *replicaFixture) startServing(t *testing.T) (*replica, string) {
	t.Helper()
	return startServing(t, s.Address, "--openai-base-url", s.provider.URL+"/v1", "--openai-api-key", "any",
		"--model-timeout", "10m", "--workers", "0", "--model-rate-limit", "0")
}

// startServing starts a process that serves, and returns it with its address.
func startServing(t *testing.T, databaseURL string, flags ...string) (*replica, string) {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, append([]string{"serve", "--database-url",
		databaseURL, "--listen", "127.0.0.1:0"}, flags...)...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	log := &servedLog{serving: make(chan serving, 1)}
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	return &replica{cmd}, "http://" + (<-log.serving).Address
}

// posted is a complete response.
type posted struct {
	status int
	header http.Header
	text   string
}

// postOnce sends a request with an Idempotency-Key.
func postOnce(ctx context.Context, url, key, body, name string) (posted, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return posted{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Api-Key", key)
	request.Header.Set("Idempotency-Key", name)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return posted{}, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return posted{response.StatusCode, response.Header, string(text)}, err
}

// requireReplay requires that the second response repeats the first.
func requireReplay(t *testing.T, first, second posted) {
	t.Helper()
	require.Empty(t, first.header.Get("Idempotent-Replayed"), first.text)
	require.Equal(t, "true", second.header.Get("Idempotent-Replayed"), second.text)
	require.Equal(t, first.status, second.status)
	require.Equal(t, first.text, second.text)
}
func TestRequestOfKilledProcessCanBeSentAgain(t *testing.T) {
	t.Parallel()
	s := newReplicaFixture(t)
	victim, doomed := s.startServing(t)
	_, other := s.startServing(t)
	key := newKey(t, s.Tenant, model.APIKeyScopeAdmin)
	agent, err := s.Tenant.CreateAgent(t.Context(), model.CreateAgentInput{
		Name: "Front desk", Channel: model.ChannelPhone, Direction: model.DirectionInbound, Language: "en",
		Prompt: "You are the front desk.",
	})
	require.NoError(t, err)
	post := func(address, path, body, once string) posted {
		p, err := postOnce(t.Context(), address+path, key, body, once)
		require.NoError(t, err)
		return p
	}
	begin := fmt.Sprintf(`{"agentId":%q}`, agent.ID)
	started := post(doomed, "/SimulationChat/start", begin, "start")
	require.Equal(t, http.StatusOK, started.status, started.text)
	chat := started.text[len(`{"simulationChatId":"`):][:len("simchat_")+26]

	message := fmt.Sprintf(`{"simulationChatId":%q,"message":"Hello?"}`, chat)
	lost := make(chan error, 1)
	go func() {
		_, err := postOnce(t.Context(), doomed+"/SimulationChat/send-message", key, message, "message")
		lost <- err
	}()
	s.Await(t, func() bool { return s.waiting.Load() == 1 }, "the model is asked")
	victim.kill(t)
	require.Error(t, <-lost)

	requireReplay(t, started, post(other, "/SimulationChat/start", begin, "start"))
	early := post(other, "/SimulationChat/send-message", message, "message")
	require.Equal(t, http.StatusConflict, early.status, early.text)
	require.Equal(t, "1", early.header.Get("Retry-After"))
	s.gate <- struct{}{}
	var sent posted
	s.Await(t, func() bool {
		sent = post(other, "/SimulationChat/send-message", message, "message")
		return sent.status != http.StatusConflict
	}, "the lease of the dead process is over")
	require.Equal(t, http.StatusOK, sent.status, sent.text)
	require.Contains(t, sent.text, "Your appointment is booked.")
	requireReplay(t, sent, post(other, "/SimulationChat/send-message", message, "message"))
	require.Equal(t, 2, s.Count(t, "SELECT count(*) FROM simulation_chat_messages WHERE role IN ('user', 'assistant') "+
		"AND chat_id = '"+chat+"'"))
}
