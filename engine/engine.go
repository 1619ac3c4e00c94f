// Package engine holds conversations: what an agent says, given its prompt, what is known of the contact, and
// what was said. The conversation itself is a pure function of those; the Engine loads them, asks
// the language model, keeps what came of it and announces it.
package engine

import (
	"log/slog"
	"time"

	"github.com/agentgraph/agentgraph/engine/llm"
)

const (
	defaultReplyTimeout = time.Minute
	defaultLease        = 10 * time.Second
)

// Options tune an Engine; the zero value is fit for use.
type Options struct {
	// ReplyTimeout bounds what the language model takes for one reply; a minute when zero.
	ReplyTimeout time.Duration
	// Lease is how long a chat stays claimed by a process that died in mid-reply; 10 seconds when zero.
	Lease time.Duration
	// Log hears what failed and why, beyond what clients are told; slog's default when nil.
	Log *slog.Logger
}

// Engine runs conversations. It is safe for concurrent use and keeps no state between calls.
type Engine struct {
	model        llm.Model
	replyTimeout time.Duration
	lease        time.Duration
	log          *slog.Logger
}

// New returns an Engine whose agents speak through the model.
func New(m llm.Model, o Options) *Engine {
	e := &Engine{model: m, replyTimeout: o.ReplyTimeout, lease: o.Lease, log: o.Log}
	if e.replyTimeout <= 0 {
		e.replyTimeout = defaultReplyTimeout
	}
	if e.lease <= 0 {
		e.lease = defaultLease
	}
	if e.log == nil {
		e.log = slog.Default()
	}
	return e
}

// now is the time of a message, as exact as it is kept.
func now() time.Time {
	return time.Now().UTC().Truncate(time.Microsecond)
}
