package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/lexer"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/agentgraph/agentgraph/model"
)

// guard is an extension that refuses documents too expensive to validate, operations too expensive to execute, and
// variables that do not match their types. Each check precedes the work that it bounds.
type guard struct {
	extensionBase
	settings  Settings
	documents documents
	schema    *ast.Schema
}

// MutateOperationParameters checks the text before validation. The executor reports a text that does not parse.
func (g guard) MutateOperationParameters(ctx context.Context, request *graphql.RawParams) *gqlerror.Error {
	if len(request.Query) > g.settings.QueryBytes {
		return exceeded("the query is longer than the limit of %d bytes", g.settings.QueryBytes)
	}
	if _, known := g.documents.Get(ctx, request.Query); known {
		return nil
	}
	source := &ast.Source{Input: request.Query}
	if err := checkTokens(source, g.settings.QueryTokens); err != nil {
		return err
	}
	document, err := parser.ParseQuery(source)
	if err != nil {
		return nil //nolint:nilerr // The executor parses again and reports it.
	}
	w := walk{document: document, depths: map[string]int{}}
	for _, operation := range document.Operations {
		if w.depth(operation.SelectionSet, map[string]int{}) > g.settings.QueryDepth {
			return exceeded("the query is nested deeper than the limit of %d levels", g.settings.QueryDepth)
		}
	}
	if w.repeats > maxRepeats {
		return exceeded("the query selects a field more than %d times, the limit", maxRepeats)
	}
	if w.introspects && !g.settings.Introspection {
		return errorOf("introspection is switched off on this server", errcode.ValidationFailed)
	}
	return nil
}

// MutateOperationContext checks the variables after gqlparser has coerced them, restores the objects of
// custom scalars as the client wrote them, and checks the operation's cost with these variables.
func (g guard) MutateOperationContext(ctx context.Context, operation *graphql.OperationContext) *gqlerror.Error {
	if faults := checkVariables(g.schema, operation.Operation, operation.Variables); len(faults) > 0 {
		return faults[0]
	}
	if fault := checkSubscription(operation); fault != nil {
		return fault
	}
	var texts map[string]json.RawMessage
	for _, definition := range operation.Operation.VariableDefinitions {
		value := operation.Variables[definition.Variable]
		if !hasObject(g.schema, definition.Type, value) {
			continue
		}
		if texts == nil {
			text, _ := ctx.Value(variablesKey{}).(json.RawMessage)
			texts = membersOf(text)
		}
		operation.Variables[definition.Variable] = restoreJSON(g.schema, definition.Type, value, texts[definition.Variable])
	}
	return g.checkCost(ctx, operation)
}

// checkSubscription refuses a subscription without exactly one root field. Validation counts names, so it accepts the
// same field under two aliases, and a field that @skip or @include leaves out.
func checkSubscription(operation *graphql.OperationContext) *gqlerror.Error {
	if operation.Operation.Operation != ast.Subscription {
		return nil
	}
	fields := slices.Collect(rootFields(operation))
	if len(fields) == 1 {
		return nil
	}
	name, at := "Anonymous Subscription", operation.Operation.Position
	if operation.Operation.Name != "" {
		name = "Subscription " + strconv.Quote(operation.Operation.Name)
	}
	if len(fields) > 1 {
		at = fields[1].Position
	}
	err := &gqlerror.Error{Message: name + " must select only one top level field."}
	if len(fields) == 0 {
		err.Message = name + " must select one top level field: @skip or @include leaves it out."
	}
	if at != nil {
		err.Locations = []gqlerror.Location{{Line: at.Line, Column: at.Column}}
	}
	errcode.Set(err, errcode.ValidationFailed)
	return err
}

func exceeded(format string, numbers ...any) *gqlerror.Error {
	return gqlerror.Wrap(model.Errorf(model.LimitExceeded, format, numbers...))
}

// checkTokens refuses a text that has more than limit tokens, including comments. It also refuses a string with half of
// a surrogate pair, which the lexer would replace by U+FFFD. It stops at an invalid token.
func checkTokens(source *ast.Source, limit int) *gqlerror.Error {
	tokens, runes := lexer.New(source), []rune(nil)
	for range limit + 1 {
		token, err := tokens.ReadToken()
		if err != nil || token.Kind == lexer.EOF {
			return nil //nolint:nilerr // The executor parses again and reports it.
		}
		if token.Kind != lexer.String || !strings.ContainsRune(token.Value, utf8.RuneError) {
			continue
		}
		if runes == nil {
			runes = []rune(source.Input)
		}
		if model.HalfPair([]byte(string(runes[token.Pos.Start:token.Pos.End]))) >= 0 {
			return gqlerror.Wrap(model.Errorf(model.BadInput, "the query has half of a surrogate pair in line %d, column %d: "+
				"send whole characters", token.Pos.Line, token.Pos.Column))
		}
	}
	return exceeded("the query has more tokens than the limit of %d", limit)
}

// maxRepeats bounds how many fields of one selection have the same response name. Validation compares such fields in
// pairs, which takes two seconds for four thousand fields.
const maxRepeats = 100

// walk measures a document. It visits each fragment once.
type walk struct {
	document *ast.QueryDocument
	depths   map[string]int
	// repeats is the highest number of fields with the same response name in one selection.
	repeats     int
	introspects bool
}

// depth returns the number of levels of fields in the selection. The map fields counts the fields by response name. A
// selection shares the map with its inline fragments.
func (w *walk) depth(selection ast.SelectionSet, fields map[string]int) int {
	deepest := 0
	for _, selected := range selection {
		below := 0
		switch s := selected.(type) {
		case *ast.Field:
			w.introspects = w.introspects || s.Name == "__schema" || s.Name == "__type"
			fields[s.Alias]++
			w.repeats = max(w.repeats, fields[s.Alias])
			below = 1 + w.depth(s.SelectionSet, map[string]int{})
		case *ast.InlineFragment:
			below = w.depth(s.SelectionSet, fields)
		case *ast.FragmentSpread:
			below = w.fragment(s.Name)
		}
		deepest = max(deepest, below)
	}
	return deepest
}

func (w *walk) fragment(name string) int {
	if depth, measured := w.depths[name]; measured {
		return depth
	}
	fragment := w.document.Fragments.ForName(name)
	if fragment == nil {
		return 0
	}
	// Validation refuses a fragment that spreads itself. Here the recursion only has to end.
	w.depths[name] = 0
	w.depths[name] = w.depth(fragment.SelectionSet, map[string]int{})
	return w.depths[name]
}
