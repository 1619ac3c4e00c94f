// Package knowledge turns documents into chunks, and finds the chunks that help to answer a question.
package knowledge

import "log/slog"

// Options tune a Base; the zero value is fit for use.
type Options struct {
	// Log hears what failed and why, beyond what clients are told; slog's default when nil.
	Log *slog.Logger
}

// Base is the knowledge of all companies. It is safe for concurrent use.
type Base struct{ log *slog.Logger }

// New returns a Base.
func New(o Options) *Base {
	b := &Base{log: o.Log}
	if b.log == nil {
		b.log = slog.Default()
	}
	return b
}
