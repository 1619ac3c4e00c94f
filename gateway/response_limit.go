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

// responseLimit is an extension that bounds the memory of each response or event. It also bounds the memory of all
// responses together, until they are written. The cost is not such a bound, because it is an estimate: lists can be
// longer and texts larger than assumed.
type responseLimit struct {
	extensionBase
	settings Settings
	memory   *responseMemory
}

// bytesPerValue is counted for each value, in addition to its name and text. bytesPerObject is counted for each object
// in a list.
const (
	bytesPerValue  = 64
	bytesPerObject = 512
)

// A text above largeText bytes counts timesWritten times: the executor copies it into the JSON of its field, its parent
// and the response, and these buffers grow by copying.
const (
	largeText    = 1 << 10
	timesWritten = 4
)

// workPerStatement is the work of a statement, counted in values. It includes building the statement and reading its
// rows. The executor takes one or two microseconds for each value.
const workPerStatement = 125

// Until they are written, all responses together may hold maxLarge times the maximum size of a response. Beyond that,
// only responses of mutations may exceed 1/largeShare of the maximum size. Most responses are far smaller. A mutation's
// own reads may take ownShare times the maximum size. These reads also count toward the memory of all responses.
const (
	maxLarge   = 4
	largeShare = 8
	ownShare   = 3
)

// yieldShift makes a response yield the processor after each 2^16 bytes. Go would let each large response run for ten
// milliseconds, and each step of a small response would wait for all of them.
const yieldShift = 16

// noteShift makes addBytes call noteLarge after each 2^20 bytes, while the response is being made.
const noteShift = 20

// workShift makes the executor yield the processor after each 2^8 values, a few hundred microseconds.
const workShift = 8

// busyMessage is the message of the error when there is no memory for a large response.
const busyMessage = "the server is busy with too many large responses; try again, or request less at a time"

type sizeKey struct{}

type responseSize struct {
	atomic.Int64
	// limit bounds the bytes that are counted.
	limit int64
	// work counts the executor's work in values. maxWork is its limit; 0 means no limit.
	work    atomic.Int64
	maxWork int
	// isOver is set when a limit is exceeded. All further fields are then null. isBusy is set if other responses took
	// the memory, and isLong if the work was too much.
	isOver, isBusy, isLong atomic.Bool
	// isMutation is set for a mutation, whose error must not suggest a retry.
	isMutation bool
	// out counts the bytes of this response and of other responses.
	out *outgoing
	// document is the text of a query, and "" for other operations.
	document string
	// objects caches perObject by selection set.
	objects sync.Map
}

// InterceptResponse counts the bytes of a response until it is written. A response that becomes too large gets one
// error for everything that is missing.
func (l responseLimit) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	operationContext := graphql.GetOperationContext(ctx)
	operation := operationContext.Operation // it is nil if the operation was refused
	out := outgoingOf(ctx)
	if out == nil { // Then bytes count only until this function returns.
		out = l.memory.open("", nil)
		defer out.close()
	}
	size := &responseSize{limit: l.settings.ResponseBytes, maxWork: l.settings.ResponseWork,
		isMutation: operation != nil &&
			operation.Operation == ast.Mutation, out: out}
	if operation != nil && operation.Operation == ast.Query {
		size.document = operationContext.RawQuery
		if _, only := introspects(operationContext); only {
			size.maxWork = 0 // The cost bounds operations that read only the schema.
		}
	}
	if size.isMutation {
		size.maxWork = 0 // The cost bounds mutations before they change anything.
	}
	if out.isHopeless(size.document) {
		return &graphql.Response{Errors: gqlerror.List{publicError(ctx, model.Errorf(model.Unavailable, busyMessage))}}
	}
	var response *graphql.Response
	defer func() {
		kept := int64(0)
		if response != nil {
			kept = int64(len(response.Data))
		}
		took := size.Load()
		out.addBytes(kept - took)
		out.startWrite(kept)
		out.noteLarge(size.document, took)
	}()
	ctx = model.WithMemoryBudget(ctx, responseBudget{l, size})
	response = next(context.WithValue(context.WithValue(ctx, sizeKey{}, size), outgoingKey{}, out))
	if response != nil && size.isOver.Load() {
		response.Errors = append(gqlerror.List{publicError(ctx, l.faultOf(size))}, response.Errors...)
	}
	return response
}

// faultOf returns the error of a response that exceeded a limit.
func (l responseLimit) faultOf(size *responseSize) *model.Error {
	switch isBusy := size.isBusy.Load(); {
	case isBusy && size.isMutation:
		return model.Errorf(model.LimitExceeded, "the mutation was executed, but its response is left out, because the "+
			"server is busy with too many large responses. Query what the mutation changed")
	case isBusy:
		return model.Errorf(model.Unavailable, busyMessage)
	case size.isMutation:
		return model.Errorf(model.LimitExceeded, "the mutation was executed, but its response is left out, because making "+
			"it takes more memory than the limit of %d bytes. Query what the mutation changed", l.settings.ResponseBytes)
	case size.isLong.Load():
		return model.Errorf(model.LimitExceeded,
			"the response needs more than the limit of %d units of work (1 per value, %d per database statement): request "+
				"fewer items, or fewer fields of each", l.settings.ResponseWork, workPerStatement)
	}
	return model.Errorf(model.LimitExceeded,
		"making the response takes more memory than the limit of %d bytes: request fewer items, or fewer fields of each",
		l.settings.ResponseBytes)
}

