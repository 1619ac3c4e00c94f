package db

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

const toolCall = "tool call"

// approvalPoll is how often a waiting turn looks for an answer whose signal was lost.
const approvalPoll = 2 * time.Second

// PendingApprovalsOfChats are the calls of chats that wait for a person, oldest first.
var PendingApprovalsOfChats = pg.Rows{
	Model: (*model.ToolCall)(nil), Key: "relation.id",
	Join: joinChat + " AND relation.status <> 'Ended' AND relation.last_sequence < ?TableAlias.message_sequence AND " +
		"?TableAlias.approval = 'Pending' AND ?TableAlias.approval_until > now()",
	Order: "?TableAlias.started_at, ?TableAlias.id",
}

// AnswerToolApproval approves or denies a call that waits for a person. It returns CONFLICT when the call no longer
// waits, or when its chat has ended.
func (t *Tenant) AnswerToolApproval(ctx context.Context, in model.AnswerToolApprovalInput) (*model.ToolCall, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	call := &model.ToolCall{}
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := t.db.One(ctx, toolCall, in.ToolCallID, call); err != nil {
			return err
		}
		// Every transaction locks chats before their calls.
		chat := &model.SimulationChat{}
		if err := t.lock(ctx, simulationChat, call.ChatID, chat, forShare); err != nil {
			return err
		}
		if err := t.lock(ctx, toolCall, in.ToolCallID, call, forUpdate); err != nil {
			return err
		}
		if !call.Waits(chat, now()) {
			return model.Errorf(model.Conflict, "tool call %q is not waiting for an answer", call.ID)
		}
		call.Answer(in.IsApproved, in.Note)
		if _, err := t.saveAnswer(ctx, call); err != nil {
			return err
		}
		return t.audit(ctx, model.AuditActionAnswerToolApproval, call.ChatID)
	})
	if err == nil {
		t.wake(call.ChatID)
	}
	return call, err
}

// saveAnswer saves the answer to a call, and returns whether the call was Pending.
func (t *Tenant) saveAnswer(ctx context.Context, call *model.ToolCall) (bool, error) {
	return pg.Affects(t.db.Update((*model.ToolCall)(nil)).Set("approval = ?", *call.Approval).
		Set("approval_note = ?", call.ApprovalNote).Set("result = NULL").Set("error = ?", call.Error).
		Where("id = ?", call.ID).Where("approval = ?", model.ToolCallApprovalPending).Exec(ctx))
}

// WaitingCalls returns the calls for which an earlier attempt at the turn requested approval. It leaves out calls that
// were made. It reads nothing if there was no such attempt.
func (u *ChatTurn) WaitingCalls(ctx context.Context) ([]*model.ToolCall, error) {
	calls := []*model.ToolCall{}
	if u.Chat.WaitingText == nil {
		return calls, nil
	}
	return calls, u.tenant.db.Select(&calls).Where("chat_id = ?", u.Chat.ID).
		Where("message_sequence = ?", u.Chat.LastSequence+1).Where("approval_until IS NOT NULL").
		Order("started_at", "id").Limit(maxContextCalls).Scan(ctx)
}

// RequestApproval records that a call waits for a person, together with the contact's message, so that another process
// can continue. It sets the call's approval, which is not Pending if a person answered an earlier attempt. It returns
// CONFLICT when the claim was lost.
func (u *ChatTurn) RequestApproval(ctx context.Context, call *model.ToolCall, text string) error {
	call.Ask(now())
	u.assignToTurn(call)
	u.hasAsked.Store(true)
	w := u.tenant.db.Batch()
	u.requireTurn(w)
	w.Add(setWaiting, nil, u.Chat.ID, u.ID, text)
	w.InsertOr("CONFLICT (company_id, id) DO UPDATE", "message_sequence = EXCLUDED.message_sequence", call)
	isKept, err := w.Commit(ctx)
	switch {
	case err != nil:
		return err
	case !isKept:
		return u.tenant.turnConflict(ctx, u.Chat.ID)
	}
	if err := u.readAnswer(ctx, call); err != nil || *call.Approval != model.ToolCallApprovalPending {
		return err
	}
	u.announceApproval(call)
	return nil
}

// AwaitAnswer returns once the call that RequestApproval recorded is no longer Pending. A call that nobody answers in
// time is denied.
func (u *ChatTurn) AwaitAnswer(ctx context.Context, call *model.ToolCall) error {
	signals := u.tenant.store.hub.Subscribe(u.signal)
	defer signals.Close()
	poll := time.NewTicker(approvalPoll)
	defer poll.Stop()
	for *call.Approval == model.ToolCallApprovalPending {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-signals.Woken():
		case <-poll.C:
		}
		if err := u.readAnswer(ctx, call); err != nil {
			return err
		}
	}
	return nil
}

