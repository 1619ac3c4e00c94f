package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// startServing starts a replica of the program and returns its process and a client of it.
func (s *theatre) startServing(t *testing.T) (*replica, *gatewayUnderTest) {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, "serve", "--database-url", s.address, "--listen", "127.0.0.1:0",
		"--openai-base-url", s.provider.URL+"/v1", "--openai-api-key", "any", "--model-timeout", "10m", "--workers", "0", "--model-rate-limit", "0")
	cmd.Env = append(os.Environ(), asProgram+"=1")
	log := &servedLog{address: make(chan string, 1)}
	cmd.Stderr = log
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	return &replica{cmd}, &gatewayUnderTest{url: "http://" + <-log.address, store: s.store}
}

func TestARequestWhoseProcessIsKilledCanBeSentAgain(t *testing.T) {
	t.Parallel()
	s := newTheatre(t)
	victim, doomed := s.startServing(t)
	_, g := s.startServing(t)
	_, key := g.keyOf(t, idOf(t, s.tenant), model.APIKeyScopeAdmin)
	agent, _ := frontDesk(t, s.tenant)
	const once = "Idempotency-Key: start"
	started := doomed.post(t, "/SimulationChat/start", key, fmt.Sprintf(`{"agentId":%q}`, agent), once)
	require.Equal(t, http.StatusOK, started.status, started.text)
	chat := started.text[len(`{"simulationChatId":"`):][:len("simchat_")+26]

	message := fmt.Sprintf(`{"simulationChatId":%q,"message":"Hello?"}`, chat)
	lost := make(chan error, 1)
	go func() {
		_, err := doomed.tryPost(t.Context(), "/SimulationChat/send-message", key, message, "Idempotency-Key: message")
		lost <- err
	}()
	s.await(t, func() bool { return s.waiting.Load() == 1 }, "the model is asked")
	victim.kill(t)
	require.Error(t, <-lost)

	requireReplay(t, started, g.post(t, "/SimulationChat/start", key, fmt.Sprintf(`{"agentId":%q}`, agent), once))
	early := g.post(t, "/SimulationChat/send-message", key, message, "Idempotency-Key: message")
	require.Equal(t, http.StatusConflict, early.status, early.text)
	require.Equal(t, "1", early.header.Get("Retry-After"))
	s.gate <- struct{}{}
	var sent whole
	s.await(t, func() bool {
		sent = g.post(t, "/SimulationChat/send-message", key, message, "Idempotency-Key: message")
		return sent.status != http.StatusConflict
	}, "the lease of the dead process is over")
	require.Equal(t, http.StatusOK, sent.status, sent.text)
	require.Contains(t, sent.text, "Your appointment is booked.")
	requireReplay(t, sent, g.post(t, "/SimulationChat/send-message", key, message, "Idempotency-Key: message"))
	require.Equal(t, 2, s.count(t, "SELECT count(*) FROM simulation_chat_messages WHERE role IN ('user', 'assistant') AND chat_id = '"+chat+"'"))
}
