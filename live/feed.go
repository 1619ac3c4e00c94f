package live

import "context"

// Feed connects a transport to a resolver's channel. The channel gets an event only when the transport takes one, so
// that no event is buffered or rendered earlier.
type Feed struct {
	source  source
	deliver func(*Event)
}

// source is a Follower of any kind of event.
type source interface {
	Next(ctx context.Context) (*Event, error)
	onWake(wake func())
	hasPrivateEvents() bool
}

type feedKey struct{}

// WithFeed returns a context in which the first call of Channel uses the feed.
func WithFeed(ctx context.Context, feed *Feed) context.Context {
	return context.WithValue(ctx, feedKey{}, feed)
}

// IsOpen reports whether a Channel uses the feed.
func (f *Feed) IsOpen() bool { return f.source != nil }

// OnWake sets the function to call when there may be an event after Next returned nil. Call OnWake before Next. wake
// must not block.
func (f *Feed) OnWake(wake func()) { f.source.onWake(wake) }

// Next does the same as Follower.Next.
func (f *Feed) Next(ctx context.Context) (*Event, error) { return f.source.Next(ctx) }

// HasPrivateEvents reports whether the feed has events in memory that no other follower shares.
func (f *Feed) HasPrivateEvents() bool { return f.source.hasPrivateEvents() }

// Deliver puts the event into the channel, which must be empty.
func (f *Feed) Deliver(e *Event) { f.deliver(e) }

// Channel returns a channel of the follower's events. It closes the follower when there are no more events or ctx ends.
func Channel[E any](ctx context.Context, f *Follower[E]) <-chan E {
	context.AfterFunc(ctx, f.Close)
	if feed, ok := ctx.Value(feedKey{}).(*Feed); ok && !feed.IsOpen() {
		values := make(chan E, 1)
		feed.source, feed.deliver = f, func(e *Event) { values <- e.value.(E) }
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
