package db

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/live"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// listenPatience bounds the wait for the first listening connection.
	listenPatience = 2 * time.Second
	// turnEndTimeout bounds the wait for the ends of a turn and its calls after the end of their chat.
	turnEndTimeout = 2 * time.Second
	// sizeOfEvent is the approximate overhead of an event in addition to its texts, in bytes.
	sizeOfEvent = 512
)

// FollowMessages delivers the messages of a chat after the given sequence number, then each new one, in order, without
// gaps or duplicates, whichever replica wrote it. It closes the channel after the message that ends the chat, when the
// chat was ended or deleted, and when ctx ends.
func (t *Tenant) FollowMessages(ctx context.Context, chatID string,
	after int32) (<-chan *model.SimulationChatMessage, error) {
	if after < 0 {
		var faults model.Fields
		faults.Add("afterSequence", "must not be negative")
		return nil, faults.Err()
	}
	p, r, _, err := t.followChat(ctx, chatID)
	if err != nil {
		return nil, err
	}
	return live.Channel(ctx, r.messages.Follow(live.Position(after), p.release)), nil
}

// FollowEvents delivers the events of a chat from now on: the contact's message, every saved message, and the end of
// the chat. If the chat has ended, it delivers the end immediately. It also delivers the text and the calls of a reply
// during generation, if the reader keeps up. It closes the channel after the end, when the chat was deleted, and when
// ctx ends.
func (t *Tenant) FollowEvents(ctx context.Context, chatID string) (<-chan model.SimulationChatEvent, error) {
	p, r, chat, err := t.followChat(ctx, chatID)
	if err != nil {
		return nil, err
	}
	follower := r.events.Follow(live.Position(chat.LastSequence), p.release)
	// Streamed text is not saved, so a reader that sends a message immediately must not miss the beginning of the reply.
	waiting, cancel := context.WithTimeout(ctx, listenPatience)
	defer cancel()
	t.store.hub.Listening(waiting)
	return live.Channel(ctx, follower), nil
}

// followChat returns the topic of a chat, and the current chat. The caller must release the topic.
func (t *Tenant) followChat(ctx context.Context, id string) (*topic, *chatReader, *model.SimulationChat, error) {
	p := t.acquireTopic(followedChats, id, newChatReader(id))
	chat, err := t.SimulationChat(ctx, id)
	if err != nil {
		p.release()
		return nil, nil, nil, err
	}
	r := p.reader.(*chatReader)
	p.begin(chat.LastSequence, chat.State == model.SimulationChatStatusEnded, func() {
		r.cursor = chat.LastSequence
		r.messages.Begin(live.Position(r.cursor))
		r.events.Begin(live.Position(r.cursor))
	})
	return p, r, chat, nil
}

// chatReader reads a chat's messages as they are written. It relies on the rows alone: a signal only makes it read
// them.
type chatReader struct {
	tenant   *Tenant
	id       string
	messages *live.Log[*model.SimulationChatMessage]
	events   *live.Log[model.SimulationChatEvent]
	// cursor is the sequence of the last message read.
	cursor int32
	// pending has events that arrived before an earlier message was read.
	pending []notify.Piece
	// started has the calls whose end was not announced yet.
	started map[string]bool
	// turn identifies the last turn. If the chat ends first, settle delivers the turn as a failure. The field is zero once
	// a failure was announced.
	turn model.TurnFailed
	// ended has the end of the chat, once the end was read.
	ended *model.ChatEnded
}

func newChatReader(id string) func(*Tenant, *live.MemoryBudget) reader {
	return func(t *Tenant, budget *live.MemoryBudget) reader {
		r := &chatReader{tenant: t, id: id, started: map[string]bool{}}
		r.messages = newLog(t, budget,
			func(ctx context.Context, after, _ live.Position) ([]live.Stored[*model.SimulationChatMessage], live.Position,
				error) {
				return r.readStored(ctx, int32(after))
			})
		r.events = newLog(t, budget,
			func(ctx context.Context, after, _ live.Position) ([]live.Stored[model.SimulationChatEvent], live.Position, error) {
				messages, upTo, err := r.readStored(ctx, int32(after))
				return toEvents(messages), upTo, err
			})
		return r
	}
}

// readStored reads the messages after the given sequence number, up to the first gap.
func (r *chatReader) readStored(ctx context.Context, after int32) (
	[]live.Stored[*model.SimulationChatMessage], live.Position, error) {
	messages, err := r.tenant.MessagesAfter(ctx, r.id, after)
	kept := make([]live.Stored[*model.SimulationChatMessage], 0, len(messages))
	for _, m := range messages {
		if m.Sequence != after+1 {
			break
		}
		after = m.Sequence
		size := sizeOfEvent + len(m.Text) + sizeOfEvent*len(m.Citations)
		kept = append(kept, live.Stored[*model.SimulationChatMessage]{Value: m, At: live.Position(after), Size: size})
	}
	return kept, live.Position(after), err
}

func toEvents(messages []live.Stored[*model.SimulationChatMessage]) []live.Stored[model.SimulationChatEvent] {
	events := make([]live.Stored[model.SimulationChatEvent], len(messages))
	for i, m := range messages {
		events[i] = live.Stored[model.SimulationChatEvent]{Value: model.MessageWritten{Message: m.Value}, At: m.At,
			Size: m.Size}
	}
	return events
}

