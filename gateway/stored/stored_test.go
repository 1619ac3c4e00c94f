package stored_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/stored"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

func operation(t *testing.T, text, name, result string) (*ast.Schema, *stored.Operation, error) {
	t.Helper()
	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	all, err := stored.Read(fstest.MapFS{"operations/a.graphql": {Data: []byte(text)}})
	require.NoError(t, err)
	o, err := stored.New(schema, all, name, result)
	return schema, o, err
}

const listed = `query List($channel: Channel, $first: Int! = 3, $size: Int) {
	agents(filter: { channel: $channel }, first: $first) { nodes { id prompt tests(first: $size) { totalCount } } } }`

func TestInputFollowsFromVariables(t *testing.T) {
	t.Parallel()
	schema, o, err := operation(t, listed, "List", "agents")
	require.NoError(t, err)
	d := stored.Describer{Schema: schema, IsBrief: true}
	input, err := json.Marshal(d.InputObject(o.Variables, true))
	require.NoError(t, err)
	require.NoError(t, d.Err)
	var got struct {
		Properties map[string]struct {
			Description string
			Default     any
			Enum        []string
		}
		Required             []string
		AdditionalProperties *bool
	}
	require.NoError(t, json.Unmarshal(input, &got))
	require.Equal(t, []string{"Phone", "SMS", "Web", "WhatsApp"}, got.Properties["channel"].Enum)
	require.Equal(t, "Only agents on this channel.", got.Properties["channel"].Description)
	require.InDelta(t, 3, got.Properties["first"].Default, 0)
	require.Contains(t, got.Properties["size"].Description, "Page size", "an argument below the result")
	require.Empty(t, got.Required)
	require.False(t, *got.AdditionalProperties)
}

func TestOutputFollowsFromSelection(t *testing.T) {
	t.Parallel()
	output := func(selection string) string {
		schema, o, err := operation(t, `query Get($id: ID!) { node(id: $id) { `+selection+` } }`, "Get", "node")
		require.NoError(t, err)
		d := stored.Describer{Schema: schema, IsBrief: true}
		output, err := json.Marshal(d.Object(schema.Types["Node"], o.Fields[0].SelectionSet, ""))
		require.NoError(t, err)
		return string(output)
	}
	require.JSONEq(t, `{"type": "object", "required": ["version", "note"], "properties": {
		"version": {"type": "integer", "format": "int32"}, "note": {"type": ["string", "null"]}}}`,
		output(`... on PromptVersion { version note }`), "types without a selected field are left out")
	const named = `{"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}`
	require.JSONEq(t, named, output(`... on Tool { name } ... on Dataset { name }`), "equal types are described once")
	require.JSONEq(t, `{"anyOf": [{"type": "object", "required": ["version"], "properties": {
		"version": {"type": "integer", "format": "int32"}}}, `+named+`]}`,
		output(`... on Tool { name } ... on PromptVersion { version }`), "a client may accept a value of either type")
}

func TestScopesFollowFromSelection(t *testing.T) {
	t.Parallel()
	_, o, err := operation(t, listed, "List", "agents")
	require.NoError(t, err)
	require.Equal(t, []model.APIKeyScope{model.APIKeyScopePrompts}, o.Scopes(), "prompts includes browse")
}

func TestOperationsMustFitTheSchema(t *testing.T) {
	t.Parallel()
	for text, wanted := range map[string]string{
		`query List { agents { nodes { color } } }`:                                 "Cannot query field",
		`query List { agents { totalCount } server { version } }`:                   "the result path",
		`query Other { agents { totalCount } }`:                                     "no file holds the operation",
		`query List { agents { nodes { ...Missing } } }`:                            "no file holds the fragment",
		`query List($a: Int) { agents(first: $a, filter: {a: $a}) { totalCount } }`: "is not defined by type",
	} {
		_, _, err := operation(t, text, "List", "agents")
		require.ErrorContains(t, err, wanted, text)
	}
}

func TestStrictDecoderNamesEveryFault(t *testing.T) {
	t.Parallel()
	schema, o, err := operation(t, listed, "List", "agents")
	require.NoError(t, err)
	d := stored.Decoder{Types: schema.Types, Strict: true}
	d.Object("", json.RawMessage(`{"channel": "Fax", "first": "many", "color": 1}`), o.Variables)
	require.Equal(t, model.Fields{"channel": {"must be one of Phone, SMS, Web, WhatsApp"},
		"first": {"must be a whole number"}, "color": {"is not a known property"}}, d.Faults)
	d = stored.Decoder{Types: schema.Types, Strict: true}
	require.Equal(t, map[string]any{"channel": "SMS", "first": int64(5)},
		d.Object("", json.RawMessage(`{"channel": "sms", "first": 5}`), o.Variables))
}

func TestDecoderBoundsFaults(t *testing.T) {
	t.Parallel()
	schema, o, err := operation(t, listed, "List", "agents")
	require.NoError(t, err)
	for _, form := range []string{`"a": 1,`, `"a%d": 1,`} {
		text := ""
		for i := range 3 * stored.MaxFaults {
			text += strings.ReplaceAll(form, "%d", strconv.Itoa(i))
		}
		d := stored.Decoder{Types: schema.Types, Strict: true, ListsKnown: true}
		d.Object("", json.RawMessage("{"+text[:len(text)-1]+"}"), o.Variables)
		count := 0
		for _, texts := range d.Faults {
			count += len(texts)
		}
		require.Equal(t, stored.MaxFaults, count, form)
	}
}
