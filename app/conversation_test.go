package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/app"
)

func TestRESTChatCallsMockedTool(t *testing.T) {
	t.Parallel()
	c := openClinic(t, book, says("You are booked."))
	var started, sent, read restChat
	c.rest(t, http.MethodPost, "/SimulationChat/start", map[string]any{
		"agentId": c.desk, "dataBag": map[string]string{"name": "Ana"},
		"toolMocking": mocking{
			"mockedTools": []mocking{mockedTool(c.book, mocking{"resultTemplate": "{name} on {day} {or} {never}",
				"delaySeconds": 0.25})}},
	}, &started)
	require.Empty(t, started.Messages)
	c.rest(t, http.MethodPost, "/SimulationChat/send-message", map[string]any{"simulationChatId": started.SimulationChatID,
		"message": "Book Monday"}, &sent)
	require.Len(t, sent.Messages, 2)
	require.Equal(t, "You are booked.", sent.Messages[1].Text)
	c.rest(t, http.MethodGet, "/SimulationChat/"+started.SimulationChatID, nil, &read)
	require.Equal(t, sent, read)

	kept := c.kept(t, started.SimulationChatID)
	require.Len(t, kept.ToolCalls, 1)
	call := kept.ToolCalls[0]
	require.Equal(t, "Tool", call.Kind)
	require.Equal(t, c.book, *call.TargetID)
	require.JSONEq(t, `{"day":"Monday"}`, string(call.Arguments))
	require.Equal(t, "Ana on Monday {or} {never}", *call.Result)
	require.Nil(t, call.Error)
	require.True(t, call.Mocked)
	require.True(t, call.IsTurnKept)
	require.GreaterOrEqual(t, call.DurationMs, 250, "the delay is part of the call")

	asked := c.asked(t)
	require.Len(t, asked, 2)
	require.Equal(t, []string{"book", "look_up", "ask_expert", "transfer_call", "end_conversation"}, asked[0].offered())
	require.Equal(t, []string{"book: Ana on Monday {or} {never}"}, asked[1].callResults())
}

func TestParallelCallsAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	c := openClinic(t, calls("look_up", `{}`, "book", `{"day":"Monday"}`), says("Done."))
	chatID := c.start(t, c.desk, mocking{
		"mockAllTools": true, "mockedTools": []mocking{
			mockedTool(c.lookUp, mocking{"resultTemplate": "Free", "delaySeconds": 1})},
	})
	events := c.follow(t, chatID)
	require.Equal(t, "Done.", c.say(t, chatID, "Book what is free").Text)
	var order []string
	for e := range events {
		switch e.Type {
		case "ToolCallStarted":
			order = append(order, "+"+e.TechnicalName)
		case "ToolCallFinished":
			require.True(t, e.Mocked)
			require.NotNil(t, e.Result)
			order = append(order, "-"+e.TechnicalName)
		}
		if e.Type == "MessageWritten" && e.Message.Text == "Done." {
			break
		}
	}
	require.Equal(t, []string{"+look_up", "+book", "-book", "-look_up"}, order)
	asked := c.asked(t)
	require.Equal(t, []string{"look_up: Free", `book: {"status":"success","message":"The call to book succeeded."}`},
		asked[len(asked)-1].callResults())
}

func TestSubAgentAnswersItsAgent(t *testing.T) {
	t.Parallel()
	c := openClinic(t, calls("ask_expert", askExpert), calls("dig", `{}`), says("Take the stairs."),
		says("The expert would take the stairs."))
	// Calls of a sub-agent cannot be mocked. The sub-agent's tool has no endpoint here.
	chatID := c.start(t, c.desk, mocking{"mockAllTools": true})
	require.Equal(t, "The expert would take the stairs.", c.say(t, chatID, "How do I get up?").Text)

	made := c.kept(t, chatID).ToolCalls
	require.Len(t, made, 2)
	require.Equal(t, "SubAgent", made[0].Kind)
	require.Equal(t, c.expert, *made[0].TargetID)
	require.Equal(t, "Take the stairs.", *made[0].Result)
	require.False(t, made[0].Mocked)
	require.True(t, made[0].IsReal)
	require.False(t, made[1].IsReal)
	require.Nil(t, made[0].DelegationID)
	require.Equal(t, c.dig, *made[1].TargetID)
	require.Equal(t, made[0].ID, *made[1].DelegationID)
	require.Equal(t, "the tool has no endpoint, so it cannot be called", *made[1].Error)

	asked := c.asked(t)
	require.Len(t, asked, 4)
	require.Contains(t, asked[0].Messages[0].Content, "You are the front desk.")
	require.Contains(t, asked[1].Messages[0].Content, "You are the expert.")
	require.Equal(t, "How do I get up?", asked[1].Messages[1].Content)
	require.Equal(t, []string{"dig"}, asked[1].offered())
	require.Equal(t, []string{"ask_expert: Take the stairs."}, asked[3].callResults())
}

