package engine

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/endpoint"
)

// PostWebhook makes one attempt to deliver a message to a webhook, at an address that tools may reach, too.
func (e *Engine) PostWebhook(ctx context.Context, p db.Parcel) (status int, err error) {
	return e.caller.Deliver(ctx, p.URL, endpoint.Message{ID: p.ID, Body: p.Body, Keys: p.Keys})
}
