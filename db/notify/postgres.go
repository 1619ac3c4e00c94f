package notify

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	channel = "agentgraph"

	connectTimeout = 10 * time.Second
	closeTimeout   = time.Second
	firstBackoff   = 50 * time.Millisecond
	lastBackoff    = 5 * time.Second
)

// postgres is a bus of Postgres notifications. Every replica receives all of them, including its own, on one
// connection. It sends one statement at a time for all waiting signals.
type postgres struct {
	pool           *pgxpool.Pool
	acquireContext func(context.Context) context.Context
	listens        atomic.Bool
}

// Postgres returns a bus on the pool's database. It does not close the pool. It listens on a connection outside the
// pool. To send, it acquires a connection with the context that taking returns.
func Postgres(pool *pgxpool.Pool, taking func(context.Context) context.Context) Bus {
	return &postgres{pool: pool, acquireContext: taking}
}

func (p *postgres) send(ctx context.Context, _ *Hub, signals []signal) error {
	// The payloads are passed as one text with a payload on each line, because JSON has no line breaks. An array would
	// need quotes around its elements.
	texts := strings.Join(payloads(signals), "\n")
	_, err := p.pool.Exec(p.acquireContext(ctx),
		"SELECT pg_notify($1, payload) FROM unnest(string_to_array($2, chr(10))) AS "+
			"payload", channel, texts)
	return err
}

func (*postgres) subscribe(*Hub, Key) {}
func (*postgres) unsubscribe(Key)     {}
func (*postgres) close()              {}

func (p *postgres) isListening() bool { return p.listens.Load() }

// listen reconnects whenever the connection breaks.
func (p *postgres) listen(ctx context.Context, h *Hub) {
	backoff := firstBackoff
	for {
		if p.receive(ctx, h) {
			backoff = firstBackoff
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff/2 + rand.N(backoff)):
		}
		backoff = min(2*backoff, lastBackoff)
	}
}

// receive listens on one connection until it breaks. It returns whether it ever listened.
func (p *postgres) receive(ctx context.Context, h *Hub) bool {
	connecting, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, p.pool.Config().ConnConfig)
	if err != nil {
		return false
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = conn.Close(closing)
	}()
	if _, err := conn.Exec(connecting, "LISTEN "+channel); err != nil {
		return false
	}
	p.listens.Store(true)
	defer p.listens.Store(false)
	h.onListening()
	for {
		notification, err := conn.WaitForNotification(ctx)
		if err != nil {
			return true
		}
		h.deliverPayload([]byte(notification.Payload))
	}
}
