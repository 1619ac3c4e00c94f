package engine

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/endpoint"
	"github.com/agentgraph/agentgraph/model"
)

// CheckAddress returns BAD_INPUT when calls of an address would be refused. Where a name leads is only known at the
// call, which is refused then.
func (e *Engine) CheckAddress(path, address string) error {
	var faults model.Fields
	if e.caller.Refuses(address) {
		faults.Add(path, "must lead to a public address; others are called only if the server's operator lists them in "+
			"AGENTGRAPH_TOOL_ALLOW")
	}
	return faults.Err()
}

// PostWebhook makes one attempt to deliver a message to a webhook, at an address that tools may reach, too, or that the
// operator chose.
func (e *Engine) PostWebhook(ctx context.Context, p db.Parcel) (status int, err error) {
	return e.caller.Deliver(ctx, p.URL, endpoint.Message{ID: p.ID, Body: p.Body, Keys: p.Keys, IsOperators: p.IsOperators})
}
