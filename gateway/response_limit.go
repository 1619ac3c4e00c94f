package gateway

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

// responseLimit is an extension that bounds what one response, or one event of a subscription, holds while it is
// made: the cost is an estimate, and lists may be longer and texts larger than it takes them to be.
type responseLimit struct {
	settings Settings
	// underWay is what all responses hold that are being made.
	underWay *atomic.Int64
}

func (responseLimit) ExtensionName() string                   { return "ResponseLimit" }
func (responseLimit) Validate(graphql.ExecutableSchema) error { return nil }

// What a value counts beside its name and its text, and an object in a list: it takes some thousand bytes of memory
// while the response is made.
const (
	bytesPerValue  = 64
	bytesPerObject = 512
)

// All responses that are being made may hold as much as mostLarge of the largest ones. Beyond that no response grows above
// a largeShare of the limit: what is asked for usually is far below, and goes on.
const (
	mostLarge  = 4
	largeShare = 8
)

type sizeKey struct{}

// size is what a response holds so far.
type size struct {
	atomic.Int64
	// isOver: nothing more is added. isBusy: because of the responses beside it.
	isOver, isBusy atomic.Bool
	// isMutation: what it did must not look as if it had to be tried again.
	isMutation bool
	// typenames has what the __typename fields of selections count.
	typenames sync.Map
}

// InterceptResponse counts from zero, and has one error for all that is missing when the response was too large.
func (l responseLimit) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	operation := graphql.GetOperationContext(ctx).Operation // nil when it was refused
	size := &size{isMutation: operation != nil && operation.Operation == ast.Mutation}
	defer func() { l.underWay.Add(-size.Load()) }()
	ctx = model.WithBudget(ctx, budget{l, size})
	response := next(context.WithValue(ctx, sizeKey{}, size))
	if response != nil && size.isOver.Load() {
		fault := model.Errorf(model.LimitExceeded,
			"the response is larger than the limit of %d bytes: ask for fewer at a time, or for less of each", l.settings.ResponseBytes)
		if size.isBusy.Load() {
			fault = model.Errorf(model.Unavailable, "too many large responses are being made; try again, or ask for less at a time")
		}
		response.Errors = append(response.Errors, shownTo(ctx, fault))
	}
	return response
}

// InterceptField answers null for all that comes after the response became too large. Mutations are carried out all the
// same: they were asked for, and who gets no response must not have to guess which of them were.
func (l responseLimit) InterceptField(ctx context.Context, next graphql.Resolver) (any, error) {
	size, ok := ctx.Value(sizeKey{}).(*size)
	if !ok {
		return next(ctx) // It opens the source of a subscription.
	}
	field := graphql.GetFieldContext(ctx)
	if size.isOver.Load() && field.Object != "Mutation" {
		return graphql.Null, nil
	}
	value, err := next(ctx)
	if err != nil {
		return value, err
	}
	bytes := bytesPerValue + len(field.Field.Alias) + bytesOf(value) + objectsOf(value)*size.ofTypenames(field.Field.Selections)
	if l.add(size, int64(bytes)); size.isOver.Load() {
		return graphql.Null, nil
	}
	return value, nil
}

// budget is the limit for those who make a response by themselves.
type budget struct {
	limit responseLimit
	size  *size
}

// Spend counts bytes that are read for the response or written into it.
func (b budget) Spend(bytes int) error {
	if b.limit.add(b.size, int64(bytes)); b.size.isOver.Load() {
		return model.ErrTooLarge
	}
	return nil
}

func (l responseLimit) add(s *size, bytes int64) {
	now, all := s.Add(bytes), l.underWay.Add(bytes)
	switch most := l.settings.ResponseBytes; {
	case now > most:
		s.isOver.Store(true)
	case all > mostLarge*most && now > most/largeShare && !s.isMutation:
		if s.isOver.CompareAndSwap(false, true) {
			s.isBusy.Store(true)
		}
	}
}

// ofTypenames returns what the __typename fields of one object count, which are made without asking InterceptField.
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

// objectsOf returns how many elements a list has; anything else is one.
func objectsOf(value any) int {
	if v := reflect.ValueOf(value); v.Kind() == reflect.Slice {
		return v.Len()
	}
	return 1
}

// bytesOf returns what a text, or the elements of a list, count.
func bytesOf(value any) int {
	v := reflect.Indirect(reflect.ValueOf(value))
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Uint8:
			return v.Len()
		case reflect.Pointer, reflect.Struct, reflect.Interface:
			return v.Len() * bytesPerObject
		}
		size := 0
		for i := range v.Len() {
			size += bytesPerValue + bytesOf(v.Index(i).Interface())
		}
		return size
	default:
		return 0
	}
}