func TestMockedSubAgentIsNotCalled(t *testing.T) {
	t.Parallel()
	c := openClinic(t, calls("ask_expert", askExpert), says("The expert is sure."))
	chatID := c.start(t, c.desk, mocking{"mockAllSubAgents": true})
	require.Equal(t, "The expert is sure.", c.say(t, chatID, "How do I get up?").Text)
	made := c.kept(t, chatID).ToolCalls
	require.Len(t, made, 1)
	require.True(t, made[0].Mocked)
	require.JSONEq(t, `{"status":"success","message":"The call to ask_expert succeeded."}`, *made[0].Result)
	require.Len(t, c.asked(t), 2)
}

func TestSubAgentFailureIsReportedToItsAgent(t *testing.T) {
	t.Parallel()
	c := openClinic(t, calls("ask_expert", askExpert), refuses(http.StatusUnauthorized, "invalid_api_key"),
		says("Nobody is there."))
	chatID := c.start(t, c.desk, nil)
	require.Equal(t, "Nobody is there.", c.say(t, chatID, "How do I get up?").Text)
	made := c.kept(t, chatID).ToolCalls
	require.Len(t, made, 1)
	require.Equal(t, "the sub-agent could not answer", *made[0].Error)
	require.Len(t, c.asked(t), 3)
}

func TestAgentEndsTheConversation(t *testing.T) {
	t.Parallel()
	c := openClinic(t, calls("end_conversation", `{"reason":"All is said."}`).saying("Goodbye."))
	chatID := c.start(t, c.desk, nil)
	reply := c.say(t, chatID, "Bye")
	require.Equal(t, "Goodbye.", reply.Text)
	require.True(t, reply.IsConversationEnded)
	require.Equal(t, "All is said.", *reply.EndReason)
	var read restChat
	c.rest(t, http.MethodGet, "/SimulationChat/"+chatID, nil, &read)
	require.True(t, read.Messages[1].IsConversationEnded)
	require.Equal(t, "All is said.", *read.Messages[1].EndReason)
	require.Equal(t, []string{"CONFLICT"}, c.send(t, chatID, "Wait").codes())
	require.Len(t, c.asked(t), 1)
	require.Empty(t, c.kept(t, chatID).ToolCalls)
}

func TestCallTransferEndsTheConversation(t *testing.T) {
	t.Parallel()
	c := openClinic(t,
		calls("transfer_call", `{"reason":"Wants a human."}`), says("I put you through."),
		calls("transfer_call", `{"reason":"Wants a human."}`), says("I cannot put you through."))
	chatID := c.start(t, c.desk, mocking{"mockCallTransfer": true})
	reply := c.say(t, chatID, "A human, please")
	require.Equal(t, "I put you through.", reply.Text)
	require.True(t, reply.IsConversationEnded)
	require.Equal(t, "Wants a human.", *reply.EndReason)
	made := c.kept(t, chatID).ToolCalls
	require.Len(t, made, 1)
	require.Equal(t, "CallTransfer", made[0].Kind)
	require.True(t, made[0].Mocked)

	// Tools are mocked, but the transfer is not, and no telephony provider is configured.
	chatID = c.start(t, c.desk, mocking{"mockAllTools": true})
	reply = c.say(t, chatID, "A human, please")
	require.Equal(t, "I cannot put you through.", reply.Text)
	require.False(t, reply.IsConversationEnded)
	made = c.kept(t, chatID).ToolCalls
	require.Len(t, made, 1)
	require.False(t, made[0].Mocked)
	require.Equal(t, "no telephony provider is configured, so the call cannot be transferred", *made[0].Error)
}

func TestModelCorrectsItsCall(t *testing.T) {
	t.Parallel()
	c := openClinic(t, overloaded, noDay, book, says("You are booked."))
	chatID := c.start(t, c.desk, mocking{"mockAllTools": true})
	require.Equal(t, "You are booked.", c.say(t, chatID, "Book Monday").Text)
	made := c.kept(t, chatID).ToolCalls
	require.Len(t, made, 2)
	require.Equal(t, "the arguments are invalid: missing property 'day'", *made[0].Error)
	require.False(t, made[0].Mocked)
	require.NotNil(t, made[1].Result)
	asked := c.asked(t)
	require.Len(t, asked, 4)
	require.Contains(t, asked[2].callResults()[0], "Correct the call")
}

