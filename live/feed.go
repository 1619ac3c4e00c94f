package live

import "context"

// Feed connects a transport, which decides when an event is taken, to what a resolver below it follows. The resolver's
// channel then gets an event only when the transport gives it, so that nothing waits, and nothing is made, in between.
type Feed struct {
	source source
	give   func(*Event)
}

// source is a Follower of whatever it is.
type source interface {
	Next(ctx context.Context) (*Event, error)
	onWake(wake func())
	holds() bool
}

type feedKey struct{}

// WithFeed returns a context in which the first Channel goes through the feed.
func WithFeed(ctx context.Context, feed *Feed) context.Context {
	return context.WithValue(ctx, feedKey{}, feed)
}

// IsOpen reports whether a Channel goes through the feed.
func (f *Feed) IsOpen() bool { return f.source != nil }

// OnWake sets what is called when there may be an event after Next returned none. Next has not been called before.
// wake must not wait.
func (f *Feed) OnWake(wake func()) { f.source.onWake(wake) }

// Next is that of the Follower.
func (f *Feed) Next(ctx context.Context) (*Event, error) { return f.source.Next(ctx) }

// Holds reports whether events are in memory for this feed alone.
func (f *Feed) Holds() bool { return f.source.holds() }

// Give puts the event into the channel, from which the last one has been taken.
func (f *Feed) Give(e *Event) { f.give(e) }

// Channel returns a channel of what the follower takes, until there is no more or ctx ends, which closes the follower.
func Channel[E any](ctx context.Context, f *Follower[E]) <-chan E {
	context.AfterFunc(ctx, f.Close)
	if feed, ok := ctx.Value(feedKey{}).(*Feed); ok && !feed.IsOpen() {
		values := make(chan E, 1)
		feed.source, feed.give = f, func(e *Event) { values <- e.value.(E) }
		return values
	}
	values, woken := make(chan E), make(chan struct{}, 1)
	f.onWake(func() { woken <- struct{}{} })
	go func() {
		defer close(values)
		defer f.Close()
		for {
			event, err := f.Next(ctx)
			if err != nil {
				return
			}
			if event == nil {
				select {
				case <-woken:
				case <-ctx.Done():
				}
				continue
			}
			select {
			case values <- event.value.(E):
			case <-ctx.Done():
			}
		}
	}()
	return values
}
