package api

import (
	"context"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

const (
	answerApprovalDocument = `mutation ($input: AnswerToolApprovalInput!) {
		answerToolApproval(input: $input) { toolCall { id } }
	}`
	callsDocument = `query ($id: ID!) { node(id: $id) { ... on SimulationChat {
		toolCalls { id technicalName arguments result error mocked durationMs messageSequence }
	} } }`
)

// maxEventResult bounds the result of a call in an event, in characters.
const maxEventResult = 500

// trackApprovals notes the calls that wait for a person.
func (t *conversation) trackApprovals(e chatEvent) {
	if e.Typename != "ToolApprovalChanged" {
		return
	}
	t.waiting = slices.DeleteFunc(t.waiting, func(id string) bool { return id == e.ID })
	if e.Approval == "Pending" {
		t.waiting = append(t.waiting, e.ID)
	}
}

// approve answers the first call that waits: y and yes approve it, and any other line denies it.
func (t *conversation) approve(ctx context.Context, line string) error {
	line = strings.ToLower(strings.TrimSpace(line))
	id := t.waiting[0]
	t.waiting = t.waiting[1:]
	err := t.server.Mutate(ctx, answerApprovalDocument, client.Variables{"input": client.Variables{
		"toolCallId": id, "isApproved": line == "y" || line == "yes",
	}}, nil, &struct{}{})
	if client.CodeOf(err) != "" {
		t.screen.showError(err) // for example, another person has already answered
		return nil
	}
	return err
}

// showCalls shows the calls of the answer whose events have not arrived yet. If the server refuses to list the calls,
// the chat continues: the answer is there, and an API key that may not read the calls gets no events either.
func (t *conversation) showCalls(ctx context.Context) error {
	var read struct {
		Node struct{ ToolCalls []chatEvent }
	}
	err := t.server.Query(ctx, callsDocument, client.Variables{"id": t.id}, &read)
	if client.CodeOf(err) != "" {
		err = nil
	}
	for _, call := range read.Node.ToolCalls {
		if call.MessageSequence <= t.shown {
			continue
		}
		if call.Result != nil {
			text := []rune(*call.Result)
			call.Result = new(string(text[:min(maxEventResult, len(text))]))
		}
		for _, typeName := range []string{"ToolCallStarted", "ToolCallFinished"} {
			if call.Typename = typeName; !t.seen[typeName+call.ID] {
				t.screen.event(call)
			}
		}
	}
	clear(t.seen)
	return err
}