func (r *chatReader) poll(ctx context.Context, p *topic, isWoken bool) (pollResult, error) {
	// Events that arrived before a signal come before the message that the signal announces.
	r.takeEvents(p)
	if !isWoken && len(r.pending) == 0 {
		return waitForSignal, nil
	}
	chat, err := r.tenant.SimulationChat(ctx, r.id)
	if pg.IsMissing(err) {
		r.deliverPending(true)
		r.messages.Close()
		r.settle(ctx, p, "the chat was deleted")
		return topicEnded, nil
	}
	if err != nil {
		return waitForSignal, err
	}
	before := r.cursor
	if r.cursor < chat.LastSequence {
		messages, upTo, err := r.readStored(ctx, r.cursor)
		if err != nil {
			return waitForSignal, err
		}
		r.cursor = int32(upTo)
		r.messages.Add(messages...)
		r.events.Add(toEvents(messages)...)
		p.version.Store(r.cursor)
	}
	switch {
	case r.cursor < chat.LastSequence && r.cursor > before:
		return readNow, nil
	case r.cursor < chat.LastSequence:
		r.deliverPending(true)
		return retrySoon, nil
	case chat.State == model.SimulationChatStatusEnded:
		r.deliverPending(true)
		r.ended = &model.ChatEnded{EndedAt: *chat.EndedAt, EndReason: chat.EndReason}
		r.messages.Close()
		r.settle(ctx, p, "the chat was ended")
		return topicEnded, nil
	}
	// The pending events waited for the rows that were just read.
	r.deliverPending(true)
	return waitForSignal, nil
}

func (r *chatReader) closeFollowers() {
	r.messages.Close()
	if r.ended == nil {
		r.events.Close()
		return
	}
	r.events.Close(*r.ended)
}

// takeEvents delivers new events. It holds back the events of a turn while earlier messages have not been read.
func (r *chatReader) takeEvents(p *topic) {
	r.pending = append(r.pending, p.signals.Pieces()...)
	r.deliverPending(false)
}

// deliverPending delivers pending events that are no longer too early, or all of them.
func (r *chatReader) deliverPending(all bool) {
	for len(r.pending) > 0 && (all || r.pending[0].Sequence <= r.cursor+messagesPerTurn) {
		// Text that came late is already part of the message. A call that came late is still new to followers.
		isText := false
		switch r.pending[0].Event.(type) {
		case model.MessageDelta, model.TurnStarted:
			isText = true
		}
		if r.pending[0].Sequence > r.cursor || !isText {
			r.say(r.pending[0].Event)
		}
		r.pending = r.pending[1:]
	}
}

func (r *chatReader) say(event model.SimulationChatEvent) {
	size := sizeOfEvent
	switch e := event.(type) {
	case model.MessageDelta:
		size += len(e.Text)
		r.turn = model.TurnFailed{TurnID: e.TurnID, MessageSequence: e.Sequence - 1}
	case model.TurnStarted:
		size += len(e.Text)
		r.turn = model.TurnFailed{TurnID: e.TurnID, MessageSequence: e.MessageSequence}
	case model.TurnFailed:
		size += len(e.Reason)
		if e.TurnID == r.turn.TurnID {
			r.turn = model.TurnFailed{}
		}
	case model.ToolCallStarted:
		size += len(e.Arguments)
		r.started[e.ID] = true
	case model.ToolApprovalChanged:
		size += len(e.Arguments) + sizeOfEvent
	case model.ToolCallFinished:
		size += sizeOfEvent
		delete(r.started, e.ID)
	}
	r.events.AddTransient(event, size)
}

// settle delivers the ends of the turn and the calls that were running when the chat was ended or deleted. The turn
// announces them as soon as it notices. If it does not, settle delivers the turn's failure with the given reason.
func (r *chatReader) settle(ctx context.Context, p *topic, reason string) {
	timer := time.NewTimer(turnEndTimeout)
	defer timer.Stop()
	isOver := false
	for r.takeEvents(p); !isOver && (len(r.started) > 0 || r.isTurnOpen()); r.takeEvents(p) {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			isOver = true
		case <-p.signals.Arrived():
		}
	}
	if r.isTurnOpen() {
		r.turn.Reason = reason
		r.say(r.turn)
	}
}

// isTurnOpen reports whether followers have heard of a turn, but not of its messages or its failure.
func (r *chatReader) isTurnOpen() bool { return r.turn.MessageSequence > r.cursor }

// maxMessages bounds the messages that MessagesAfter returns at once.
const maxMessages = 200

// MessagesAfter returns the messages of a chat after the given sequence number, in order: at most 200, or fewer if they
// are long. An empty result means that there are no more messages.
func (t *Tenant) MessagesAfter(ctx context.Context, chatID string,
	sequence int32) ([]*model.SimulationChatMessage, error) {
	messages := []*model.SimulationChatMessage{}
	err := pageOf(t, &messages, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("?TableAlias.chat_id = ?", chatID).Where("?TableAlias.sequence > ?", sequence)
	}, "sequence", "octet_length(text)", maxMessages).Scan(ctx)
	return messages, err
}
