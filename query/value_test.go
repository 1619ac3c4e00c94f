package query

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

func big[T any](value T) []byte {
	text, _ := binary.Append(nil, binary.BigEndian, value)
	return text
}

// The Go type and the schema decide how a column is written. NULL is Go's zero value, or null for a pointer.
func TestColumnsAreWrittenAsTheSchemaSays(t *testing.T) {
	t.Parallel()
	at := big(time.Date(2026, 3, 2, 9, 30, 0, 123_456_000, time.UTC).UnixMicro() - epoch)
	required, optional := ast.NonNullNamedType("X", nil), ast.NamedType("X", nil)
	list := ast.NonNullListType(required, nil)
	for name, c := range map[string]struct {
		fieldType *ast.Type
		in        reflect.Type
		value     []byte
		want      string // empty if the executor must answer
	}{
		"text":               {required, reflect.TypeFor[string](), []byte("a\"b"), `"a\"b"`},
		"null text":          {required, reflect.TypeFor[string](), nil, `""`},
		"optional text":      {optional, reflect.TypeFor[*string](), []byte(""), `""`},
		"null optional text": {optional, reflect.TypeFor[*string](), nil, "null"},
		"null required text": {required, reflect.TypeFor[*string](), nil, ""},
		"enum":               {required, reflect.TypeFor[model.Channel](), []byte("WebChat"), `"WebChat"`},
		"smallint":           {required, reflect.TypeFor[int32](), big(int16(-2)), "-2"},
		"integer":            {required, reflect.TypeFor[int32](), big(int32(math.MinInt32)), "-2147483648"},
		"bigint":             {required, reflect.TypeFor[int64](), big(int64(1 << 40)), "1099511627776"},
		"null integer":       {required, reflect.TypeFor[int32](), nil, "0"},
		"float":              {required, reflect.TypeFor[float64](), big(0.1), "0.1"},
		"true":               {required, reflect.TypeFor[bool](), []byte{1}, "true"},
		"null boolean":       {required, reflect.TypeFor[bool](), nil, "false"},
		"time":               {required, reflect.TypeFor[time.Time](), at, `"2026-03-02T09:30:00.123Z"`},
		"null time":          {optional, reflect.TypeFor[*time.Time](), nil, "null"},
		"null required time": {required, reflect.TypeFor[time.Time](), nil, ""},
		"credits":            {required, reflect.TypeFor[model.Credits](), big(int64(0)), model.Credits(0).String()},
		"object":             {optional, reflect.TypeFor[model.JSONObject](), []byte(`{"b":1,"a":2}`), `{"b":1,"a":2}`},
		"null object":        {optional, reflect.TypeFor[model.JSONObject](), nil, "null"},
		"list":               {list, reflect.TypeFor[[]string](), []byte(`["a","b"]`), `["a","b"]`},
		"null list":          {list, reflect.TypeFor[[]string](), nil, "[]"},
		"null optional list": {ast.ListType(required, nil), reflect.TypeFor[[]string](), nil, "null"},
		"list of integers":   {list, reflect.TypeFor[[]int32](), []byte(`[1, 2]`), `[1,2]`},
		"list with a string": {list, reflect.TypeFor[[]int32](), []byte(`["a"]`), ""},
		"list with a null":   {list, reflect.TypeFor[[]*string](), []byte(`[null]`), ""},
		"object for a list":  {list, reflect.TypeFor[[]string](), []byte(`{}`), ""},
	} {
		write := (*compiler)(nil).column(c.fieldType, c.in, nil)
		require.NotNil(t, write, name)
		written, ok := write(&response{}, nil, c.value)
		if require.Equal(t, c.want != "", ok, name); ok {
			require.Equal(t, c.want, string(written), name)
		}
	}
	require.Nil(t, (*compiler)(nil).column(required, reflect.TypeFor[[]string](), nil),
		"the schema does not declare a list")
	require.Nil(t, (*compiler)(nil).column(required, reflect.TypeFor[map[string]int](), nil))
}

