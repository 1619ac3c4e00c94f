package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
)

// delegate asks a sub-agent, in a conversation of its own, and returns the answer. The sub-agent gets the known facts
// about the contact, under the same names, and values for its own system fields. Followers do not see its text, but its
// calls are announced and recorded.
func (c *conversation) delegate(ctx context.Context, call *call, emit func(event)) (string, error) {
	sub := call.target.subAgent
	if slices.Contains(c.path, sub.DelegateAgentID) {
		return "", callError("the agent behind it is already waiting for this answer, so asking it would never end")
	}
	if len(c.path) > c.limits.depth {
		return "", callError("delegations can be at most " + strconv.Itoa(c.limits.depth) + " deep")
	}
	s, err := c.effects.open(ctx, sub)
	if err != nil {
		return "", err
	}
	variables := content.Values{}
	maps.Copy(variables, c.variables)
	// A missing mandatory field does not stop the sub-agent, because the calling agent has no more to offer.
	missing := FillFields(variables, s.Agent.Fields, c.effects.now())
	inner, err := c.conversation(s, variables, delegated(c.mocking), delegateInstruction)
	if err != nil {
		return "", err
	}
	for _, name := range inner.unknown {
		if !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		call.warnings = append(call.warnings, fmt.Sprintf("the sub-agent %s answers without values for %s, because the "+
			"data bag has none", sub.TechnicalName, strings.Join(missing, ", ")))
	}
	if err := c.beginReal(ctx, call); err != nil {
		return "", err
	}
	request, _ := call.arguments.Text("request")
	inner.path = append(slices.Clone(c.path), s.Agent.ID)
	inner.delegation, inner.channel = &call.record.ID, c.channel
	inner.req.Messages = []llm.Message{{Role: llm.RoleUser, Text: request}}
	reply, err := inner.reply(ctx, func(e event) bool {
		if e.text == "" {
			emit(e)
		}
		return true
	})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		// Neither the calling model nor readers of the call should learn which provider failed, or how.
		call.cause = err
		return "", callError("the sub-agent could not answer")
	}
	call.cause = reply.failure
	return reply.Text, nil
}
