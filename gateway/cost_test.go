package gateway

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"

	"github.com/agentgraph/agentgraph/model"
)

const priced = `
directive @cost(weight: Int! isShared: Boolean! = false) on FIELD_DEFINITION
directive @listSize(assumedSize: Int, slicingArguments: [String!]) on FIELD_DEFINITION
type Query {
  one: Shelf
  shelves(first: Int! = 50, offset: Int): Page!
  many(ids: [ID!]!): [Thing]! @listSize(slicingArguments: ["ids"])
  things: [Thing!]!
  dear: [Book!]! @cost(weight: 1000)
}
type Mutation { take(input: Take!): Taken @listSize(slicingArguments: ["input.limit"]) }
type Subscription { shelf: Shelf! }
input Take { limit: Int! }
type Taken { books: [Book!]! label: String }
type Page { nodes: [Shelf!]! total: Int! counted: Int! @cost(weight: 2000, isShared: true) }
type Shelf { name: String! labels: [String!]! books: [Book!]! @listSize(assumedSize: 20) shelves(first: Int, last: Int, offset: Int): Page! }
interface Thing { name: String! }
type Book implements Thing { name: String! pages: Int! shelf: Shelf! }
type Vase implements Thing { name: String! shelf: Shelf! }
`

// costIn returns the cost of a document's only operation.
func costIn(t testing.TB, schema *ast.Schema, query string, variables map[string]any) int {
	t.Helper()
	document, errs := gqlparser.LoadQueryWithRules(schema, query, rules.NewDefaultRules())
	require.Empty(t, errs, query)
	require.Len(t, document.Operations, 1)
	coerced, err := validator.VariableValues(schema, document.Operations[0], variables)
	require.NoError(t, err, query)
	return costOf(schema, document.Operations[0], coerced)
}

func TestCostCountsRowsAndFields(t *testing.T) {
	t.Parallel()
	schema := gqlparser.MustLoadSchema(&ast.Source{Input: priced})
	type values = map[string]any
	for _, c := range []struct {
		query     string
		variables values
		want      int
	}{
		{"{ one { name } }", nil, 2},
		{"{ one { __typename } __typename }", nil, 3},
		{"{ __schema { types { name } } __type(name: \"Book\") { name } }", nil, 1 + 2 + len(schema.Types)*(1+2) + 1 + 2},
		{"{ __type(name: \"Book\") { fields { args { name } } } }", nil, 1 + 2 + 5*(1+2+2*(1+2))},
		{"{ a: one { name } b: one { name } }", nil, 4},
		{"{ one { labels } }", nil, 1 + 1 + 5},
		{"{ one { books { name } } }", nil, 1 + 1 + 20*2},
		{"{ shelves { total } }", nil, 2},
		{"{ shelves { nodes { name } } }", nil, 2 + 50*2},
		{"{ shelves(first: 3) { nodes { name } total } }", nil, 3 + 3*2},
		// One statement counts the lists of all shelves.
		{"{ shelves(first: 3) { counted nodes { shelves(first: 2) { counted } } } }", nil, 2000 + 2000 + 2 + 1 + 3*(1+1+1)},
		{"{ shelves(first: 3, offset: 2147483647) { total } }", nil, 60_000 + 2},
		{"{ shelves(first: 3, offset: 5000) { nodes { name } } }", nil, 15_000 + 2 + 3*2},
		// Each nested list skips rows separately.
		{"{ shelves(first: 3) { nodes { shelves(first: 2, offset: 400) { total } } } }", nil, 2 + 3*(1+1200+2)},
		{"query ($n: Int!) { shelves(first: $n) { nodes { name } } }", values{"n": int64(7)}, 2 + 7*2},
		{"query ($n: Int! = 8) { shelves(first: $n) { nodes { name } } }", nil, 2 + 8*2},
		{"{ shelves(first: 3) { nodes { books { name } labels } } }", nil, 2 + 3*(1+1+20*2+1+5)},
		{"{ dear { name } }", nil, 1000 + 5*2},
		{"{ many(ids: [1, 2, 3]) { name } }", nil, 1 + 3*2},
		{"query ($ids: [ID!]!) { many(ids: $ids) { name } }", values{"ids": []any{"a", "b"}}, 1 + 2*2},
		{"query ($ids: [ID!]!) { many(ids: $ids) { name } }", values{"ids": "a"}, 1 + 1*2},
		{"mutation { take(input: {limit: 9}) { label books { name } } }", nil, 20_000 + 1 + 1 + 9*2},
		{"mutation ($l: Int!) { take(input: {limit: $l}) { books { name } } }", values{"l": int64(9)}, 20_000 + 1 + 9*2},
		{"mutation ($i: Take!) { take(input: $i) { books { name } } }", values{"i": values{"limit": json.Number("9")}},
			20_000 + 1 + 9*2},
		{"subscription { shelf { name } }", nil, 2},
		// The field refuses a page beyond the maximum. It costs no more than the largest valid page.
		{"{ shelves(first: 2147483647) { nodes { name } } }", nil, 2 + model.MaxPageSize*2},
		{"{ one { shelves { nodes { name } } } }", nil, 1 + 2 + model.DefaultPageSize*2},
		{"{ one { shelves(first: 3) { nodes { name } } } }", nil, 1 + 2 + 3*2},
		{"query ($n: Int) { one { shelves(last: $n) { nodes { name } } } }", values{"n": int64(3)}, 1 + 2 + 3*2},
		{"query ($n: Int) { one { shelves(last: $n) { nodes { name } } } }", values{"n": int64(3_000)}, 1 + 2 +
			model.MaxPageSize*2},
		{"{ shelves(first: 0) { nodes { name } } }", nil, 2 + 5*2},
		{"{ shelves(first: -1) { nodes { name } } }", nil, 2 + 5*2},
		// Skipped fields cost nothing.
		{"query ($no: Boolean!) { one { name @include(if: $no) labels @skip(if: true) } }", values{"no": false}, 1},
		{"query ($no: Boolean!) { one { name @skip(if: $no) labels @include(if: true) } }", values{"no": false}, 1 + 1 + 6},
		{"query ($no: Boolean!) { one { ...f @include(if: $no) ... @include(if: $no) { name } } } fragment f on Shelf { " +
			"name }", values{"no": false}, 1},
		// An object has one type, so the most expensive type counts.
		{"{ things { name ... on Book { pages shelf { name } } ... on Vase { shelf { name } } } }", nil, 1 + 5*(1+1+1+2)},
		{"{ things { ... on Thing { name } ...b } } fragment b on Book { pages }", nil, 1 + 5*(1+2)},
		// A fragment's cost depends on where it is spread.
		{"{ a: shelves(first: 2) { ...p } b: shelves(first: 3) { ...p } } fragment p on Page { nodes { name } }", nil,
			4 + 2*2 + 3*2},
	} {
		require.Equal(t, c.want, costIn(t, schema, c.query, c.variables), c.query)
	}
}

