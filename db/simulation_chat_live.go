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
	follow.pieces = follow.signals.Pieces()
	follow.piece = func(p notify.Piece) { deliver(ctx, events, p.Event) }
	go func() {
		defer close(events)
		if chat := follow.run(ctx); chat != nil {
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
	// pieces is nil when what happens while a reply is generated is not wanted.
	pieces <-chan notify.Piece
	piece  func(notify.Piece)
	// early is a piece of a turn before which there are messages to read; nil when there is none.
	early *notify.Piece
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
	defer f.signals.Close()
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
// signal or a long while. Meanwhile it delivers text.
func (f *follower) rest(ctx context.Context, retry time.Duration) {
	if f.early != nil {
		f.deliverPiece(*f.early)
		f.early = nil
	}
	if retry == 0 {
		retry = leastRest + rand.N(mostRest-leastRest)
	}
	timer := time.NewTimer(retry)
	defer timer.Stop()
	for f.early == nil {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-f.signals.Woken():
			f.drain()
			return
		case piece := <-f.pieces:
			f.takePiece(piece)
		}
	}
}

// drain takes the text that came before a signal, so that no piece follows the message it belongs to.
func (f *follower) drain() {
	for f.early == nil {
		select {
		case piece := <-f.pieces:
			f.takePiece(piece)
		default:
			return
		}
	}
}

func (f *follower) takePiece(piece notify.Piece) {
	if piece.Sequence > f.cursor+messagesOfTurn {
		f.early = &piece
		return
	}
	f.deliverPiece(piece)
}

func (f *follower) deliverPiece(piece notify.Piece) {
	if piece.Sequence > f.cursor {
		f.piece(piece)
	}
}
