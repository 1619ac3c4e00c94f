package model

import (
	"time"

	"github.com/uptrace/bun"
)

// OutcomeUnknown is the error of a call for real that was begun: until it ends, and for good when its turn or
// its process ends before it.
const OutcomeUnknown = "the call was begun, and what came of it is not known"

// ToolCall is a call that an agent made in a simulated chat. Once its turn is over it is never changed.
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
	// MessageSequence is the number of the contact's message that was being answered.
	MessageSequence int32
	// DelegationID is the call in whose conversation this one was made.
	DelegationID *string
	StartedAt    time.Time
	DurationMs   int32
	Error        *string
	// IsTurnKept is false when the turn failed after the call.
	IsTurnKept bool
}
