package gateway

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

// responseLimit is an extension that bounds the memory of one response, or of one event of a subscription, while it is
// made. The cost alone does not, as it is an estimate: lists may be longer and texts larger.
type responseLimit struct {
	settings Settings
	// underWay is the total of all responses that are being made.
	underWay *atomic.Int64
}

func (responseLimit) ExtensionName() string                   { return "ResponseLimit" }
func (responseLimit) Validate(graphql.ExecutableSchema) error { return nil }

// What each value counts in addition to its name and text, and what each object in a list counts: it takes a few
// thousand bytes of memory while the response is made.
const (
	bytesPerValue  = 64
	bytesPerObject = 512
)

// All responses that are being made may together hold as much as mostLarge of the largest ones. Beyond that, none but a
// mutation's grows above 1/largeShare of the limit. Most responses are far smaller, and go on. What mutations read for
// themselves counts with them.
const (
	mostLarge  = 4
	largeShare = 8
	ownShare   = 3
)

// yieldShift makes a response let others run after each 2^16 bytes. Go itself would let many large ones go on for ten
// milliseconds each, while every step of a small one waits for all of them.
const yieldShift = 16

type sizeKey struct{}

// size is the size of a response so far.
type size struct {
	atomic.Int64
	// most is its limit.
	most int64
	// isOver: nothing more is added. isBusy: other responses are the reason.
	isOver, isBusy atomic.Bool
	// isMutation: the error must not suggest a retry of what was done.
	isMutation bool
	// typenames caches what the __typename fields of selections count.
	typenames sync.Map
}

// InterceptResponse starts the count at zero. If the response becomes too large, it gets one error for all that is
// missing.
func (l responseLimit) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	operation := graphql.GetOperationContext(ctx).Operation // nil when it was refused
	size := &size{most: l.settings.ResponseBytes, isMutation: operation != nil && operation.Operation == ast.Mutation}
	defer func() { l.underWay.Add(-size.Load()) }()
	ctx = model.WithBudget(ctx, budget{l, size})
	response := next(context.WithValue(ctx, sizeKey{}, size))
	if response != nil && size.isOver.Load() {
		fault := model.Errorf(model.LimitExceeded,
			"the response takes more than the limit of %d bytes to make: ask for fewer at a time, or for less of each", l.settings.ResponseBytes)
		if size.isBusy.Load() {
			fault = model.Errorf(model.Unavailable, "too many large responses are being made; try again, or ask for less at a time")
		}
		response.Errors = append(gqlerror.List{shownTo(ctx, fault)}, response.Errors...)
	}
	return response
}

// InterceptField answers null for everything after the response has become too large. Mutations are carried out all the
// same: they were asked for, and a client without a response must not have to guess which ones were. What a mutation reads
// for itself has a bound of its own.
func (l responseLimit) InterceptField(ctx context.Context, next graphql.Resolver) (any, error) {
	size, ok := ctx.Value(sizeKey{}).(*size)
	if !ok {
		return next(ctx) // It opens the source of a subscription.
	}
	field := graphql.GetFieldContext(ctx)
	if field.Object == "Mutation" {
		next = l.bounded(next)
	} else if size.isOver.Load() {
		return graphql.Null, nil
	}
	value, err := next(ctx)
	if errors.Is(err, model.ErrTooLarge) && size.isOver.Load() {
		return graphql.Null, nil
	}
	if err != nil {
		return value, err
	}
	objects, bytes := weigh(value)
	bytes += bytesPerValue + len(field.Field.Alias) + objects*size.ofTypenames(field.Field.Selections)
	if l.add(size, int64(bytes)); size.isOver.Load() {
		return graphql.Null, nil
	}
	return value, nil
}

// bounded lets a mutation read for itself what fits into ownShare responses. Beyond that its reads fail, and so does all that it
// would have done, with LIMIT_EXCEEDED; or with UNAVAILABLE, where others are the reason.
func (l responseLimit) bounded(next graphql.Resolver) graphql.Resolver {
	return func(ctx context.Context) (any, error) {
		read := &size{most: ownShare * l.settings.ResponseBytes}
		defer func() { l.underWay.Add(-read.Load()) }()
		value, err := next(model.WithBudget(ctx, budget{l, read}))
		switch {
		case !errors.Is(err, model.ErrTooLarge):
			return value, err
		case read.isBusy.Load():
			return nil, model.Errorf(model.Unavailable, "too many large responses are being made; nothing was done: try again")
		default:
			return nil, model.Errorf(model.LimitExceeded, "it would read more than %d bytes, and does nothing: give fewer or smaller ones at a time", read.most)
		}
	}
}

// budget is the limit for code that makes a response by itself.
type budget struct {
	limit responseLimit
	size  *size
}

// Spend counts bytes that are read for the response or written into it.
func (b budget) Spend(bytes int) error {
	if b.limit.add(b.size, int64(bytes)); b.size.isOver.Load() {
		return model.ErrTooLarge
	}
	if now := b.size.Load(); now>>yieldShift != (now-int64(bytes))>>yieldShift {
		runtime.Gosched()
	}
	return nil
}

func (l responseLimit) add(s *size, bytes int64) {
	now, all := s.Add(bytes), l.underWay.Add(bytes)
	switch {
	case now > s.most:
		s.isOver.Store(true)
	case all > mostLarge*l.settings.ResponseBytes && now > s.most/largeShare && !s.isMutation:
		if s.isOver.CompareAndSwap(false, true) {
			s.isBusy.Store(true)
		}
	}
}

// ofTypenames returns what the __typename fields of one object count. The executor makes them without calling
// InterceptField.
func (s *size) ofTypenames(selections ast.SelectionSet) int {
	if len(selections) == 0 {
		return 0
	}
	key := &selections[0] // The executor keeps a field's selections while it makes the response.
	known, _ := s.typenames.Load(key)
	if bytes, ok := known.(int); ok {
		return bytes
	}
	bytes, seen := 0, map[string]bool{}
	var add func(ast.SelectionSet)
	add = func(selections ast.SelectionSet) {
		for _, selected := range selections {
			switch selected := selected.(type) {
			case *ast.Field:
				if selected.Name == "__typename" && !seen[selected.Alias] {
					seen[selected.Alias] = true
					bytes += bytesPerValue + len(selected.Alias)
				}
			case *ast.InlineFragment:
				add(selected.SelectionSet)
			case *ast.FragmentSpread:
				if !seen["..."+selected.Name] {
					seen["..."+selected.Name] = true
					add(selected.Definition.SelectionSet)
				}
			}
		}
	}
	add(selections)
	s.typenames.Store(key, bytes)
	return bytes
}

// weigh returns the number of objects that a value is or lists, and the bytes of a text or a list of texts. Rows were
// counted when they were read, and the fields of an object count its content.
func weigh(value any) (objects, bytes int) {
	switch value := value.(type) {
	case string:
		return 1, len(value)
	case *string:
		if value != nil {
			bytes = len(*value)
		}
		return 1, bytes
	case model.JSONObject:
		return 1, len(value)
	case []string:
		for _, text := range value {
			bytes += bytesPerValue + len(text)
		}
		return 1, bytes
	}
	if list := reflect.ValueOf(value); list.Kind() == reflect.Slice {
		return list.Len(), list.Len() * bytesPerObject
	}
	return 1, 0
}
