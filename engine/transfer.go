package engine

import (
	"context"
	"strings"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

// restore reads the outcome of real transfers in earlier turns. All of these turns failed, because a transfer in a turn
// that succeeds ends the chat.
func (t *transfer) restore(calls []*model.ToolCall) {
	for _, call := range calls {
		switch {
		case call.Kind != model.ToolCallKindCallTransfer || call.Mocked:
		case call.Error == nil:
			arguments, _, _ := content.ParseArguments(string(call.Arguments))
			t.reason, t.isReal = reasonIn(arguments), true
		case call.MayHaveHappened():
			t.mayHaveHappened = true
		}
	}
}

func reasonIn(a content.Values) *string {
	reason, _ := a.Text("reason")
	return new(strings.TrimSpace(reason))
}

// handOver transfers the contact to a human, or simulates a transfer. A turn makes at most one transfer.
func (c *conversation) handOver(ctx context.Context, call *call) (string, error) {
	c.transfer.mutex.Lock()
	defer c.transfer.mutex.Unlock()
	if c.transfer.reason != nil {
		return "", callError("the contact has been transferred already")
	}
	reason := reasonIn(call.arguments)
	result := "The contact is being transferred to a human, and the conversation ends. Say so."
	var err error
	switch call.target.Effect {
	case model.CallEffectMocked:
		if result, err = c.answerFromMock(ctx, call); err == nil {
			err = mockedTransferError(c.mocking.CallTransferFailure)
		}
	case model.CallEffectDenied:
		err = errDenied
	case model.CallEffectUnavailable:
		err = callError("no telephony provider is configured, so the call cannot be transferred")
	default:
		err = c.handOverForReal(ctx, call, *reason)
		c.transfer.isReal = err == nil
	}
	if err == nil {
		c.transfer.reason = reason
	}
	return result, err
}

// mockedTransferError returns the error of a mocked transfer, or nil.
func mockedTransferError(failure *model.CallTransferFailure) error {
	switch {
	case failure == nil:
		return nil
	case *failure == model.CallTransferFailureBusy:
		return callError("the line is busy, so the call was not transferred")
	}
	return callError("the call could not be transferred")
}

func (c *conversation) handOverForReal(ctx context.Context, call *call, reason string) error {
	if c.transfer.mayHaveHappened {
		return callError("an earlier transfer may have happened, so it is not repeated")
	}
	if err := c.beginReal(ctx, call); err != nil {
		return err
	}
	return c.effects.transfer(ctx, reason)
}
