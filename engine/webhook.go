package engine

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/endpoint"
	"github.com/agentgraph/agentgraph/model"
)

// CheckAddress returns BAD_INPUT if calls to an address would be refused. It does not resolve names: a call to a name
// with a private address is refused later.
func (e *Engine) CheckAddress(path, address string) error {
	var faults model.Fields
	if e.caller.Refuses(address) {
		faults.Add(path, "must lead to a public address. To allow a private one, the server's operator lists it in "+
			"AGENTGRAPH_TOOL_ALLOW")
	}
	return faults.Err()
}

// PostWebhook makes one attempt to deliver a message to a webhook. The address must be one that tools may call, or one
// that the operator chose.
func (e *Engine) PostWebhook(ctx context.Context, p db.WebhookRequest) (status int, err error) {
	return e.caller.Deliver(ctx, p.URL, endpoint.Message{ID: p.ID, Body: p.Body, Keys: p.Keys,
		IsOperatorChosen: p.IsOperatorChosen})
}
