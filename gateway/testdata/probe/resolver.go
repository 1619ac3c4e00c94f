// Package probe is a small executable schema for tests of the gateway. Its resolvers answer, wait, fail, panic, stream,
// flood and never end.
package probe

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

// Root resolves the schema. Its counters can be read while it serves.
type Root struct {
	// Live is the number of subscriptions whose source is running.
	Live atomic.Int32
	// Started is the number of subscriptions that ever ran.
	Started atomic.Int32
	// Increments is the number of mutations that ran.
	Increments atomic.Int32
}

// errShared is shared by all requests, so a presenter must not write to it.
var errShared = model.Errorf(model.NotFound, "agent %q does not exist", "shared")

// Query returns the resolvers of queries.
func (r *Root) Query() QueryResolver { return query{r} }

// Mutation returns the resolvers of mutations.
func (r *Root) Mutation() MutationResolver { return mutation{r} }

// Subscription returns the resolvers of subscriptions.
func (r *Root) Subscription() SubscriptionResolver { return subscription{r} }

// Tree returns the resolvers of Tree.
func (r *Root) Tree() TreeResolver { return tree{} }

type query struct{ root *Root }

func (query) Hello(context.Context) (string, error) { return "hello", nil }

func (query) Slow(ctx context.Context, milliseconds int32) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(time.Duration(milliseconds) * time.Millisecond):
		return "done", nil
	}
}

func (query) Fail(_ context.Context, how string) (*string, error) {
	switch how {
	case "MODEL":
		return nil, model.Missing("agent", "a1")
	case "FIELDS":
		var faults model.Fields
		faults.Add("llmSettings.topP", "must be at most 1")
		return nil, faults.Err()
	case "PANIC":
		panic("secret of the panic")
	case "DEADLINE":
		return nil, context.DeadlineExceeded
	case "SHARED":
		return nil, errShared
	default:
		return nil, errors.New("secret of the database")
	}
}

func (query) Echo(_ context.Context, input *EchoInput) (string, error) {
	text, err := json.Marshal(input)
	return string(text), err
}

func (query) List(_ context.Context, of []int32) (string, error) {
	text, err := json.Marshal(of)
	return string(text), err
}

func (query) Tree(context.Context) (*Tree, error) { return &Tree{}, nil }

func (query) Company(ctx context.Context) (string, error) {
	principal, _ := model.PrincipalOf(ctx)
	return principal.CompanyID, nil
}

func (q query) Live(context.Context) (int32, error) { return q.root.Live.Load(), nil }

type mutation struct{ root *Root }

func (m mutation) Increment(context.Context) (int32, error) { return m.root.Increments.Add(1), nil }

type tree struct{}

func (tree) Name(context.Context, *Tree) (string, error)   { return "tree", nil }
func (tree) Child(context.Context, *Tree) (*Tree, error)   { return &Tree{}, nil }
func (tree) Broken(context.Context, *Tree) (string, error) { return "", model.Missing("leaf", "l1") }

type subscription struct{ root *Root }

// stream sends next(0), next(1) and so on to a subscriber until next reports false or the subscriber disconnects.
func stream[T any](ctx context.Context, root *Root, next func(int32) (T, bool)) <-chan T {
	values := make(chan T)
	root.Live.Add(1)
	root.Started.Add(1)
	go func() {
		defer root.Live.Add(-1)
		defer close(values)
		for i := int32(0); ; i++ {
			value, more := next(i)
			if !more {
				return
			}
			select {
			case <-ctx.Done():
				return
			case values <- value:
			}
		}
	}()
	return values
}

func (s subscription) Count(ctx context.Context, to int32) (<-chan int32, error) {
	return stream(ctx, s.root, func(i int32) (int32, bool) { return i + 1, i < to }), nil
}

func (s subscription) Counted(ctx context.Context, to, afterNumber int32) (<-chan *Counted, error) {
	return stream(ctx, s.root, func(i int32) (*Counted, bool) { return &Counted{Number: afterNumber + i + 1}, afterNumber+i < to }), nil
}

func (s subscription) Tick(ctx context.Context, milliseconds int32) (<-chan int32, error) {
	ticker := time.NewTicker(time.Duration(milliseconds) * time.Millisecond)
	context.AfterFunc(ctx, ticker.Stop)
	return stream(ctx, s.root, func(i int32) (int32, bool) {
		select {
		case <-ctx.Done():
			return 0, false
		case <-ticker.C:
			return i, true
		}
	}), nil
}

func (s subscription) Flood(ctx context.Context, bytes int32) (<-chan string, error) {
	text := strings.Repeat("x", int(bytes))
	return stream(ctx, s.root, func(int32) (string, bool) { return text, true }), nil
}

func (subscription) Refused(_ context.Context, isUnavailable bool) (<-chan int32, error) {
	if isUnavailable {
		return nil, model.Errorf(model.Unavailable, "the database cannot be reached")
	}
	return nil, model.Missing("simulation chat", "nope")
}

func (s subscription) Tree(ctx context.Context) (<-chan *Tree, error) {
	return stream(ctx, s.root, func(i int32) (*Tree, bool) { return &Tree{}, i < 1 }), nil
}
