package db

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// ChatTurn is the right to answer the contact in a chat. One ChatTurn at a time holds a chat, by a lease. If its
// process dies during the turn, the chat is usable again when the lease ends, and later writes of the turn have no
// effect. Finish, Release or Suspend ends the turn.
type ChatTurn struct {
	ID string
	// Chat is the chat at the start of the turn.
	Chat *model.SimulationChat
	// Spent is the cost of the turn. Finish, Release and Suspend record it in their transactions, and set it to nil. So
	// it is recorded at most once, even if Finish fails after its commit. Nil if there is no cost.
	Spent *model.UsageEntry

	tenant *Tenant
	lease  time.Duration
	signal notify.Key
	// written counts the characters of the reply that were streamed.
	written int32
	// warnings are the warnings that the chat does not have yet.
	warnings []string
	// hasAsked is set once a call of the turn has waited for a person.
	hasAsked atomic.Bool
}

// messagesPerTurn is the number of messages of a turn: the contact's message and the reply.
const messagesPerTurn = 2

// BeginChatTurn claims a chat for the lease. It returns NOT_FOUND when the chat is missing or out of reach, and
// CONFLICT when it has ended or another turn holds it.
func (t *Tenant) BeginChatTurn(ctx context.Context, chatID string, lease time.Duration) (*ChatTurn, error) {
	id := model.NewID("turn")
	var holder, agentIDs any
	if t.reach != nil {
		holder = append([]byte{}, t.reach.Holder...) // not NULL, which would select the chats of all holders
		if len(t.reach.AgentIDs) > 0 {
			agentIDs = t.reach.AgentIDs
		}
	}
	chats := []*model.SimulationChat{}
	w := t.db.Batch()
	w.Add(claimChat, &chats, chatID, id, lease.Microseconds(), agentIDs, holder)
	if err := w.Send(ctx); err != nil {
		return nil, err
	}
	if len(chats) == 0 {
		return nil, t.turnConflict(ctx, chatID)
	}
	return &ChatTurn{ID: id, Chat: chats[0], tenant: t, lease: lease, signal: t.signalOf(chatID)}, nil
}

// claimChat is the statement that claims a chat for a turn. Only the database's clock measures leases, because the
// replicas' clocks may differ.
var claimChat = pg.NewQuery(func(t *pg.Tables) (string, []string) {
	return chatAfter(t, t.Update((*model.SimulationChat)(nil)).
		Set("status = ?", model.SimulationChatStatusReplying).Set("reply_id = ?", pg.Param(3)).
		Set(untilLeaseEnds, pg.Param(4)).
		Where("id = ?", pg.Param(2)).
		Where("status = ? OR status = ? AND reply_until < now()", model.SimulationChatStatusOpen,
			model.SimulationChatStatusReplying).
		Where("?0::text[] IS NULL OR agent_id = ANY (?0)", pg.Param(5)).Where("?0::bytea IS NULL OR holder = ?0",
		pg.Param(6)))
})

// chatAfter returns the statement of a change that returns the changed chat.
func chatAfter(t *pg.Tables, change *bun.UpdateQuery) (string, []string) {
	columns := t.ColumnsToRead(reflect.TypeFor[model.SimulationChat](), nil)
	for _, column := range columns {
		change = change.Returning("?TableAlias.?", bun.Ident(column))
	}
	return change.String(), columns
}

const untilLeaseEnds = "reply_until = now() + ? * interval '1 microsecond'"

// renewTurnLease is the statement that renews the lease of a turn, if the turn still holds the chat.
var renewTurnLease = pg.NewQuery(func(t *pg.Tables) (string, []string) {
	return t.Update((*model.SimulationChat)(nil)).Set(untilLeaseEnds, pg.Param(4)).
		Where("id = ?", pg.Param(2)).Where("reply_id = ?", pg.Param(3)).Returning("?TableAlias.id").String(), []string{"id"}
})

