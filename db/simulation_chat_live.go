package db

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/live"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// listenPatience bounds the wait for the first connection that listens.
	listenPatience = 2 * time.Second
	// settleTime bounds the wait for the ends of calls after the end of their chat.
	settleTime = 2 * time.Second
	// sizeOfEvent is about what an event holds beside its texts.
	sizeOfEvent = 512
)

// FollowMessages delivers the messages of a chat that follow the sequence, then each new one as it is
// written, in order, without gap or duplicate, whichever replica wrote it. The channel is closed
// after the message that ends the chat, when the chat was ended or deleted, and when ctx ends.
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

// FollowEvents delivers what happens in a chat from now on: what the contact said and the reply's text as it is
// generated, as far as the reader keeps up; every message that is written, as FollowMessages does; and the end of the
// chat, at once when it has ended. The channel is closed after the end, when the chat was deleted, and when ctx ends.
func (t *Tenant) FollowEvents(ctx context.Context, chatID string) (<-chan model.SimulationChatEvent, error) {
	p, r, chat, err := t.followChat(ctx, chatID)
	if err != nil {
		return nil, err
	}
	follower := r.events.Follow(live.Position(chat.LastSequence), p.release)
	// Text is not kept, so a reader who sends a message at once must not miss its beginning.
	waiting, cancel := context.WithTimeout(ctx, listenPatience)
	defer cancel()
	t.store.hub.Listening(waiting)
	return live.Channel(ctx, follower), nil
}

