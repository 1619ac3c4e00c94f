package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/gateway/stored"
	"github.com/agentgraph/agentgraph/model"
)

var (
	searchInput = ast.FieldList{{Name: "words", Type: ast.NonNullNamedType("String", nil),
		Description: "Words that the name or the description contains, such as `agent prompt`, or the name of a type; at most " +
			"200 characters."}}
	documentInput = ast.FieldList{
		{Name: "document", Type: ast.NonNullNamedType("String", nil), Description: "A GraphQL document, usually with one operation."},
		{Name: "variables", Type: ast.NamedType("JSONObject", nil), Description: "The values of its variables."},
		{Name: "operationName", Type: ast.NamedType("String", nil),
			Description: "Which operation to use, if the document has several."},
	}
)

// Bounds of a search: the characters of its words, the entries that it returns, and the characters of an entry's
// description. Each word is compared with every entry.
const (
	maxWords   = 200
	maxMatches = 40
	maxAbout   = 300
)

// match is an entry of the schema: a field, an input or an enum.
type match struct {
	Path  string `json:"path"`
	Type  string `json:"type"`
	About string `json:"description,omitempty"`
	score int
}

// searchSchema finds entries of the schema, the best first.
func (t *Transport) searchSchema(_ context.Context, input map[string]any) *sdk.CallToolResult {
	text, _ := input["words"].(string)
	if utf8.RuneCountInString(text) > maxWords {
		return errorResult(invalid(model.Fields{"words": {fmt.Sprintf("must have at most %d characters", maxWords)}}))
	}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !isLetter(r) })
	var found []match
	for _, definition := range t.schema.Types {
		if strings.HasPrefix(definition.Name, "__") {
			continue
		}
		// If the text is the name of the type, all of its entries match, in their order.
		isNamed := strings.EqualFold(definition.Name, strings.TrimSpace(text))
		for i, one := range entries(definition) {
			if one.score = score(one, words); isNamed {
				one.score = 1_000 - i
			}
			if one.score > 0 {
				found = append(found, one)
			}
		}
	}
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(b.score-a.score, len(a.Path)-len(b.Path), strings.Compare(a.Path, b.Path))
	})
	total := len(found)
	found = append([]match{}, found[:min(total, maxMatches)]...)
	result, _ := json.Marshal(map[string]any{"matches": found, "total": total}) // texts always encode
	note := ""
	if total == 0 {
		note = "No entry has all these words. Try one word, or the name of a type, such as Query or Mutation."
	}
	return jsonResult(result, note)
}

func isLetter(r rune) bool { return r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }

// entries returns the entries of a type.
func entries(definition *ast.Definition) []match {
	var all []match
	for _, field := range definition.Fields {
		if strings.HasPrefix(field.Name, "__") {
			continue
		}
		path := definition.Name + "." + field.Name
		var arguments []string
		for _, a := range field.Arguments {
			arguments = append(arguments, a.Name+": "+a.Type.String())
		}
		if len(arguments) > 0 {
			path += "(" + strings.Join(arguments, ", ") + ")"
		}
		all = append(all, match{Path: path, Type: field.Type.String(), About: clipped(field.Description)})
	}
	if definition.Kind == ast.Enum {
		var values []string
		for _, value := range definition.EnumValues {
			values = append(values, value.Name)
		}
		all = append(all, match{Path: definition.Name, Type: "enum " + strings.Join(values, " | "),
			About: clipped(definition.Description)})
	}
	return all
}

func clipped(text string) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) > maxAbout {
		return string(runes[:maxAbout]) + "…"
	}
	return string(runes)
}

// score is 0 unless the entry has all words. Words in its name count more than those in its description, and root
// fields more than others.
func score(one match, words []string) int {
	path, about, sum := strings.ToLower(one.Path), strings.ToLower(one.About), 0
	name, _, _ := strings.Cut(path, "(")
	for _, word := range words {
		switch {
		case strings.Contains(name, word):
			sum += 10
		case strings.Contains(path, word):
			sum += 4
		case strings.Contains(about, word):
			sum += 2
		default:
			return 0
		}
	}
	if sum > 0 && (strings.HasPrefix(one.Path, "Query.") || strings.HasPrefix(one.Path, "Mutation.")) {
		sum += 5
	}
	return sum
}

// documentOf returns a request for the document of the input, with exact numbers in its variables.
func documentOf(ctx context.Context, input map[string]any) *graphql.RawParams {
	text, _ := input["variables"].(json.RawMessage)
	variables := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	_ = decoder.Decode(&variables) // the decoder has checked that it is an object
	document, _ := input["document"].(string)
	operation, _ := input["operationName"].(string)
	return request(ctx, document, operation, variables)
}

// operationOf returns the operation of the input's document, or its errors.
func (t *Transport) operationOf(ctx context.Context, input map[string]any) (*graphql.OperationContext, gqlerror.List) {
	request := documentOf(ctx, input)
	operation, errs := callOf(ctx).exec.CreateOperationContext(ctx, request)
	return operation, t.Explain(t.schema, operation, request.Variables, errs)
}

// validate checks a document and its variables, as before an execution.
func (t *Transport) validate(ctx context.Context, input map[string]any) *sdk.CallToolResult {
	_, errs := t.operationOf(withNewBuffer(ctx), input)
	faults := model.Map(errs[:min(len(errs), stored.MaxFaults)], func(err *gqlerror.Error) string { return err.Error() })
	result, _ := json.Marshal(map[string]any{"isValid": len(errs) == 0, "errors": faults}) // texts always encode
	return jsonResult(result)
}

// query runs the caller's query, or mutation if the credential has the scope for it.
func (t *Transport) query(ctx context.Context, input map[string]any) *sdk.CallToolResult {
	ctx = withNewBuffer(ctx)
	exec := callOf(ctx).exec
	operation, errs := t.operationOf(ctx, input)
	if len(errs) > 0 {
		return errorResult(failure(exec.DispatchError(graphql.WithOperationContext(ctx, operation), errs)))
	}
	kind := operation.Operation.Operation
	principal, _ := model.PrincipalOf(ctx)
	switch {
	case kind == ast.Subscription:
		return errorResult(model.Errorf(model.BadInput, "only queries are allowed here, no subscriptions"))
	case kind == ast.Mutation && t.IsReadOnly:
		return errorResult(model.Errorf(model.BadInput, "only queries are allowed here, because this server is read-only "+
			"for assistants"))
	case kind == ast.Mutation && !principal.Can(model.APIKeyScopeMutate):
		return errorResult(model.Errorf(model.Forbidden,
			"only queries are allowed here, because the credential does not have "+
				"the scope %s: use the tools for changes", model.APIKeyScopeMutate))
	}
	next, ctx := exec.DispatchOperation(ctx, operation)
	response := next(ctx)
	if err := failure(response); err != nil {
		result := errorResult(err)
		if kind == ast.Mutation && response != nil && isPartlyDone(response.Data) {
			done := "Done: " + string(response.Data)
			if len(done) > maxAnswer {
				done = "Some of the mutations were done: find out which before you repeat one."
			}
			result.Content = append(result.Content, &sdk.TextContent{Text: done})
		}
		return result
	}
	return jsonResult(response.Data)
}

// isPartlyDone reports whether some mutation of a response with errors succeeded.
func isPartlyDone(data json.RawMessage) bool {
	var results map[string]json.RawMessage
	_ = json.Unmarshal(data, &results) // null has no results
	for _, result := range results {
		if !stored.IsNull(result) {
			return true
		}
	}
	return false
}