// InterceptField returns null for all fields after the response has become too large. Mutations still run,
// because a client could not know which of them had run. A mutation's own reads have another bound.
func (l responseLimit) InterceptField(ctx context.Context, next graphql.Resolver) (any, error) {
	size, ok := ctx.Value(sizeKey{}).(*responseSize)
	if !ok {
		return next(ctx) // The field opens the source of a subscription.
	}
	field := graphql.GetFieldContext(ctx)
	if field.Object == "Mutation" {
		next = l.limitMutation(size.out, next)
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
	each := size.ofObject(field.Field.Selections)
	bytes += bytesPerValue + len(field.Field.Alias) + objects*each.typenameBytes
	// The fields of a list's objects are counted here, so that a list that would exceed the limit is not started.
	work := objects * each.fields
	if field.Parent == nil || field.Parent.Field.Field == nil {
		work++
	}
	size.addWork(work)
	if l.addBytes(size, int64(bytes)); size.isOver.Load() {
		return graphql.Null, nil
	}
	return value, nil
}

// limitMutation lets a mutation read up to ownShare times the response limit. Beyond that its reads and its transaction
// fail with LIMIT_EXCEEDED, or with UNAVAILABLE if other responses took the memory.
func (l responseLimit) limitMutation(out *outgoing, next graphql.Resolver) graphql.Resolver {
	return func(ctx context.Context) (any, error) {
		read := &responseSize{limit: ownShare * l.settings.ResponseBytes, out: out}
		defer func() { out.addBytes(-read.Load()) }()
		value, err := next(model.WithMemoryBudget(ctx, ownReads{responseBudget{l, read}}))
		switch {
		case !errors.Is(err, model.ErrTooLarge):
			return value, err
		case read.isBusy.Load():
			return nil, model.Errorf(model.Unavailable, "the server is busy with too many large responses; try again")
		default:
			return nil, model.Errorf(model.LimitExceeded, "the mutation would read more than %d bytes: give it fewer or "+
				"smaller objects at a time", read.limit)
		}
	}
}

// responseBudget is the model.MemoryBudget of a response.
type responseBudget struct {
	limit responseLimit
	size  *responseSize
}

// Reserve counts bytes that are read for the response or written into it.
func (b responseBudget) Reserve(bytes int) error {
	if b.limit.addBytes(b.size, int64(bytes)); b.size.isOver.Load() {
		return model.ErrTooLarge
	}
	if now := b.size.Load(); now>>yieldShift != (now-int64(bytes))>>yieldShift {
		runtime.Gosched()
	}
	return nil
}

// CountStatement counts a database statement. It fails once the response has exceeded a limit. It also fails for a
// query that has read little, if its response is known to be large and other responses have taken the memory since.
func (b responseBudget) CountStatement() error {
	if b.size.Load() < smallResponse && b.size.out.isHopeless(b.size.document) &&
		b.size.isOver.CompareAndSwap(false, true) {
		b.size.isBusy.Store(true)
	}
	if b.size.addWork(workPerStatement); b.size.isOver.Load() {
		return model.ErrTooLarge
	}
	return nil
}

// ownReads is the model.MemoryBudget of a mutation's own reads. It does not limit the number of statements.
type ownReads struct{ responseBudget }

func (ownReads) CountStatement() error { return nil }

// addWork counts work for a response. The unit is the work for one value.
func (s *responseSize) addWork(work int) {
	now, most := s.work.Add(int64(work)), int64(s.maxWork)
	if now > most && most > 0 && s.isOver.CompareAndSwap(false, true) {
		s.isLong.Store(true)
	}
	if now>>workShift != (now-int64(work))>>workShift {
		runtime.Gosched()
	}
}

func (l responseLimit) addBytes(s *responseSize, bytes int64) {
	now := s.Add(bytes)
	s.out.addBytes(bytes)
	if now>>noteShift > (now-bytes)>>noteShift {
		s.out.noteLarge(s.document, now)
	}
	switch most := s.out.limitNow(s.limit); {
	case now > s.limit:
		s.isOver.Store(true)
	case now > most && (!s.isMutation || most < s.limit/largeShare):
		if s.isOver.CompareAndSwap(false, true) {
			s.isBusy.Store(true)
		}
	}
}

// perObject is counted in advance for each object: the number of its selected fields, of all possible types, and the
// bytes of __typename. The executor does not call InterceptField for __typename.
type perObject struct{ fields, typenameBytes int }

func (s *responseSize) ofObject(selections ast.SelectionSet) (each perObject) {
	if len(selections) == 0 {
		return each
	}
	key := &selections[0] // the slice is the same during the whole response
	if known, ok := s.objects.Load(key); ok {
		return known.(perObject)
	}
	seen := map[string]bool{}
	var add func(ast.SelectionSet)
	add = func(selections ast.SelectionSet) {
		for _, selected := range selections {
			switch selected := selected.(type) {
			case *ast.Field:
				if !seen[selected.Alias] {
					each.fields++
					if selected.Name == "__typename" {
						each.typenameBytes += bytesPerValue + len(selected.Alias)
					}
				}
				seen[selected.Alias] = true
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
	s.objects.Store(key, each)
	return each
}

// textBytes returns how many bytes are counted for a text of the given length.
func textBytes(bytes int) int {
	if bytes > largeText {
		bytes *= timesWritten
	}
	return bytes
}

// weigh returns the number of objects in a value, and the bytes of a text or of a list. Rows were counted when they
// were read, and the content of an object counts with its fields.
func weigh(value any) (objects, bytes int) {
	switch value := value.(type) {
	case string:
		return 1, textBytes(len(value))
	case *string:
		if value != nil {
			bytes = textBytes(len(*value))
		}
		return 1, bytes
	case model.JSONObject:
		return 1, textBytes(len(value))
	case []string:
		for _, text := range value {
			bytes += bytesPerValue + textBytes(len(text))
		}
		return 1, bytes
	}
	if list := reflect.ValueOf(value); list.Kind() == reflect.Slice {
		return list.Len(), list.Len() * bytesPerObject
	}
	return 1, 0
}