func TestDelayEndsWithTheChat(t *testing.T) {
	t.Parallel()
	c := openClinic(t, book)
	chatID := c.start(t, c.desk, mocking{"mockedTools": []mocking{mockedTool(c.book, mocking{"delaySeconds": 60})}})
	events := c.follow(t, chatID)
	codes := make(chan []string, 1)
	go func() { codes <- c.send(t, chatID, "Book Monday").codes() }()
	for e := range events {
		if e.Type == "ToolCallStarted" {
			break
		}
	}
	// This needs another client, because the request of the first client is still in progress.
	other := &served{gatewayUnderTest: c.gatewayUnderTest, key: c.key, log: c.log}
	a := other.ask(t, `mutation ($id: ID!) { endSimulationChat(input: {simulationChatId: $id}) { simulationChat { status }
		} }`, map[string]any{"id": chatID})
	require.Empty(t, a.Errors)
	require.Equal(t, []string{"CONFLICT"}, <-codes)
	kept := c.kept(t, chatID)
	require.Equal(t, "Ended", kept.Status)
	require.Len(t, kept.ToolCalls, 1)
	require.False(t, kept.ToolCalls[0].IsTurnKept)
	require.Equal(t, "the turn ended before the call did", *kept.ToolCalls[0].Error)
}

func TestDisconnectCancelsTheCall(t *testing.T) {
	t.Parallel()
	c := openClinic(t, book, calls("book", `{"day":"Tuesday"}`), says("Tuesday it is."))
	a := c.ask(t, `mutation ($desk: ID!, $book: ID!) { startSimulationChat(input: {agentId: $desk,
		toolMocking: {mockedTools: [
		{toolId: $book, rules: [{when: [{argument: "day", equals: "Monday"}], delaySeconds: 60}]}
	]}}) { simulationChat { id } } }`, map[string]any{"desk": c.desk, "book": c.book})
	require.Empty(t, a.Errors)
	var started struct {
		StartSimulationChat struct{ SimulationChat struct{ ID string } }
	}
	require.NoError(t, json.Unmarshal(a.Data, &started))
	chatID := started.StartSimulationChat.SimulationChat.ID
	events := c.follow(t, chatID)
	before := len(c.kept(t, chatID).Messages)

	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/SimulationChat/send-message",
		strings.NewReader(fmt.Sprintf(`{"simulationChatId":%q,"message":"Book Monday"}`, chatID)))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Api-Key", c.key)
	sent := make(chan error, 1)
	go func() {
		response, err := http.DefaultClient.Do(r)
		if err == nil {
			_ = response.Body.Close()
		}
		sent <- err
	}()
	for e := range events {
		if e.Type == "ToolCallStarted" {
			break
		}
	}
	leave()
	require.ErrorIs(t, <-sent, context.Canceled)
	require.Eventually(t, func() bool { return c.kept(t, chatID).Status == "Open" }, 10*time.Second, 10*time.Millisecond)
	require.Len(t, c.kept(t, chatID).Messages, before)
	require.Equal(t, "Tuesday it is.", c.say(t, chatID, "Then Tuesday").Text)
	made := c.kept(t, chatID).ToolCalls
	require.Len(t, made, 2)
	require.False(t, made[0].IsTurnKept)
	require.True(t, made[1].IsTurnKept)
}

func TestTurnTimeoutCancelsTheCall(t *testing.T) {
	t.Parallel()
	ask, back := "Book Monday", "Hello?"
	c := openClinic(t, book.but("match", fixture{"userMessage": ask}), says("I am back.").
		but("match", fixture{"userMessage": back}))
	// If a timeout ends the turn before its call, the test proves nothing, so it retries with a longer timeout.
	for timeout := 500 * time.Millisecond; ; timeout *= 2 {
		hasty := c.serve(t, c.key, func(o *app.EngineOptions) { o.TurnTimeout = timeout })
		chatID := c.start(t, c.desk, mocking{"mockedTools": []mocking{mockedTool(c.book, mocking{"delaySeconds": 60})}})
		status, body := hasty.exchange(t, http.MethodPost, "/SimulationChat/send-message",
			map[string]any{"simulationChatId": chatID, "message": ask})
		require.Equal(t, http.StatusServiceUnavailable, status, string(body))
		require.Contains(t, string(body), "the request took longer than "+timeout.String())
		kept := hasty.kept(t, chatID)
		require.Empty(t, kept.Messages)
		if len(kept.ToolCalls) == 0 && timeout < 30*time.Second {
			continue
		}
		require.Equal(t, "Open", kept.Status)
		require.Len(t, kept.ToolCalls, 1)
		require.False(t, kept.ToolCalls[0].IsTurnKept)
		require.Equal(t, "I am back.", c.say(t, chatID, back).Text)
		return
	}
}
