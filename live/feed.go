package live

import "context"

// Feed connects a transport to a resolver's channel. The channel gets an event only when the transport takes one, so
// that no event is buffered or rendered earlier.
type Feed struct {
	source
	// Deliver puts an event into the channel, which must be empty.
	Deliver func(*Event)
}

// source is a Follower of any kind of event.
type source interface {
	Next(ctx context.Context) (*Event, error)
	OnWake(wake func())
	HasPrivateEvents() bool
}

type feedKey struct{}

// WithFeed returns a context in which the first call of Channel uses the feed.
func WithFeed(ctx context.Context, feed *Feed) context.Context {
	return context.WithValue(ctx, feedKey{}, feed)
}

// IsOpen reports whether a Channel uses the feed.
func (f *Feed) IsOpen() bool { return f.source != nil }

// Channel returns a channel of the follower's events. It closes the follower when there are no more events or ctx ends.
func Channel[E any](ctx context.Context, f *Follower[E]) <-chan E {
	context.AfterFunc(ctx, f.Close)
	if feed, ok := ctx.Value(feedKey{}).(*Feed); ok && !feed.IsOpen() {
		values := make(chan E, 1)
		feed.source, feed.Deliver = f, func(e *Event) { values <- e.value.(E) }
		return values
	}
	values, woken := make(chan E), make(chan struct{}, 1)
	f.OnWake(func() { woken <- struct{}{} })
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
