package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// natsWaiting is how many messages wait for the hub before the client drops some, which wakes everybody.
	natsWaiting = 8_192
	// natsConfirm is how long the server has to confirm new subscriptions.
	natsConfirm = 2 * time.Second
	natsWait    = 500 * time.Millisecond
)

// NATS is the address of the servers that carry signals instead of Postgres, with the credentials.
type NATS struct {
	// URL has the addresses, separated by commas: nats://, tls://, ws:// or wss://, with a user and a password or a token
	// if need be.
	URL string
	// Credentials is the path of a file with a JWT and a seed; empty for none.
	Credentials string
	// Subject is what the names of all subjects begin with, one for each database: letters, digits, "-" and "_", with
	// dots between.
	Subject string
	// Log receives when the connection is lost and found. Nil means slog.Default().
	Log *slog.Logger
}

// natsBus has a subject for each key, and subscribes to those that are followed: a server sends a replica nothing else.
// A hub's own signals do not travel to come back.
type natsBus struct {
	conn     *nats.Conn
	subject  string
	messages chan *nats.Msg
	// connected and slow each hold a token when the connection was made, and when messages were dropped.
	connected, slow chan struct{}

	mu            sync.Mutex
	subscriptions map[Key]*nats.Subscription
	// unconfirmed are keys that the server may not know of yet, and asked holds a token while there are any.
	unconfirmed []Key
	asked       chan struct{}
}

// OpenNATS returns a bus on the servers. It connects in the background, now and whenever the connection is lost, so
// that a process starts and serves without them. It is an error if the address or the credentials cannot be used.
func OpenNATS(o NATS) (Bus, error) {
	b := &natsBus{
		subject: o.Subject, messages: make(chan *nats.Msg, natsWaiting), connected: make(chan struct{}, 1),
		slow:          make(chan struct{}, 1),
		subscriptions: map[Key]*nats.Subscription{}, asked: make(chan struct{}, 1),
	}
	log := cmp.Or(o.Log, slog.Default())
	found := func(conn *nats.Conn) {
		log.Info("signals travel over NATS", "server", conn.ConnectedUrlRedacted())
		raise(b.connected)
	}
	options := []nats.Option{
		nats.Name("agentgraph"), nats.NoEcho(), nats.NoCallbacksAfterClientClose(), nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(natsWait), nats.ReconnectJitter(natsWait, natsWait), nats.PingInterval(10 * time.Second),
		nats.MaxPingsOutstanding(2),
		// A rejected password may be accepted tomorrow, and the process lives on without NATS.
		nats.IgnoreAuthErrorAbort(),
		// What waits while there is no connection would arrive late: the hub keeps what is worth it.
		nats.ReconnectBufSize(-1),
		nats.ConnectHandler(found), nats.ReconnectHandler(found),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			log.Warn("no signals over NATS; rows are polled every few seconds", "error", err)
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrSlowConsumer) {
				raise(b.slow)
				return
			}
			log.Warn("NATS refuses something", "error", err)
		}),
	}
	for address := range strings.SplitSeq(o.URL, ",") {
		parsed, err := url.Parse(strings.TrimSpace(address))
		if err != nil || parsed.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, parsed.Scheme) {
			return nil, errors.New("connect to NATS: an address is not a URL such as nats://nats.example.com:4222")
		}
	}
	if o.Credentials != "" {
		options = append(options, nats.UserCredentials(o.Credentials))
	}
	var err error
	if b.conn, err = nats.Connect(o.URL, options...); err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	if !b.conn.IsConnected() {
		log.Warn("NATS cannot be reached yet")
	}
	return b, nil
}

func (b *natsBus) send(_ context.Context, h *Hub, signals []signal) error {
	for i := range signals {
		if !signals[i].isDelivered {
			signals[i].isDelivered = true
			h.counts.received.Add(1)
			h.deliver(signals[i])
		}
	}
	for i, payload := range payloads(signals) {
		if err := b.conn.Publish(b.of(Key{signals[i].CompanyID, signals[i].ID}), []byte(payload)); err != nil {
			return err
		}
	}
	return nil
}

// of is the key's subject.
func (b *natsBus) of(key Key) string {
	return b.subject + "." + natsToken(key.CompanyID) + "." + natsToken(key.ID)
}

// natsToken is a text as a part of a subject, which must not be empty and in which dots, stars and blanks have a
// meaning.
func natsToken(text string) string {
	if text == "" {
		return "_"
	}
	return strings.ReplaceAll(url.PathEscape(text), ".", "%2E")
}

func (b *natsBus) follow(_ *Hub, key Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	subscription, err := b.conn.ChanSubscribe(b.of(key), b.messages)
	if err != nil {
		return // the connection is closed, and the hub with it
	}
	b.subscriptions[key] = subscription
	b.unconfirmed = append(b.unconfirmed, key)
	raise(b.asked)
}

func (b *natsBus) leave(key Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if subscription := b.subscriptions[key]; subscription != nil {
		_ = subscription.Unsubscribe()
		delete(b.subscriptions, key)
	}
}

func (b *natsBus) listen(ctx context.Context, h *Hub) {
	var confirming sync.WaitGroup
	defer confirming.Wait()
	confirming.Go(func() { b.confirm(ctx, h) })
	for {
		select {
		case <-ctx.Done():
			return
		case message := <-b.messages:
			h.deliverPayload(message.Data)
		case <-b.slow:
			h.wakeAll()
		}
	}
}

// confirm waits until the server knows what was subscribed to, and wakes subscriptions for what came before that: all
// of a new connection, otherwise the new ones.
func (b *natsBus) confirm(ctx context.Context, h *Hub) {
	for {
		isNew := false
		select {
		case <-ctx.Done():
			return
		case <-b.connected:
			isNew = true
		case <-b.asked:
		}
		b.mu.Lock()
		keys := b.unconfirmed
		b.unconfirmed = nil
		b.mu.Unlock()
		waiting, cancel := context.WithTimeout(ctx, natsConfirm)
		_ = b.conn.FlushWithContext(waiting) // if the connection broke, the next one is confirmed
		cancel()
		if isNew {
			h.hears()
			continue
		}
		for _, key := range keys {
			h.wake(key)
		}
	}
}

func (b *natsBus) isListening() bool { return b.conn.IsConnected() }

func (b *natsBus) close() { b.conn.Close() }
