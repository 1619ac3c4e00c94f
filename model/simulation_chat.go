package model

import (
	"fmt"
	"strconv"
	"time"

	"github.com/uptrace/bun"
)

// Bounds of a simulated chat.
const (
	MaxMessageLength = 4_000
	maxOpening       = 100
	maxOpeningBytes  = 256 << 10
)

// SimulationChat is a simulated text conversation with an agent.
type SimulationChat struct {
	bun.BaseModel `bun:"table:simulation_chats,alias:simulation_chat"`
	Owned

	ID      string `bun:",pk"`
	AgentID string
	// Holder identifies the owner of a chat that was started with the scope chat. Nil for other chats.
	Holder      []byte
	State       SimulationChatStatus `bun:"status"`
	DataBag     JSONObject           `bun:"type:json"`
	ToolMocking ToolMocking          `bun:"type:jsonb"`
	Warnings    []string             `bun:"type:jsonb"`
	// DraftPrompt replaces the agent's prompt if IsDraft is set.
	IsDraft     bool `bun:",nullzero"`
	DraftPrompt *string
	// LastSequence is the number of the last message, or 0 without messages.
	LastSequence int32
	// ReplyID is the id of the turn that holds the chat, and ReplyUntil the end of its lease. Both are nil without a turn.
	// A turn that was suspended or died keeps them, with ReplyUntil in the past, until another turn takes the chat.
	ReplyID    *string
	ReplyUntil *time.Time
	// WaitingText is the contact's message once a call of its turn waits for a person. It is nil again after the turn. A
	// suspended turn keeps it, and so does a chat that a client ended during the wait.
	WaitingText *string
	CreatedAt   time.Time
	EndedAt     *time.Time
	// EndReason is why the agent ended the chat. Nil while the chat is open, and if a client ended it.
	EndReason *string
	// Extracted has the values that the agent asks for, by name. It is nil until they are extracted. ExtractionError is
	// the reason why the extraction failed.
	Extracted       *JSONObject `bun:"type:json"`
	ExtractionError *string
}

// SimulationChatMessage is a message of a chat. Messages of one chat are numbered from 1 without gaps.
type SimulationChatMessage struct {
	bun.BaseModel `bun:"table:simulation_chat_messages,alias:simulation_chat_message"`
	Owned

	ChatID              string `bun:",pk"`
	Sequence            int32  `bun:",pk"`
	Role                MessageRole
	Text                string
	Timestamp           time.Time `bun:"written_at"`
	IsConversationEnded bool
	EndReason           *string
	// Citations are the references in the text, each number once. It is never nil in a row that is written.
	Citations []Citation `bun:"type:jsonb"`
	// Usage has the tokens, times and cost of an answer. It is nil for other messages, and for answers that an older
	// version of the program stored.
	Usage *AnswerUsage `bun:"type:jsonb"`
}

// ID identifies the message across all chats.
func (m *SimulationChatMessage) ID() string {
	return m.ChatID + "." + strconv.Itoa(int(m.Sequence))
}

// Cursor returns the position of this object in a list of chats.
func (c *SimulationChat) Cursor() Cursor { return Cursor{c.CreatedAt, c.ID} }

// MessageCount returns the number of messages.
func (c *SimulationChat) MessageCount() int32 { return c.LastSequence }

// Status returns the state of the chat. A turn whose process died holds the chat until ReplyUntil at most.
func (c *SimulationChat) Status() SimulationChatStatus {
	if c.State == SimulationChatStatusReplying && c.ReplyUntil != nil && c.ReplyUntil.Before(time.Now()) {
		return SimulationChatStatusOpen
	}
	return c.State
}

// Validate returns BAD_INPUT when the filter is out of bounds. A nil filter is valid.
func (f *SimulationChatFilter) Validate() error {
	var faults Fields
	if f != nil {
		faults.list("filter.statuses", len(f.Statuses), len(AllSimulationChatStatus))
	}
	return faults.Err()
}

// Validate returns BAD_INPUT with every bound that the input breaks.
func (in StartSimulationChatInput) Validate() error {
	var faults Fields
	faults.text("agentId", in.AgentID, 1, 64)
	faults.dataBag("dataBag", in.DataBag)
	faults.mocking("toolMocking", in.ToolMocking)
	faults.draft("prompt", in.Prompt)
	faults.visible("prompt", in.Prompt)
	faults.opening("messages", in.Messages)
	return faults.Err()
}

// opening records the faults of the messages that a chat begins with.
func (f *Fields) opening(path string, messages []*TestMessage) {
	if !f.list(path, len(messages), maxOpening) {
		return
	}
	f.messages(path, Values(messages))
	bytes := 0
	for i, m := range messages {
		if bytes += len(m.Text); i > 0 && m.Role == messages[i-1].Role {
			f.Add(fmt.Sprintf("%s.%d.role", path, i), "must differ from the role of the previous message: contact and "+
				"agent take turns")
		}
	}
	if bytes > maxOpeningBytes {
		f.Add(path, "must have at most %d bytes of text together, not %d", maxOpeningBytes, bytes)
	}
	if last := len(messages) - 1; last >= 0 && messages[last].Role == MessageRoleUser {
		f.Add(fmt.Sprintf("%s.%d.role", path, last), "must be assistant in the last message: the contact speaks next")
	}
}

// Validate returns BAD_INPUT when the text is out of bounds.
func (in SendSimulationMessageInput) Validate() error {
	var faults Fields
	faults.text("text", in.Text, 1, MaxMessageLength)
	return faults.Err()
}