// readAnswer reads a person's answer to a waiting call. It denies an overdue call.
func (u *ChatTurn) readAnswer(ctx context.Context, call *model.ToolCall) error {
	current := &model.ToolCall{}
	if err := u.tenant.db.One(ctx, toolCall, call.ID, current); err != nil {
		return err
	}
	if current.Approval == nil {
		return model.Errorf(model.Conflict, "tool call %q does not wait for a person", call.ID)
	}
	if current.IsOverdue(now()) {
		current.Answer(false, new(model.NobodyAnswered))
		isSaved, err := u.tenant.saveAnswer(ctx, current)
		if err != nil {
			return err
		}
		if !isSaved {
			return u.readAnswer(ctx, call) // a person was faster
		}
	}
	call.Approval, call.WaitsUntil, call.ApprovalNote = current.Approval, current.WaitsUntil, current.ApprovalNote
	if *call.Approval != model.ToolCallApprovalPending {
		call.WaitsUntil, call.Error = nil, nil
		u.announceApproval(call)
	}
	return nil
}

func (u *ChatTurn) announceApproval(call *model.ToolCall) { u.Announce(approvalChanged(call)) }

func approvalChanged(call *model.ToolCall) model.ToolApprovalChanged {
	return model.ToolApprovalChanged{
		ID: call.ID, TechnicalName: call.TechnicalName, Arguments: call.Arguments, MessageSequence: call.MessageSequence,
		Approval: *call.Approval, ApprovalUntil: call.ApprovalUntil(), ApprovalNote: call.ApprovalNote,
	}
}

// giveUpCalls is the statement that ends the chat's calls that need approval and were not made. Calls that still wait
// for a person become denied. It changes nothing while a turn holds the chat.
var giveUpCalls = pg.NewQuery(func(t *pg.Tables) (string, []string) {
	columns := t.ColumnsToRead(reflect.TypeFor[model.ToolCall](), nil)
	change := t.Update((*model.ToolCall)(nil)).Set("approval_until = NULL").
		Set("approval = CASE approval WHEN 'Pending' THEN 'Denied' ELSE approval END").
		Set("approval_note = CASE approval WHEN 'Pending' THEN ? ELSE approval_note END", pg.Param(3)).
		Set("result = CASE approval WHEN 'Pending' THEN NULL ELSE result END").
		Set("error = CASE approval WHEN 'Pending' THEN ? WHEN 'Approved' THEN ? ELSE error END", pg.Param(4), pg.Param(5)).
		Where("chat_id = ?", pg.Param(2)).Where("approval_until IS NOT NULL").
		Where("EXISTS (SELECT 1 FROM simulation_chats AS chat WHERE chat.company_id = ? AND chat.id = ? AND "+
			"(chat.reply_id IS NULL OR chat.reply_id = ?))", pg.Param(1), pg.Param(2), pg.Param(6))
	for _, column := range columns {
		change = change.Returning("?TableAlias.?", bun.Ident(column))
	}
	return change.String(), columns
})

// addGivenUp adds giveUpCalls to a batch, after the statement that ends the chat or the turn with the id. After the
// commit, call the returned function, which announces the calls.
func (t *Tenant) addGivenUp(w *pg.Batch, chat *model.SimulationChat, turnID string) (announce func()) {
	calls := []*model.ToolCall{}
	w.Add(giveUpCalls, &calls, chat.ID, model.TurnEnded, model.DeniedError(new(model.TurnEnded)), model.ApprovedInVain,
		turnID)
	return func() {
		for _, call := range calls {
			t.store.hub.Announce(t.signalOf(chat.ID), chat.LastSequence+messagesPerTurn, approvalChanged(call))
		}
	}
}

// addGivenUp does the same as Tenant.addGivenUp if this turn or an earlier attempt has asked a person. Otherwise, it
// adds nothing.
func (u *ChatTurn) addGivenUp(w *pg.Batch) (announce func()) {
	if u.Chat.WaitingText == nil && !u.hasAsked.Load() {
		return func() {}
	}
	return u.tenant.addGivenUp(w, u.Chat, u.ID)
}

// keepCalls is the statement that keeps the calls before a message's answer, although there is no answer. The agent
// then remembers the calls.
var keepCalls = pg.NewQuery(func(t *pg.Tables) (string, []string) {
	return t.Update((*model.ToolCall)(nil)).Set("is_turn_kept = TRUE").Where("chat_id = ?", pg.Param(2)).
		Where("message_sequence = ?", pg.Param(3)).String(), nil
})

// advanceChat is the statement that counts a message of the turn, if the turn still holds the chat.
var advanceChat = pg.NewQuery(func(t *pg.Tables) (string, []string) {
	return t.Update((*model.SimulationChat)(nil)).Set("last_sequence = ?", pg.Param(4)).Set("waiting_text = NULL").
		Where("id = ?", pg.Param(2)).Where("reply_id = ?", pg.Param(3)).String(), nil
})