// addRenewal adds the renewal of the turn's lease to a batch. The result has a chat if the turn still holds it.
func (u *ChatTurn) addRenewal(w *pg.Batch) *[]*model.SimulationChat {
	chats := &[]*model.SimulationChat{}
	w.Add(renewTurnLease, chats, u.Chat.ID, u.ID, u.lease.Microseconds())
	return chats
}

// holdTurn is the statement that locks the chat for its batch, if the turn still holds it.
var holdTurn = pg.Required(func(t *pg.Tables) *bun.SelectQuery {
	return t.Select((*model.SimulationChat)(nil)).Column("id").Where("id = ?", pg.Param(2)).
		Where("reply_id = ?", pg.Param(3)).For("UPDATE")
})

// requireTurn adds to a batch the condition that the turn still holds the chat. Call it before adding other statements.
func (u *ChatTurn) requireTurn(w *pg.Batch) {
	w.Require(holdTurn, u.Chat.ID, u.ID)
}

// turnConflict returns the reason why no message can be sent to a chat now.
func (t *Tenant) turnConflict(ctx context.Context, chatID string) error {
	chat, err := t.SimulationChat(ctx, chatID)
	if err != nil {
		return err
	}
	if chat.State == model.SimulationChatStatusEnded {
		return model.Errorf(model.Conflict, "simulation chat %q has ended", chatID)
	}
	return model.Errorf(model.Conflict, "simulation chat %q is answering another message: send this one after the "+
		"reply", chatID)
}

// KeepAlive renews the lease until the returned function is called. The returned context ends with ctx. It also ends
// when the claim is lost, because the chat was ended or deleted, or another turn took it over. Its cause is then
// CONFLICT or NOT_FOUND.
func (u *ChatTurn) KeepAlive(ctx context.Context) (context.Context, func()) {
	return onBeat(ctx, u.lease/3+1, u.tenant.store.hub.Subscribe(u.signal), func(ctx context.Context) error {
		w := u.tenant.db.Batch()
		chats := u.addRenewal(w)
		// The database may answer at the next beat.
		if err := w.Send(ctx); err == nil && len(*chats) == 0 {
			return u.tenant.turnConflict(ctx, u.Chat.ID)
		}
		return nil
	})
}

// Write streams the next piece of the reply to the chat's subscribers. The piece is not saved. Write is not safe for
// concurrent use.
func (u *ChatTurn) Write(text string) {
	u.tenant.store.hub.Write(u.signal, model.MessageDelta{
		Sequence: u.Chat.LastSequence + messagesPerTurn, TurnID: u.ID, Offset: u.written, Text: text,
	})
	u.written += int32(utf8.RuneCountInString(text))
}

// Warn adds a warning to the chat, unless the chat has the same one. Finish and Release save it. Warn is not safe for
// concurrent use.
func (u *ChatTurn) Warn(warning string) {
	warning = strings.ToValidUTF8(strings.ReplaceAll(warning, "\x00", ""),
		"\uFFFD") // a warning that Postgres cannot store must not fail the turn
	if !slices.Contains(u.Chat.Warnings, warning) && !slices.Contains(u.warnings, warning) {
		u.warnings = append(u.warnings, warning)
	}
}

// endTurn is the statement that releases the chat, if the turn still holds it. It sets the state, the number of the
// last message and the warnings. If the chat has ended, it also sets the time and the reason. It also releases a chat
// whose agent was deleted during the turn, because claimChat already checked for deletion.
var endTurn = pg.NewQuery(func(t *pg.Tables) (string, []string) {
	return t.UpdateAll((*model.SimulationChat)(nil)).Set("reply_id = NULL").Set("reply_until = NULL").
		Set("waiting_text = NULL").
		Set("status = ?", pg.Param(4)).Set("last_sequence = ?", pg.Param(5)).
		Set("warnings = coalesce(?::jsonb, warnings)", pg.Param(6)).
		Set("ended_at = ?", pg.Param(7)).Set("extraction_at = ?", pg.Param(7)).Set("end_reason = ?", pg.Param(8)).
		Where("id = ?", pg.Param(2)).Where("reply_id = ?", pg.Param(3)).String(), nil
})

