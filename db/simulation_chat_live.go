package db

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// Rows are read again after so long, 5 to 10 s, because a signal may be lost.
	leastRest = 5 * time.Second
	mostRest  = 10 * time.Second
	// Rows that are not there yet are read again soon, a database that does not answer a little later.
	firstRetry    = 2 * time.Millisecond
	lastRetry     = 250 * time.Millisecond
	lastReconnect = 5 * time.Second
	// listenPatience bounds the wait for the first connection that listens.
	listenPatience = 2 * time.Second
	// settleTime bounds the wait for the ends of calls after the end of their chat.
	settleTime = 2 * time.Second
)

// FollowMessages delivers the messages of a chat that follow the sequence, then each new one as it is
// written, in order, without gap or duplicate, whichever replica wrote it. The channel is closed
// after the message that ends the chat, when the chat was ended or deleted, and when ctx ends.
func (t *Tenant) FollowMessages(ctx context.Context, chatID string, after int32) (<-chan *model.SimulationChatMessage, error) {
	if after < 0 {
		var faults model.Fields
		faults.Add("afterSequence", "must not be negative")
		return nil, faults.Err()
	}
	follow, err := t.follow(ctx, chatID)
	if err != nil {
		return nil, err
	}
	follow.cursor = after
	messages := make(chan *model.SimulationChatMessage)
	follow.message = func(m *model.SimulationChatMessage) { deliver(ctx, messages, m) }
	go func() {
		defer close(messages)
		defer follow.signals.Close()
		follow.run(ctx)
	}()
	return messages, nil
}

// FollowEvents delivers what happens in a chat from now on: the reply's text as it is generated, as far as the
// reader keeps up; every message that is written, as FollowMessages does; and the end of the chat, at
// once when it has ended. The channel is closed after the end, when the chat was deleted, and when ctx ends.
func (t *Tenant) FollowEvents(ctx context.Context, chatID string) (<-chan model.SimulationChatEvent, error) {
	follow, err := t.follow(ctx, chatID)
	if err != nil {
		return nil, err
	}
	// Text is not kept, so a reader who sends a message at once must not miss its beginning.
	waiting, cancel := context.WithTimeout(ctx, listenPatience)
	defer cancel()
	t.store.hub.Listening(waiting)
	follow.cursor = follow.chat.LastSequence
	events := make(chan model.SimulationChatEvent)
	follow.message = func(m *model.SimulationChatMessage) {
		deliver[model.SimulationChatEvent](ctx, events, model.MessageWritten{Message: m})
	}
	begun := map[string]bool{}
	follow.arrived = follow.signals.Arrived()
	follow.piece = func(p notify.Piece) {
		switch event := p.Event.(type) {
		case model.ToolCallStarted:
			begun[event.ID] = true
		case model.ToolCallFinished:
			delete(begun, event.ID)
		}
		deliver(ctx, events, p.Event)
	}
	go func() {
		defer close(events)
		defer follow.signals.Close()
		if chat := follow.run(ctx); chat != nil {
			follow.settle(ctx, begun)
			deliver[model.SimulationChatEvent](ctx, events, model.ChatEnded{EndedAt: *chat.EndedAt, EndReason: chat.EndReason})
		}
	}()
	return events, nil
}

func deliver[E any](ctx context.Context, to chan<- E, event E) {
	select {
	case to <- event:
	case <-ctx.Done():
	}
}

// follower reads a chat's messages as they are written. The rows are the truth: a signal only says
// that it is worth reading them.
type follower struct {
	tenant  *Tenant
	chat    *model.SimulationChat
	signals *notify.Subscription
	// cursor is the sequence of the last message that was delivered.
	cursor  int32
	message func(*model.SimulationChatMessage)
	// arrived and piece are nil when what happens while a reply is generated is not wanted.
	arrived <-chan struct{}
	piece   func(notify.Piece)
	// held is what came too early: pieces of a turn before which there are messages to read.
	held []notify.Piece
}

// follow subscribes before it reads, so that nothing is written unseen between the two.
func (t *Tenant) follow(ctx context.Context, chatID string) (*follower, error) {
	signals := t.store.hub.Subscribe(t.signalOf(chatID))
	chat, err := t.SimulationChat(ctx, chatID)
	if err != nil {
		signals.Close()
		return nil, err
	}
	return &follower{tenant: t, chat: chat, signals: signals}, nil
}

// run delivers until the chat has ended and everything is delivered, and then returns the chat; nil
// when the chat is gone or ctx ended.
func (f *follower) run(ctx context.Context) *model.SimulationChat {
	var retry time.Duration
	for ctx.Err() == nil {
		delivered, err := f.read(ctx)
		var known *model.Error
		switch {
		case errors.As(err, &known) && known.Code == model.NotFound:
			return nil
		case err != nil:
			retry = min(max(2*retry, firstRetry), lastReconnect)
		case f.chat.State == model.SimulationChatStatusEnded && f.cursor >= f.chat.LastSequence:
			return f.chat
		case f.cursor < f.chat.LastSequence && delivered:
			continue
		case f.cursor < f.chat.LastSequence:
			retry = min(max(2*retry, firstRetry), lastRetry)
		default:
			retry = 0
		}
		f.rest(ctx, retry)
	}
	return nil
}

// read reads the chat and delivers what follows the cursor, up to the first hole. It reports whether
// there was anything to deliver.
func (f *follower) read(ctx context.Context) (bool, error) {
	chat, err := f.tenant.SimulationChat(ctx, f.chat.ID)
	if err != nil {
		return false, err
	}
	f.chat = chat
	if f.cursor >= chat.LastSequence {
		return false, nil
	}
	messages, err := f.tenant.MessagesAfter(ctx, chat.ID, f.cursor)
	if err != nil {
		return false, err
	}
	before := f.cursor
	for _, message := range messages {
		if message.Sequence != f.cursor+1 {
			break
		}
		f.message(message)
		f.cursor = message.Sequence
	}
	return f.cursor > before, nil
}

// rest returns when it is worth reading again: after the retry, when there is one, or else after a
// signal or a long while. Meanwhile it delivers what happens.
func (f *follower) rest(ctx context.Context, retry time.Duration) {
	// What was held back has waited for the rows that were just read.
	f.release(true)
	if retry == 0 {
		retry = leastRest + rand.N(mostRest-leastRest)
	}
	timer := time.NewTimer(retry)
	defer timer.Stop()
	for len(f.held) == 0 {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-f.signals.Woken():
			// What came before a signal goes before the message it belongs to.
			f.take()
			return
		case <-f.arrived:
			f.take()
		}
	}
}

// take delivers what has happened, and holds back what belongs to a turn before which there are
// messages to read.
func (f *follower) take() {
	if f.piece == nil {
		return
	}
	f.held = append(f.held, f.signals.Pieces()...)
	f.release(false)
}

// release delivers what is held, up to what is too early for it, or all of it.
func (f *follower) release(all bool) {
	for len(f.held) > 0 && (all || f.held[0].Sequence <= f.cursor+messagesOfTurn) {
		// Text that comes late is part of the message by now; a call is news even then.
		_, isText := f.held[0].Event.(model.MessageDelta)
		if f.held[0].Sequence > f.cursor || !isText {
			f.piece(f.held[0])
		}
		f.held = f.held[1:]
	}
}

// settle delivers the ends of calls that had begun when the chat was ended. Their turn announces
// them as soon as it notices.
func (f *follower) settle(ctx context.Context, begun map[string]bool) {
	timer := time.NewTimer(settleTime)
	defer timer.Stop()
	for f.take(); len(begun) > 0; f.take() {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-f.arrived:
		}
	}
}
