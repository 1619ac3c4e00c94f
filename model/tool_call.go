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
	// IsOutcomeUnknown is set if a real call has started but not ended. Either the call is still in progress, or its turn
	// or its process ended first. Then its outcome will never be known.
	IsOutcomeUnknown bool `bun:",nullzero" json:",omitempty"`
	// Real is set if the call was made for real, see IsReal. Nil in rows that an older version of the program stored.
	Real *bool `bun:"is_real" json:",omitempty"`
	// IsTurnKept is false if the turn failed after the call.
	IsTurnKept bool
	// Approval is nil if no person was asked.
	Approval *ToolCallApproval `json:",omitempty"`
	// WaitsUntil is set while the call waits for a person, and until the turn takes up the answer.
	WaitsUntil   *time.Time `bun:"approval_until" json:"ApprovalUntil,omitempty"`
	ApprovalNote *string    `json:",omitempty"`
}

// ApprovalWait is how long a call waits for a person before it counts as denied.
const ApprovalWait = 10 * time.Minute

// NobodyAnswered is the note of a call that nobody approved or denied in time.
const NobodyAnswered = "nobody answered within 10 minutes"

// TurnEnded is the note of a call that nobody approved or denied before its turn was given up.
const TurnEnded = "the chat continued or ended before anybody answered"

// ApprovedInVain is the error of a call that was approved, but whose turn was given up before it was made.
const ApprovedInVain = "the call was approved, but not made: the chat continued or ended first"

// Ask marks the call as one that waits for a person.
func (c *ToolCall) Ask(now time.Time) {
	c.Result, c.Error = nil, new("the call waits for a person's approval")
	c.Approval, c.WaitsUntil = new(ToolCallApprovalPending), new(now.Add(ApprovalWait))
}

// Waits reports whether a person can answer the call of the chat.
func (c *ToolCall) Waits(chat *SimulationChat, now time.Time) bool {
	return c.Approval != nil && *c.Approval == ToolCallApprovalPending && now.Before(*c.WaitsUntil) &&
		chat.State != SimulationChatStatusEnded && chat.LastSequence < c.MessageSequence
}

// ApprovalUntil returns the time until which the call waits for a person, or nil if it does not wait.
func (c *ToolCall) ApprovalUntil() *time.Time {
	if c.WaitsUntil == nil || c.Approval == nil || *c.Approval != ToolCallApprovalPending || c.IsOverdue(time.Now()) {
		return nil
	}
	return c.WaitsUntil
}

// IsOverdue reports whether nobody has answered in time.
func (c *ToolCall) IsOverdue(now time.Time) bool {
	return *c.Approval == ToolCallApprovalPending && !now.Before(*c.WaitsUntil)
}

// Answer records what a person said. WaitsUntil remains until the turn takes up the answer.
func (c *ToolCall) Answer(isApproved bool, note *string) {
	c.Approval, c.ApprovalNote = new(ToolCallApprovalDenied), note
	c.Result, c.Error = nil, new(DeniedError(note))
	if isApproved {
		c.Approval, c.Error = new(ToolCallApprovalApproved), new("the call was approved, but has not been made yet")
	}
}

// DeniedError returns the error of a call that a person denied, with the person's note if there is one.
func DeniedError(note *string) string {
	const denied = "a person did not approve the call, so nothing was done"
	if note == nil {
		return denied
	}
	return denied + ": " + *note
}

// Validate returns BAD_INPUT when the note is out of bounds.
func (in AnswerToolApprovalInput) Validate() error {
	var faults Fields
	if in.Note != nil {
		faults.text("note", *in.Note, 1, 1_000)
	}
	return faults.Err()
}

// Begin marks the call as real and its outcome as unknown until the call ends.
func (c *ToolCall) Begin() {
	text := outcomeUnknown
	c.Result, c.Error, c.IsOutcomeUnknown, c.Real = nil, &text, true, new(true)
}

// Failed reports whether the call failed or its outcome is unknown.
func (c *ToolCall) Failed() bool { return c.Error != nil }

// IsReal reports whether the gateway made the call, even if it failed: it called an endpoint or an MCP server, asked a
// sub-agent, or transferred the contact. It is false for searches, and for failed calls that an older version of the
// program stored without Real.
func (c *ToolCall) IsReal() bool {
	if c.Real != nil {
		return *c.Real
	}
	return !c.Mocked && c.Kind != ToolCallKindRetrieval && (!c.Failed() || c.MayHaveHappened())
}

// MayHaveHappened reports whether the call was started for real and its outcome is unknown.
func (c *ToolCall) MayHaveHappened() bool {
	return c.IsOutcomeUnknown || c.Error != nil && *c.Error == outcomeUnknown
}