// Fields of a stored object are found by their JSON names, in any order.
func TestStoredObjectsAreReadByJSONName(t *testing.T) {
	t.Parallel()
	table := newTestTable(t)
	operation := operationOf(t, table, `{ agent(id: "a") { fields { n: name isSystem __typename isMandatory } } }`, nil)
	c := &compiler{operation: operation, table: table, plan: &queryPlan{}}
	write := c.fieldsOfAgent(operation)
	for stored, want := range map[string]string{
		`[]`: `[]`,
		`[{"isSystem": true, "name": "a", "isMandatory": false}]`: `[{"n":"a","isSystem":true,"__typename":"AgentField","isMandatory":false}]`,
		`[{"other": {"name": "b"}}]`:                              `[{"n":"","isSystem":false,"__typename":"AgentField","isMandatory":false}]`,
		`[{"name": 1}]`:                                           "",
		`["a"]`:                                                   "",
	} {
		written, ok := write(&response{}, nil, []byte(stored))
		if require.Equal(t, want != "", ok, stored); ok {
			require.JSONEq(t, want, string(written), stored)
		}
	}
}

// fieldsOfAgent returns the writer of the column of the operation's field { agent { fields } }.
func (c *compiler) fieldsOfAgent(operation *graphql.OperationContext) writeValue {
	field := operation.Operation.SelectionSet[0].(*ast.Field).SelectionSet[0].(*ast.Field)
	return c.column(field.Definition.Type, reflect.TypeFor[[]model.AgentField](), field.SelectionSet)
}

// Aliases can select any number of members.
func TestManyMembersOfStoredObjectsAreRead(t *testing.T) {
	t.Parallel()
	table := newTestTable(t)
	for n := 11; n < 16; n++ {
		selection, want := "", ""
		for i := range n {
			selection += fmt.Sprintf(" n%d: name", i)
			want += fmt.Sprintf(`,"n%d":"a"`, i)
		}
		operation := operationOf(t, table, `{ agent(id: "a") { fields {`+selection+` } } }`, nil)
		c := &compiler{operation: operation, table: table, plan: &queryPlan{}}
		written, ok := c.fieldsOfAgent(operation)(&response{}, nil, []byte(`[{"name": "a"}]`))
		require.True(t, ok)
		require.Equal(t, "[{"+want[1:]+"}]", string(written))
	}
}

func TestClaimedItemsNameTheEndOfTheirClaim(t *testing.T) {
	t.Parallel()
	due := big(time.Date(2126, 3, 2, 9, 30, 0, 0, time.UTC).UnixMicro() - epoch)
	for want, values := range map[string][][]byte{
		`"2126-03-02T09:30:00.000Z"`: {[]byte("Pending"), []byte("claim"), due}, "null": {[]byte("Pending"), nil, due},
	} {
		written := computed["CampaignItem.claimedUntil"].write(nil, func(column int) []byte { return values[column] })
		require.Equal(t, want, string(written))
	}
}

// Fields of the executor and of the plan are merged in the order of the operation.
func TestPlansMergeExecutorFields(t *testing.T) {
	t.Parallel()
	planned := func(*response, []byte, int) []byte { return nil }
	p := &queryPlan{fields: []output[writeKey]{{`"a":`, planned}, {`,"b":`, nil}, {`,"c":`, planned}, {`,"d":`, nil}}}
	const text = `{"a":1,"c":[2]`
	ends := []int{6, 6, 14, 14}
	merged, err := p.merge([]byte(text+"}"), ends, []byte(`{"b":{"x":null},"d":"}"}`))
	require.NoError(t, err)
	require.Equal(t, `{"a":1,"b":{"x":null},"c":[2],"d":"}"}`, string(merged))
	merged, err = p.merge([]byte(text+"}"), ends, []byte("null"))
	require.NoError(t, err)
	require.Equal(t, "null", string(merged), "a null in a required field leaves no data")
	_, err = p.merge([]byte(text+"}"), ends, []byte(`{"b":1}`))
	require.ErrorIs(t, err, errUnplanned)
}

func TestShortColumnsAreMarked(t *testing.T) {
	t.Parallel()
	agent := reflect.TypeFor[model.Agent]()
	for name, want := range map[string]bool{
		"ID": true, "Name": true, "Channel": true, "KnowledgeBaseChatID": true, "CreatedAt": true,
		"IsCallTransferEnabled": true,
		"Prompt":                false, "Fields": false, "Tags": false, "OutboundWelcomeMessage": false,
	} {
		member, known := agent.FieldByName(name)
		require.True(t, known, name)
		require.Equal(t, want, isShort(member), name)
	}
}