// chatAfterTurn returns the chat after the turn, which added the given number of messages. No other request changes the
// chat while the turn holds it. The chat has ended if the reply, which may be nil, ends it.
func (u *ChatTurn) chatAfterTurn(messages int32, reply *model.SimulationChatMessage) *model.SimulationChat {
	chat := *u.Chat
	chat.State, chat.ReplyID, chat.ReplyUntil = model.SimulationChatStatusOpen, nil, nil
	chat.LastSequence += messages
	chat.Warnings = append(slices.Clip(chat.Warnings), u.warnings...)
	if reply != nil && reply.IsConversationEnded {
		chat.State, chat.EndedAt, chat.EndReason = model.SimulationChatStatusEnded,
			new(reply.Timestamp.Truncate(time.Microsecond).Local()), reply.EndReason
	}
	return &chat
}

// addRelease adds the statement that releases the chat in its new state.
func (u *ChatTurn) addRelease(w *pg.Batch, chat *model.SimulationChat) {
	var at, reason, warnings any
	if chat.EndedAt != nil {
		at = *chat.EndedAt
	}
	if chat.EndReason != nil {
		reason = *chat.EndReason
	}
	if len(u.warnings) > 0 {
		text, _ := json.Marshal(chat.Warnings) // a list of texts is always valid
		warnings = string(text)
	}
	w.Add(endTurn, nil, chat.ID, u.ID, chat.State, chat.LastSequence, warnings, at, reason)
}

// Announce sends an event to the chat's subscribers: the turn started or failed, a call started or finished, or the
// approval of a call changed. The event is not saved.
func (u *ChatTurn) Announce(event model.SimulationChatEvent) {
	u.tenant.store.hub.Announce(u.signal, u.Chat.LastSequence+messagesPerTurn, event)
}

// Finish saves the contact's message, the reply and its calls, and numbers them. It returns the changed chat, which has
// ended if the reply ends it. When the claim was lost, it saves no message and returns CONFLICT.
func (u *ChatTurn) Finish(ctx context.Context, message, reply *model.SimulationChatMessage,
	calls []*model.ToolCall) (*model.SimulationChat, error) {
	// No other request writes messages while the turn holds the chat.
	message.Sequence, message.Role = u.Chat.LastSequence+1, model.MessageRoleUser
	reply.Sequence, reply.Role = u.Chat.LastSequence+messagesPerTurn, model.MessageRoleAssistant
	chat := u.chatAfterTurn(messagesPerTurn, reply)
	w := u.tenant.db.Batch()
	u.requireTurn(w)
	u.addRelease(w, chat)
	for _, m := range []*model.SimulationChatMessage{message, reply} {
		m.ChatID = u.Chat.ID
		if m.Citations == nil {
			m.Citations = []model.Citation{}
		}
	}
	w.Insert(message, reply)
	u.addCalls(w, calls, true)
	announce := u.addGivenUp(w)
	spent := u.spending(w, strconv.Itoa(int(reply.Sequence)))
	isKept, err := w.Commit(ctx, announce, func() { u.tenant.wake(u.Chat.ID) }, spent)
	switch {
	case err != nil:
		return nil, err
	case !isKept:
		return nil, u.tenant.turnConflict(ctx, u.Chat.ID)
	}
	return chat, nil
}

// spending adds the cost of the turn to a batch, like Tenant.spending. Only one ending of the turn records it.
func (u *ChatTurn) spending(w *pg.Batch, key string) (afterwards func()) {
	spent := u.Spent
	u.Spent = nil
	return u.tenant.spending(w, u.Chat.ID+":"+key, spent)
}

// Release releases the chat without saving a message, unless the claim was lost. It saves the calls and the cost in any
// case, because their effects remain.
func (u *ChatTurn) Release(ctx context.Context, calls []*model.ToolCall) error {
	w := u.tenant.db.Batch()
	u.addRelease(w, u.chatAfterTurn(0, nil))
	u.addCalls(w, calls, false)
	announce := u.addGivenUp(w)
	spent := u.spending(w, u.ID)
	_, err := w.Commit(ctx, announce, spent)
	return err
}
