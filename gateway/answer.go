package gateway

import (
	"context"
	"reflect"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"

	"github.com/agentgraph/agentgraph/model"
)

// answerLimit is an extension that bounds what one answer, or one event of a subscription, holds while it is
// made: the cost is an estimate, and lists may be longer and texts larger than it takes them to be.
type answerLimit struct{ settings Settings }

func (answerLimit) ExtensionName() string                   { return "AnswerLimit" }
func (answerLimit) Validate(graphql.ExecutableSchema) error { return nil }

// What a value counts beside its name and its text, and an object in a list: it takes some thousand bytes of memory
// while the answer is made.
const (
	bytesPerValue  = 64
	bytesPerObject = 512
)

type sizeKey struct{}

// InterceptResponse counts from zero, and has one error for all that is missing when the answer was too large.
func (l answerLimit) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	size := new(atomic.Int64)
	response := next(context.WithValue(ctx, sizeKey{}, size))
	if response != nil && size.Load() > l.settings.AnswerBytes {
		tooLarge := model.Errorf(model.LimitExceeded,
			"the answer is larger than the limit of %d bytes: ask for fewer at a time, or for less of each", l.settings.AnswerBytes)
		response.Errors = append(response.Errors, shownTo(ctx, tooLarge))
	}
	return response
}

// InterceptField answers null for all that comes after the answer became too large. Mutations are carried out all the
// same: they were asked for, and who gets no answer must not have to guess which of them were.
func (l answerLimit) InterceptField(ctx context.Context, next graphql.Resolver) (any, error) {
	size, ok := ctx.Value(sizeKey{}).(*atomic.Int64)
	if !ok {
		return next(ctx) // It opens the source of a subscription.
	}
	field := graphql.GetFieldContext(ctx)
	if size.Load() > l.settings.AnswerBytes && field.Object != "Mutation" {
		return graphql.Null, nil
	}
	value, err := next(ctx)
	if err == nil && size.Add(int64(bytesPerValue+len(field.Field.Alias)+bytesOf(value))) > l.settings.AnswerBytes {
		return graphql.Null, nil
	}
	return value, err
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
