package engine

import (
	"context"
	"strings"
	"sync"

	"github.com/agentgraph/agentgraph/model"
)

// transfer is the one transfer to a human that a turn can make, in whichever of its conversations.
type transfer struct {
	mutex  sync.Mutex
	reason *string
}

// done returns why the contact was transferred; nil when it was not.
func (t *transfer) done() *string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.reason
}

// handOver transfers the contact to a human, or does as if. A turn does so once at most.
func (c *conversation) handOver(ctx context.Context, call *call) (string, error) {
	c.transfer.mutex.Lock()
	defer c.transfer.mutex.Unlock()
	if c.transfer.reason != nil {
		return "", refusal("the contact has been transferred already")
	}
	reason, _ := call.arguments.text("reason")
	reason = strings.TrimSpace(reason)
	result := "The contact is being transferred to a human, and the conversation ends. Say so."
	var err error
	switch call.target.Effect {
	case model.CallEffectMocked:
		result, err = c.mocked(ctx, call)
	case model.CallEffectDenied:
		err = denied
	case model.CallEffectUnavailable:
		err = refusal("no telephony provider is configured, so the call cannot be transferred")
	default:
		err = c.effects.transfer(ctx, reason)
	}
	if err == nil {
		c.transfer.reason = &reason
	}
	return result, err
}