// KeepWaiting saves the message of an earlier attempt whose calls wait for a person, because the contact does not wait
// for them: the message of this turn is another one. The calls are denied. It returns CONFLICT when the claim was lost.
func (u *ChatTurn) KeepWaiting(ctx context.Context) error {
	calls, err := u.WaitingCalls(ctx)
	if err != nil {
		return err
	}
	message := &model.SimulationChatMessage{ChatID: u.Chat.ID, Sequence: u.Chat.LastSequence + 1,
		Role: model.MessageRoleUser, Text: *u.Chat.WaitingText, Timestamp: now(), Citations: []model.Citation{}}
	if len(calls) > 0 {
		message.Timestamp = calls[0].StartedAt
	}
	w := u.tenant.db.Batch()
	u.requireTurn(w)
	w.Add(advanceChat, nil, u.Chat.ID, u.ID, message.Sequence)
	w.Insert(message)
	w.Add(keepCalls, nil, u.Chat.ID, message.Sequence)
	announce := u.addGivenUp(w)
	isKept, err := w.Commit(ctx, announce, func() { u.tenant.wake(u.Chat.ID) })
	switch {
	case err != nil:
		return err
	case !isKept:
		return u.tenant.turnConflict(ctx, u.Chat.ID)
	}
	u.Chat.LastSequence, u.Chat.WaitingText = message.Sequence, nil
	return nil
}

// setWaiting is the statement that stores the contact's message while a call of its turn waits for a person.
var setWaiting = pg.NewQuery(func(t *pg.Tables) (string, []string) {
	return t.Update((*model.SimulationChat)(nil)).Set("waiting_text = ?", pg.Param(4)).
		Where("id = ?", pg.Param(2)).Where("reply_id = ?", pg.Param(3)).String(), nil
})

// Suspend releases the chat while calls wait for a person. Once they are answered, enqueueWaiting starts the turn
// again. It saves the other calls and the cost, even if the claim was lost, because their effects remain.
func (u *ChatTurn) Suspend(ctx context.Context, calls []*model.ToolCall) error {
	var others []*model.ToolCall
	for _, call := range calls {
		if call.WaitsUntil == nil {
			others = append(others, call)
		}
	}
	w := u.tenant.db.Batch()
	w.Add(suspendTurn, nil, u.Chat.ID, u.ID, model.NewID("turn"))
	u.addCalls(w, others, false)
	_, err := w.Commit(ctx, u.spending(w, u.ID))
	return err
}

// suspendTurn is the statement that ends the lease of a turn, and leaves the chat as if the process had died. The new
// id of the turn keeps a renewal of the lease that is still in progress from taking effect afterwards.
var suspendTurn = pg.NewQuery(func(t *pg.Tables) (string, []string) {
	return t.Update((*model.SimulationChat)(nil)).Set("reply_until = now() - interval '1 microsecond'").
		Set("reply_id = ?", pg.Param(4)).Where("id = ?", pg.Param(2)).Where("reply_id = ?", pg.Param(3)).String(), nil
})

// enqueueWaiting enqueues the chats whose turn died or was suspended while a call waited for a person. It does so once
// the person has answered or the time is over. If a turn died without a waiting or answered call, it clears the stored
// message of the chat.
func (s *Store) enqueueWaiting(ctx context.Context) error {
	companies, err := s.companiesWith(ctx, (*model.SimulationChat)(nil), diedWaiting)
	errs := []error{err}
	for _, companyID := range companies {
		t := s.Tenant(companyID)
		errs = append(errs, t.inTx(ctx, func(ctx context.Context, t tenantTx) error { return t.enqueueWaiting(ctx) }))
	}
	return errors.Join(errs...)
}

const diedWaiting = "waiting_text IS NOT NULL AND status = 'Replying' AND reply_until < now()"

func (t tenantTx) enqueueWaiting(ctx context.Context) error {
	const openCall = `EXISTS (SELECT 1 FROM tool_calls AS call WHERE call.company_id = ? AND
		call.chat_id = ?TableAlias.id AND call.message_sequence = ?TableAlias.last_sequence + 1 AND `
	chats := []*model.SimulationChat{}
	if err := t.db.SelectAll(&chats).Column("id").Where(diedWaiting).
		Where(openCall+"call.approval_until IS NOT NULL)", t.CompanyID()).
		Where("NOT "+openCall+"call.approval = ? AND call.approval_until > now())", t.CompanyID(),
			model.ToolCallApprovalPending).
		Order("id").Limit(chatsPerSweep).For(string(forUpdate + " SKIP LOCKED")).Scan(ctx); err != nil {
		return err
	}
	_, err := t.db.UpdateAll((*model.SimulationChat)(nil)).Set("waiting_text = NULL").Where(diedWaiting).
		Where("NOT "+openCall+"call.approval_until IS NOT NULL)", t.CompanyID()).Exec(ctx)
	if err != nil || len(chats) == 0 {
		return err
	}
	return t.enqueue(ctx, waitingJob, idsOf(chats))
}
