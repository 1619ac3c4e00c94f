package db

import (
	"context"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/model"
)

// Turn is the right to answer the contact in a chat. One Turn holds a chat at a time, by a lease: a
// process that dies in mid-turn leaves the chat usable as soon as the lease is over, and whatever it
// still tries comes to nothing. Finish or Release ends it.
type Turn struct {
	ID string
	// Chat is as it was when the turn began.
	Chat *model.SimulationChat
	// Spent is what the turn has cost, which Finish records; nil for nothing.
	Spent *model.UsageEntry

	tenant *Tenant
	lease  time.Duration
	signal notify.Key
	// written is how many characters of the reply were streamed.
	written int32
	// warnings are those that the chat does not have yet.
	warnings []string
}

// messagesOfTurn is what a turn writes: the contact's message and the reply.
const messagesOfTurn = 2

// BeginTurn claims a chat for the lease. CONFLICT when the chat has ended or another turn holds it.
func (t *Tenant) BeginTurn(ctx context.Context, chatID string, lease time.Duration) (*Turn, error) {
	id := model.NewID("turn")
	// Leases are measured by the database's clock alone: those of the replicas may differ.
	chat, err := changeChat(ctx, t.change((*model.SimulationChat)(nil)).
		Set("status = ?", model.SimulationChatStatusReplying).Set("reply_id = ?", id).Set(untilLeaseEnds, lease.Microseconds()).
		Where("id = ?", chatID).
		Where("status = ? OR status = ? AND reply_until < now()", model.SimulationChatStatusOpen, model.SimulationChatStatusReplying).
		ApplyQueryBuilder(t.reachable))
	if err != nil {
		return nil, err
	}
	if chat == nil {
		return nil, t.whyNot(ctx, chatID)
	}
	return &Turn{ID: id, Chat: chat, tenant: t, lease: lease, signal: t.signalOf(chatID)}, nil
}

const untilLeaseEnds = "reply_until = now() + ? * interval '1 microsecond'"

// change is a change of the chat that takes place only while the turn holds it.
func (u *Turn) change(t *Tenant) *bun.UpdateQuery {
	return t.change((*model.SimulationChat)(nil)).Where("id = ?", u.Chat.ID).Where("reply_id = ?", u.ID)
}

// whyNot says why no message can be sent to a chat now.
func (t *Tenant) whyNot(ctx context.Context, chatID string) error {
	chat, err := t.SimulationChat(ctx, chatID)
	if err != nil {
		return err
	}
	if chat.State == model.SimulationChatStatusEnded {
		return model.Errorf(model.Conflict, "simulation chat %q has ended", chatID)
	}
	return model.Errorf(model.Conflict, "another message of simulation chat %q is being answered; send again when the reply is written", chatID)
}

// KeepAlive keeps the claim alive until the returned function is called. The returned context ends with
// ctx, and, with the CONFLICT as its cause, when the claim is lost: the chat was ended, or another turn took it over.
func (u *Turn) KeepAlive(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := u.tenant.store.hub.Subscribe(u.signal)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		defer signals.Close()
		beat := time.NewTicker(u.lease/3 + 1)
		defer beat.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
			case <-signals.Woken():
			}
			chat, err := changeChat(ctx, u.change(u.tenant).Set(untilLeaseEnds, u.lease.Microseconds()))
			// A database that does not answer may do so at the next beat.
			if err == nil && chat == nil {
				cancel(u.tenant.whyNot(ctx, u.Chat.ID))
				return
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-stopped
	}
}

// Write streams the next piece of the reply to the chat's subscribers. Nothing is kept of it. It is not safe
// for concurrent use.
func (u *Turn) Write(text string) {
	u.tenant.store.hub.Write(u.signal, model.MessageDelta{
		Sequence: u.Chat.LastSequence + messagesOfTurn, TurnID: u.ID, Offset: u.written, Text: text,
	})
	u.written += int32(utf8.RuneCountInString(text))
}

// Warn adds a warning to the chat, unless it has the same one. Finish and Release keep it. It is not safe for
// concurrent use.
func (u *Turn) Warn(warning string) {
	if !slices.Contains(u.Chat.Warnings, warning) && !slices.Contains(u.warnings, warning) {
		u.warnings = append(u.warnings, warning)
	}
}

// end is the change that gives the chat back, with what it is warned of.
func (u *Turn) end(t *Tenant) *bun.UpdateQuery {
	query := u.change(t).Set("reply_id = NULL").Set("reply_until = NULL")
	if len(u.warnings) == 0 {
		return query
	}
	return query.Set("warnings = to_jsonb(?::text[])", pgdialect.Array(slices.Concat(u.Chat.Warnings, u.warnings)))
}

// Announce tells the chat's subscribers that the turn or a call began or ended, or that the turn failed. Nothing is kept of
// it.
func (u *Turn) Announce(event model.SimulationChatEvent) {
	u.tenant.store.hub.Announce(u.signal, u.Chat.LastSequence+messagesOfTurn, event)
}

// Finish keeps the contact's message, the reply and the calls that led to it, numbers them, and
// returns the chat after them, ended when the reply ends it. CONFLICT, and no message is kept, when
// the claim was lost.
func (u *Turn) Finish(ctx context.Context, message, reply *model.SimulationChatMessage, calls []*model.ToolCall) (*model.SimulationChat, error) {
	var chat *model.SimulationChat
	err := u.tenant.inTx(ctx, func(ctx context.Context, t tenantTx) (err error) {
		query := u.end(t.Tenant).Set("last_sequence = last_sequence + ?", messagesOfTurn)
		if reply.IsConversationEnded {
			query = query.Set("status = ?", model.SimulationChatStatusEnded).
				Set("ended_at = ?", reply.Timestamp).Set("end_reason = ?", reply.EndReason)
		} else {
			query = query.Set("status = ?", model.SimulationChatStatusOpen)
		}
		if chat, err = changeChat(ctx, query); err != nil {
			return err
		}
		if chat == nil {
			return t.whyNot(ctx, u.Chat.ID)
		}
		message.ChatID, message.Sequence, message.Role = chat.ID, chat.LastSequence-1, model.MessageRoleUser
		reply.ChatID, reply.Sequence, reply.Role = chat.ID, chat.LastSequence, model.MessageRoleAssistant
		for _, m := range []*model.SimulationChatMessage{message, reply} {
			if m.Citations == nil {
				m.Citations = []model.Citation{}
			}
		}
		if err := insert(ctx, t.Tenant, message, reply); err != nil {
			return err
		}
		if err := u.record(ctx, t.Tenant, calls, true); err != nil {
			return err
		}
		t.wake(chat.ID)
		return t.spend(ctx, map[string]*model.UsageEntry{fmt.Sprintf("%s:%d", chat.ID, chat.LastSequence): u.Spent})
	})
	if err != nil {
		return nil, err
	}
	return chat, nil
}

// Release gives the chat back with no message kept. The calls are kept as evidence: what they did is
// done. A claim that was lost stays lost.
func (u *Turn) Release(ctx context.Context, calls []*model.ToolCall) error {
	return u.tenant.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if _, err := changeChat(ctx, u.end(t.Tenant).Set("status = ?", model.SimulationChatStatusOpen)); err != nil {
			return err
		}
		return u.record(ctx, t.Tenant, calls, false)
	})
}
