package model

import (
	"time"

	"github.com/uptrace/bun"
)

// outcomeUnknown is the error of a call whose outcome is unknown. Older versions identified such calls by this text,
// before there was a column for it.
const outcomeUnknown = "the call was begun, and what came of it is not known"

// ToolCall is a call that an agent made in a simulated chat. It never changes after the end of its turn.
type ToolCall struct {
	bun.BaseModel `bun:"table:tool_calls,alias:tool_call"`
	Owned

	ID     string `bun:",pk"`
	ChatID string
	// Position orders the calls of a chat.
	Position      int32
	Kind          ToolCallKind
	TargetID      *string
	TechnicalName string
	Arguments     JSONObject `bun:"type:json"`
	Result        *string
	Mocked        bool
	MockRule      *int32
	// MessageSequence is the number of the contact's message that the call helps to answer.
	MessageSequence int32
	// DelegationID is the call that delegated to the sub-agent which made this call. Nil for calls of the chat's own
	// agent.
	DelegationID *string
	StartedAt    time.Time
	DurationMs   int32
	Error        *string
	// IsOutcomeUnknown is set if the real call has started and not ended. It may still end, or its turn or its
	// process ended first and its outcome will never be known.
	IsOutcomeUnknown bool `bun:",nullzero" json:",omitempty"`
	// IsTurnKept is false if the turn failed after the call.
	IsTurnKept bool
}

// Begin marks the call's outcome as unknown until the call ends.
func (c *ToolCall) Begin() {
	text := outcomeUnknown
	c.Result, c.Error, c.IsOutcomeUnknown = nil, &text, true
}

// Failed reports whether the call failed or its outcome is unknown.
func (c *ToolCall) Failed() bool { return c.Error != nil }

// MayHaveHappened reports whether the call was started for real and its outcome is unknown.
func (c *ToolCall) MayHaveHappened() bool {
	return c.IsOutcomeUnknown || c.Error != nil && *c.Error == outcomeUnknown
}
