package gateway

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/agentgraph/agentgraph/model"
)

// unanswered is a schema that is never executed.
type unanswered struct{ schema *ast.Schema }

func (u unanswered) Schema() *ast.Schema                        { return u.schema }
func (unanswered) Exec(context.Context) graphql.ResponseHandler { return nil }
func (unanswered) Complexity(context.Context, string, string, int, map[string]any) (int, bool) {
	return 0, false
}

// FuzzGuard requires that an operation that passes the guard is within every limit when all fragments are expanded. It
// also requires that the rewritten variables have the same meaning, and that a second run of the guard has the same
// result.
func FuzzGuard(f *testing.F) {
	f.Add(`{ agents(first: 3) { nodes { ...a } } } fragment a on Agent { name tools { ...t } } fragment t on Tool { name
		}`, `{}`, true)
	f.Add(`query ($n: Int!, $all: Boolean!) { agents(first: $n) { nodes { tests(first: $n) @include(if: $all) { nodes { id
		} } } } }`, `{"n":100,"all":true}`, true)
	f.Add(`{ __schema { types { name fields { name } } } }`, `null`, false)
	f.Add(`{ ...q } fragment q on Query { ... { __type(name: "Agent") { name } } }`, ``, false)
	f.Add(`mutation ($i: CreateToolInput!) { createTool(input: $i) { id } }`,
		`{"i":{"name":"n","technicalName":"t","parameters":{"type":"object","b":1.0,"a":{"b":1,"b":2}}}}`, true)
	f.Add(`mutation { addCampaignItems(input: {campaignId: "c", items: [{phoneNumber: "+1", dataBag: {b: 1.50,
		a: [{}]}}]}) { items { id } } }`, `{}`, true)
	f.Add(`{ nodes(ids: ["a"]) { id ... on Agent { subAgents { agent { ...a } } } } } fragment a on Agent { ...a }`, `{}`,
		true)
	f.Add(`{ agents { nodes { ...a } } } fragment a on aTesy { id }`, `{}`, true)
	operations, err := filepath.Glob("rest/operations/*.graphql")
	require.NoError(f, err)
	for _, name := range operations {
		f.Add(read(f, name), `{"id":"a","first":50,"offset":0,"input":{}}`, true)
	}
	schema := productSchema(f)
	f.Fuzz(func(t *testing.T, query, variables string, introspection bool) {
		params := graphql.RawParams{Query: query}
		if variables != "" && unmarshal([]byte(variables), &params.Variables) != nil {
			return
		}
		settings := DefaultSettings()
		settings.Introspection = introspection
		documents := newDocuments(settings.CachedBytes)
		exec := executor.New(unanswered{schema})
		exec.SetQueryCache(documents)
		exec.SetDisableSuggestion(!introspection)
		exec.SetDefaultRulesFn(func() *rules.Rules { return validation(introspection) })
		exec.Use(guard{settings: settings, documents: documents, schema: schema})
		look := func() (*graphql.OperationContext, string) {
			again := params
			again.Variables = map[string]any{}
			_ = unmarshal([]byte(variables), &again.Variables)
			ctx := context.WithValue(graphql.StartOperationTrace(t.Context()), variablesKey{}, json.RawMessage(variables))
			operation, errs := exec.CreateOperationContext(ctx, &again)
			return operation, errs.Error()
		}
		operation, refused := look()
		_, again := look()
		require.Equal(t, refused, again)
		if refused != "" {
			return
		}
		require.LessOrEqual(t, len(query), settings.QueryBytes)
		require.Nil(t, checkTokens(&ast.Source{Input: query}, settings.QueryTokens))
		requireSameTexts(t, operation.Variables, params.Variables)
		w := writing{left: 10_000}
		whole := *operation.Operation
		if whole.SelectionSet = w.out(whole.SelectionSet, 1); w.left <= 0 {
			return // The expanded operation can have any size, so the guard measures each fragment once.
		}
		require.LessOrEqual(t, w.depth, settings.QueryDepth)
		require.False(t, w.introspects && !introspection)
		cost := costOf(schema, operation.Operation, operation.Variables)
		require.Equal(t, costOf(schema, &whole, operation.Variables), cost)
		require.LessOrEqual(t, cost, settings.QueryCost)
	})
}

// requireSameTexts requires that the texts that replace custom scalars have the meaning of the given values.
func requireSameTexts(t *testing.T, value, given any) {
	t.Helper()
	switch value := value.(type) {
	case json.RawMessage:
		want, err := json.Marshal(given)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(value))
	case map[string]any:
		members, _ := given.(map[string]any)
		for name, member := range value {
			requireSameTexts(t, member, members[name])
		}
	case []any:
		if elements, isList := given.([]any); isList {
			for i, element := range value {
				requireSameTexts(t, element, elements[i])
			}
		}
	}
}

// writing expands fragments in full and measures the result.
type writing struct {
	left, depth int
	introspects bool
}

func (w *writing) out(set ast.SelectionSet, depth int) ast.SelectionSet {
	var whole ast.SelectionSet
	for _, selected := range set {
		if w.left--; w.left <= 0 {
			return nil
		}
		switch s := selected.(type) {
		case *ast.Field:
			w.depth = max(w.depth, depth)
			w.introspects = w.introspects || s.Name == "__schema" || s.Name == "__type"
			field := *s
			field.SelectionSet = w.out(s.SelectionSet, depth+1)
			whole = append(whole, &field)
		case *ast.InlineFragment:
			inline := *s
			inline.SelectionSet = w.out(s.SelectionSet, depth)
			whole = append(whole, &inline)
		case *ast.FragmentSpread:
			whole = append(whole, &ast.InlineFragment{
				TypeCondition: s.Definition.TypeCondition, Directives: s.Directives, SelectionSet: w.out(s.Definition.SelectionSet,
					depth),
			})
		}
	}
	return whole
}

// FuzzRequest requires that the gateway reads a request's members like encoding/json.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		`{"query":"{ a }","operationName":"a","variables":{"a":1.0},"extensions":{}}`,
		`{"query":"\ud83d\ude00 \ud83d","query":null}`, `{"\u0071uery":"{ a }"}`,
		`{"query":"a","variables":null,"operationName":null}`, `{"query":"a","variables":[]}`, `{"query":1}`, `[]`, `null`,
		`{"query":"a"} x`, "{\"query\":\"\xff\"}", ``, `{"query":"a \ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, fault := decodeParams(text)
		var members map[string]json.RawMessage
		if unmarshal(text, &members) != nil || members == nil {
			require.NotNil(t, fault)
			return
		}
		var want graphql.RawParams
		isWrong := json.Unmarshal(text, &members) != nil
		for name, target := range map[string]any{
			"query": &want.Query, "operationName": &want.OperationName, "variables": &want.Variables,
			"extensions": &want.Extensions,
		} {
			if value, given := members[name]; given {
				isWrong = unmarshal(value, target) != nil || isWrong
			}
		}
		if isWrong || want.Query == "" || model.HalfPair(text) >= 0 {
			require.NotNil(t, fault)
			return
		}
		require.Nil(t, fault)
		require.Equal(t, want, *got.RawParams)
	})
}
