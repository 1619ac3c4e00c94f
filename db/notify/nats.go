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
	// natsWaiting is how many messages may wait for the hub. The client drops further ones, which wakes all subscriptions.
	natsWaiting = 8_192
	// natsConfirm is how long the server may take to confirm new subscriptions.
	natsConfirm = 2 * time.Second
	natsWait    = 500 * time.Millisecond
)

// NATS configures the servers that carry signals instead of Postgres.
type NATS struct {
	// URL has the addresses, separated by commas: nats://, tls://, ws:// or wss://, with a user and password or a token if
	// required.
	URL string
	// Credentials is the path of a file with a JWT and a seed, or empty.
	Credentials string
	// Subject is the prefix of all subjects, different for each database: letters, digits, "-" and "_", with single dots
	// between.
	Subject string
	// Log records when the connection is lost and restored. Nil means slog.Default().
	Log *slog.Logger
}

// Validate returns an error unless all addresses are URLs of NATS servers.
func (o NATS) Validate() error {
	for address := range strings.SplitSeq(o.URL, ",") {
		parsed, err := url.Parse(strings.TrimSpace(address))
		if err != nil || parsed.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, parsed.Scheme) {
			return errors.New("an address is not a URL such as nats://nats.example.com:4222")
		}
	}
	return nil
}

// Check returns an error if no server accepts a connection before the deadline of the context.
func (o NATS) Check(ctx context.Context) error {
	if err := o.Validate(); err != nil {
		return err
	}
	deadline, hasDeadline := ctx.Deadline()
	if !hasDeadline {
		deadline = time.Now().Add(natsWait)
	}
	options := []nats.Option{nats.Name("agentgraph"), nats.Timeout(time.Until(deadline))}
	if o.Credentials != "" {
		options = append(options, nats.UserCredentials(o.Credentials))
	}
	conn, err := nats.Connect(o.URL, options...)
	if err != nil {
		return fmt.Errorf("connect to NATS: %w", err)
	}
	conn.Close()
	return nil
}

// natsBus has a subject for each key, and subscribes only to the subjects of followed keys, so that the server sends
// nothing else. The hub's own signals are delivered directly.
type natsBus struct {
	conn     *nats.Conn
	subject  string
	messages chan *nats.Msg
	// connected receives a token after a connection is made, and slow after messages are dropped.
	connected, slow chan struct{}

	mu            sync.Mutex
	subscriptions map[Key]*nats.Subscription
	// unconfirmed has keys that the server may not know yet. confirmRequests has a token while there are any.
	unconfirmed     []Key
	confirmRequests chan struct{}
}

// OpenNATS returns a bus on the servers. It connects in the background, and reconnects whenever the connection is lost,
// so the process does not depend on NATS. It returns an error if the addresses or the credentials are invalid.
func OpenNATS(o NATS) (Bus, error) {
	b := &natsBus{
		subject: o.Subject, messages: make(chan *nats.Msg, natsWaiting), connected: make(chan struct{}, 1),
		slow:          make(chan struct{}, 1),
		subscriptions: map[Key]*nats.Subscription{}, confirmRequests: make(chan struct{}, 1),
	}
	log := cmp.Or(o.Log, slog.Default())
	found := func(conn *nats.Conn) {
		log.Info("connected to NATS: it carries the signals between replicas", "server", conn.ConnectedUrlRedacted())
		trySend(b.connected)
	}
	options := []nats.Option{
		nats.Name("agentgraph"), nats.NoEcho(), nats.NoCallbacksAfterClientClose(), nats.RetryOnFailedConnect(true),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(natsWait), nats.ReconnectJitter(natsWait, natsWait), nats.PingInterval(10 * time.Second),
		nats.MaxPingsOutstanding(2),
		// A rejected password may be accepted later, and the process works without NATS.
		nats.IgnoreAuthErrorAbort(),
		// Buffered messages would arrive late. The hub itself stores those that are still useful.
		nats.ReconnectBufSize(-1),
		nats.ConnectHandler(found), nats.ReconnectHandler(found),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			log.Warn("disconnected from NATS: rows are polled every few seconds", "error", err)
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrSlowConsumer) {
				trySend(b.slow)
				return
			}
			log.Warn("NATS reported an error", "error", err)
		}),
	}
	if err := o.Validate(); err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	if o.Credentials != "" {
		options = append(options, nats.UserCredentials(o.Credentials))
	}
	var err error
	if b.conn, err = nats.Connect(o.URL, options...); err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	if !b.conn.IsConnected() {
		log.Warn("NATS cannot be reached yet; will retry")
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
		if err := b.conn.Publish(b.subjectFor(Key{signals[i].CompanyID, signals[i].ID}), []byte(payload)); err != nil {
			return err
		}
	}
	return nil
}

// subjectFor returns the subject of the key.
func (b *natsBus) subjectFor(key Key) string {
	return b.subject + "." + natsToken(key.CompanyID) + "." + natsToken(key.ID)
}

// natsToken encodes a text as a token of a subject. Tokens must not be empty, and must not contain dots, stars or
// blanks.
func natsToken(text string) string {
	if text == "" {
		return "_"
	}
	return strings.ReplaceAll(url.PathEscape(text), ".", "%2E")
}

func (b *natsBus) subscribe(_ *Hub, key Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	subscription, err := b.conn.ChanSubscribe(b.subjectFor(key), b.messages)
	if err != nil {
		return // the connection and the hub are closed
	}
	b.subscriptions[key] = subscription
	b.unconfirmed = append(b.unconfirmed, key)
	trySend(b.confirmRequests)
}

func (b *natsBus) unsubscribe(key Key) {
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

// confirm waits until the server has received new subscriptions. It then wakes these subscriptions, because earlier
// signals may have been missed. After a new connection it wakes all subscriptions.
func (b *natsBus) confirm(ctx context.Context, h *Hub) {
	for {
		isNew := false
		select {
		case <-ctx.Done():
			return
		case <-b.connected:
			isNew = true
		case <-b.confirmRequests:
		}
		b.mu.Lock()
		keys := b.unconfirmed
		b.unconfirmed = nil
		b.mu.Unlock()
		waiting, cancel := context.WithTimeout(ctx, natsConfirm)
		_ = b.conn.FlushWithContext(waiting) // if the connection broke, the next one is confirmed
		cancel()
		if isNew {
			h.onListening()
			continue
		}
		for _, key := range keys {
			h.wake(key)
		}
	}
}

func (b *natsBus) isListening() bool { return b.conn.IsConnected() }

func (b *natsBus) close() { b.conn.Close() }