// followChat returns the topic of a chat, which the caller must release, and the chat as it is now.
func (t *Tenant) followChat(ctx context.Context, id string) (*topic, *chatReader, *model.SimulationChat, error) {
	p := t.followed(followedChats, id, newChatReader(id))
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

// chatReader reads a chat's messages as they are written. The rows are the truth: a signal only says that it is worth
// reading them.
type chatReader struct {
	tenant   *Tenant
	id       string
	messages *live.Log[*model.SimulationChatMessage]
	events   *live.Log[model.SimulationChatEvent]
	// cursor is the sequence of the last message that was read.
	cursor int32
	// held is what came too early: pieces of a turn before which there are messages to read.
	held []notify.Piece
	// begun are the calls of which the end was not announced yet.
	begun map[string]bool
	// ended is the end of the chat, once it has been read.
	ended *model.ChatEnded
}

func newChatReader(id string) func(*Tenant, *live.Budget) reader {
	return func(t *Tenant, budget *live.Budget) reader {
		r := &chatReader{tenant: t, id: id, begun: map[string]bool{}}
		r.messages = live.NewLog(budget,
			func(ctx context.Context, after, _ live.Position) ([]live.Kept[*model.SimulationChatMessage], live.Position, error) {
				return r.read(ctx, int32(after))
			})
		r.events = live.NewLog(budget,
			func(ctx context.Context, after, _ live.Position) ([]live.Kept[model.SimulationChatEvent], live.Position, error) {
				messages, upTo, err := r.read(ctx, int32(after))
				return written(messages), upTo, err
			})
		return r
	}
}

// read reads what follows the sequence, up to the first hole.
func (r *chatReader) read(ctx context.Context, after int32) ([]live.Kept[*model.SimulationChatMessage], live.Position,
	error) {
	messages, err := r.tenant.MessagesAfter(ctx, r.id, after)
	kept := make([]live.Kept[*model.SimulationChatMessage], 0, len(messages))
	for _, m := range messages {
		if m.Sequence != after+1 {
			break
		}
		after = m.Sequence
		size := sizeOfEvent + len(m.Text) + sizeOfEvent*len(m.Citations)
		kept = append(kept, live.Kept[*model.SimulationChatMessage]{Value: m, At: live.Position(after), Size: size})
	}
	return kept, live.Position(after), err
}

func written(messages []live.Kept[*model.SimulationChatMessage]) []live.Kept[model.SimulationChatEvent] {
	events := make([]live.Kept[model.SimulationChatEvent], len(messages))
	for i, m := range messages {
		events[i] = live.Kept[model.SimulationChatEvent]{Value: model.MessageWritten{Message: m.Value}, At: m.At,
			Size: m.Size}
	}
	return events
}

func (r *chatReader) look(ctx context.Context, p *topic, isWoken bool) (outlook, error) {
	// What came before a signal goes before the message it belongs to.
	r.take(p)
	if !isWoken && len(r.held) == 0 {
		return nothingYet, nil
	}
	chat, err := r.tenant.SimulationChat(ctx, r.id)
	if err != nil {
		return nothingYet, err
	}
	before := r.cursor
	if r.cursor < chat.LastSequence {
		messages, upTo, err := r.read(ctx, r.cursor)
		if err != nil {
			return nothingYet, err
		}
		r.cursor = int32(upTo)
		r.messages.Add(messages...)
		r.events.Add(written(messages)...)
		p.version.Store(r.cursor)
	}
	switch {
	case r.cursor < chat.LastSequence && r.cursor > before:
		return moreNow, nil
	case r.cursor < chat.LastSequence:
		r.release(true)
		return moreSoon, nil
	case chat.State == model.SimulationChatStatusEnded:
		r.release(true)
		r.ended = &model.ChatEnded{EndedAt: *chat.EndedAt, EndReason: chat.EndReason}
		r.messages.Close()
		r.settle(ctx, p)
		return nothingEver, nil
	}
	// What was held back has waited for the rows that were just read.
	r.release(true)
	return nothingYet, nil
}

func (r *chatReader) end() {
	r.messages.Close()
	if r.ended == nil {
		r.events.Close()
		return
	}
	r.events.Close(*r.ended)
}

// take passes on what has happened, and holds back what belongs to a turn before which there are
// messages to read.
func (r *chatReader) take(p *topic) {
	r.held = append(r.held, p.signals.Pieces()...)
	r.release(false)
}

// release passes on what is held, up to what is too early for it, or all of it.
func (r *chatReader) release(all bool) {
	for len(r.held) > 0 && (all || r.held[0].Sequence <= r.cursor+messagesOfTurn) {
		// Text that comes late is part of the messages by now; a call is news even then.
		isText := false
		switch r.held[0].Event.(type) {
		case model.MessageDelta, model.TurnStarted:
			isText = true
		}
		if r.held[0].Sequence > r.cursor || !isText {
			r.say(r.held[0].Event)
		}
		r.held = r.held[1:]
	}
}

func (r *chatReader) say(event model.SimulationChatEvent) {
	size := sizeOfEvent
	switch e := event.(type) {
	case model.MessageDelta:
		size += len(e.Text)
	case model.TurnStarted:
		size += len(e.Text)
	case model.ToolCallStarted:
		size += len(e.Arguments)
		r.begun[e.ID] = true
	case model.ToolCallFinished:
		size += sizeOfEvent
		delete(r.begun, e.ID)
	}
	r.events.Say(event, size)
}

// settle passes on the ends of calls that had begun when the chat was ended. Their turn announces
// them as soon as it notices.
func (r *chatReader) settle(ctx context.Context, p *topic) {
	timer := time.NewTimer(settleTime)
	defer timer.Stop()
	for r.take(p); len(r.begun) > 0; r.take(p) {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-p.signals.Arrived():
		}
	}
}

// maxMessages bounds what MessagesAfter returns at once.
const maxMessages = 200

// MessagesAfter returns, in order, the messages of a chat that follow the sequence: 200 at most, and of long ones
// fewer. It returns none only when there are none.
func (t *Tenant) MessagesAfter(ctx context.Context, chatID string,
	sequence int32) ([]*model.SimulationChatMessage, error) {
	messages := []*model.SimulationChatMessage{}
	err := pageOf(t, &messages, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("?TableAlias.chat_id = ?", chatID).Where("?TableAlias.sequence > ?", sequence)
	}, "sequence", "octet_length(text)", maxMessages).Scan(ctx)
	return messages, err
}