// Only variables that are single texts or ids leave the cost of an operation constant. The length of a list in a
// variable can be the length of a list in the response.
func TestVariablesChangeTheCost(t *testing.T) {
	t.Parallel()
	for variable, isConstant := range map[string]bool{
		"ID": true, "ID!": true, "String": true, "[ID!]!": false, "[String]": false, "Int": false, "Boolean!": false,
		"Take!": false,
	} {
		document, err := parser.ParseQuery(&ast.Source{Input: "query ($v: " + variable + ") { one { name } }"})
		require.NoError(t, err)
		require.Equal(t, isConstant, hasConstantCost(document.Operations[0]), variable)
	}
}

// The cost grows exponentially with the depth. The time to compute the cost must not.
func TestCostOfExponentialQueries(t *testing.T) {
	t.Parallel()
	schema := gqlparser.MustLoadSchema(&ast.Source{Input: priced})
	pages := strings.Repeat("shelves(first: 100) { nodes { ", 20) + "name" + strings.Repeat(" } }", 20)
	require.Equal(t, maxCost, costIn(t, schema, "{ "+pages+" }", nil))

	chain := func(last int, link string) string {
		var text strings.Builder
		text.WriteString("{ one { ...f0 } }")
		for i := range last {
			fmt.Fprintf(&text, " fragment f%d on Shelf { %s }", i,
				strings.ReplaceAll(link, "...next", fmt.Sprintf("...f%d", i+1)))
		}
		fmt.Fprintf(&text, " fragment f%d on Shelf { name }", last)
		return text.String()
	}
	require.Equal(t, 1+1<<20, costIn(t, schema, chain(20, "...next ...next"), nil))
	require.Equal(t, maxCost, costIn(t, schema, chain(60, "...next ...next"), nil))
	require.Equal(t, maxCost, costIn(t, schema, chain(14, "a: shelves { nodes { ...next } } b: shelves { nodes { "+
		"...next } }"), nil))
}

// productSchema loads the schema that the program serves.
func productSchema(t testing.TB) *ast.Schema {
	t.Helper()
	names, err := filepath.Glob("../schema/*.graphqls")
	require.NoError(t, err)
	var sources []*ast.Source
	for _, name := range names {
		sources = append(sources, &ast.Source{Name: name, Input: read(t, name)})
	}
	schema, err := gqlparser.LoadSchema(sources...)
	require.NoError(t, err)
	return schema
}

