package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

func TestQuestionIsRewrittenFromTheConversation(t *testing.T) {
	t.Parallel()
	c := newClinic(t, nil)
	var told []llm.Request
	answers := []string{" What does the influenza\n vaccination cost? ", "", strings.Repeat("long ", 300), "fail"}
	rephraser := actor(func(_ context.Context, req llm.Request) (llm.Answer, error) {
		next := answers[len(told)]
		told = append(told, req)
		if next == "fail" {
			return llm.Answer{}, errors.New("no more tokens")
		}
		return say(next)
	})
	e := newEngine(greets, engine.Options{Rephraser: rephraser})
	c.library(t, e, c.agent, model.PromptSettingsInput{}, leaflets())
	chat := c.start(t, e, nil)
	var questions []string
	for _, text := range []string{"Do you do influenza?", "What does it cost?", "And here?", "And there?", "And now?"} {
		_, _, err := send(t.Context(), e, c.tenant, chat.ID, text)
		require.NoError(t, err)
	}
	for _, call := range c.calls(t, chat.ID) {
		questions = append(questions, string(call.Arguments))
	}
	require.Equal(t, []string{
		`{"question":"Do you do influenza?"}`, `{"question":"What does the influenza vaccination cost?"}`,
		`{"question":"And here?"}`, `{"question":"And there?"}`, `{"question":"And now?"}`,
	}, questions)
	require.Equal(t, "Contact: Do you do influenza?\nAgent: Hello\nContact: What does it cost?\n",
		told[0].Messages[0].Text)
	require.Equal(t, 6, strings.Count(told[3].Messages[0].Text, "\n"), "no more than the last messages")
}