func read(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// Typical operations are well below the limit. Operations that multiply rows exceed it.
func TestTypicalOperationsFitTheCostLimit(t *testing.T) {
	t.Parallel()
	schema := productSchema(t)
	limit := DefaultSettings().QueryCost
	const agent = `id name channel direction language tags createdAt updatedAt prompt promptVersion outboundWelcomeMessage
		inboundWelcomeMessage fields { name isMandatory isSystem } classificationTags { name definition isSystem }
		extractedValues { name definition type } isCallTransferEnabled tools { id name technicalName description parameters endpoint { method url } }`
	const chat = `knowledgeBaseChat { id name datasets { id name description documentCount chunkCount } llmSettings { temperature } promptSettings { prompt } }`
	const tests = `tests(first: 50) { totalCount nodes { id name kind lastRunStatus lastRunAt isFlaky ... on SimulationTest
		{ scenario criteria } ... on ClassificationTest { tagExpected } } }`
	for name, query := range map[string]string{
		"a whole company": `{ agents(first: 50) { totalCount nodes { ` + agent + chat + tests +
			` subAgents { name agent { ` + agent + ` subAgents { name agent { ` + agent + ` } } } } } } }`,
		"pages in pages in pages": `{ campaigns { totalCount nodes { id name status agent { name } fields { name } counts {
			total calling }
			items { totalCount nodes { id phoneNumber eventList { type } } } } } agents { nodes { campaigns { nodes { items {
				nodes { id } } } } } } }`,
		"a hundred agents": `{ agents(first: 100) { nodes { ` + agent + chat +
			` subAgents { id name agent { id name } } } } }`,
		"a hundred runs": `{ agentTestRuns(first: 100) { nodes { id test { id name } messages { role text } toolCalls {
			technicalName arguments result }
			criteriaResults { criterion passed rationale evidence { quote } } } } }`,
		"a hundred chats": `{ simulationChats(first: 100) { nodes { id messages { role text citations { number } } toolCalls {
			technicalName result } coverage { effect } } } }`,
		"a full claim": `mutation { claimCampaignItems(input: {campaignId: "c",
			limit: 1000}) { claimId items { id phoneNumber dataBag attemptCount version } } }`,
		"a year": `{ consumptionBreakdown(from: "2026-01-01", to: "2026-12-31") { byAgent { agent { name } credits
			campaigns { campaign { name } credits } } } }`,
		"some nodes": `{ nodes(ids: ["a", "b", "c"]) { id ... on Agent { ` + agent + tests +
			` } ... on AgentTestExecution { runs(first: 100) { nodes { testName status } } } } }`,
	} {
		require.Less(t, costIn(t, schema, query, nil), limit*2/3, name)
	}
	for name, query := range map[string]string{
		"three hundreds": `{ agents(first: 100) { nodes { tests(first: 100) { nodes { runs(first: 100) { nodes { id } } } } }
			} }`,
		"five hundreds": `{ agents(first: 100) { nodes { tests(first: 100) { nodes { runs(first: 100) { nodes { execution {
			runs(first: 100) { nodes {
			execution { runs(first: 100) { nodes { id } } } } } } } } } } } } }`,
		"hundreds on the way back": `{ tools(first: 100) { nodes { agents(first: 100) { nodes { tools { agents(first: 100) {
			nodes { __typename } } } } } } } }`,
		"a subscription": `subscription { agentTestRunUpdated(executionId: "e") { execution { runs(first: 100) { nodes {
			execution { runs(first: 100) { nodes {
			execution { runs(first: 100) { nodes { id } } } } } } } } } } }`,
		"retrieval for each": `{ knowledgeBaseChats { nodes { retrieve(question: "When?") { content } } } }`,
	} {
		require.Greater(t, costIn(t, schema, query, nil), limit, name)
	}
	require.Less(t, costIn(t, schema, "query All { "+wholeSchema+" } "+ofWholeSchema, nil), limit)
	require.Greater(t, costIn(t, schema, "query All { "+wholeSchema+" again: "+wholeSchema+" } "+ofWholeSchema, nil),
		limit)
}

// These are the introspection queries of GraphQL tools.
const (
	wholeSchema   = `__schema { description queryType { name kind } mutationType { name kind } subscriptionType { name kind } types { ...FullType } directives { name description isRepeatable locations args(includeDeprecated: true) { ...InputValue } } }`
	ofWholeSchema = `
fragment FullType on __Type { kind name description specifiedByURL isOneOf
	fields(includeDeprecated: true) { name description args(includeDeprecated: true) { ...InputValue } type { ...TypeRef }
		isDeprecated deprecationReason }
	inputFields(includeDeprecated: true) { ...InputValue } interfaces { ...TypeRef }
	enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason } possibleTypes { ...TypeRef } }
fragment InputValue on __InputValue { name description type { ...TypeRef } defaultValue isDeprecated deprecationReason }
fragment TypeRef on __Type { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name
	ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } } }`
)

// REST operations cost far less than the limit, even with the largest pages and the most added items.
func TestRESTOperationsFitTheCostLimit(t *testing.T) {
	t.Parallel()
	schema := productSchema(t)
	names, err := filepath.Glob("rest/operations/*.graphql")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	var all strings.Builder
	for _, name := range names {
		all.WriteString(read(t, name))
	}
	document, errs := gqlparser.LoadQueryWithRules(schema, all.String(), rules.NewDefaultRules())
	require.Empty(t, errs)
	for _, operation := range document.Operations {
		cost := costOf(schema, operation, map[string]any{"first": int64(model.MaxPageSize), "items": make([]any, 1000)})
		require.Less(t, cost, DefaultSettings().QueryCost/5, operation.Name)
	}
}
