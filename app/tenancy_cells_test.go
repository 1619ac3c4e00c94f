package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

// position is a place for an id or a cursor in the arguments of a field.
type position struct {
	root  *ast.Definition
	field *ast.FieldDefinition
	// object is the type that has the field. It is nil for a root field.
	object *ast.Definition
	path   string
}

func (p position) String() string {
	if p.object != nil {
		return p.object.Name + "." + p.field.Name + "(" + p.path + ")"
	}
	return p.root.Name + "." + p.field.Name + "(" + p.path + ")"
}

// cells writes operations with a foreign id at one position and the caller's own ids elsewhere.
type cells struct {
	walker
	own, foreign victim
}

// isID reports whether an argument or an input's field takes an id or a cursor. Cursors are optional.
func isID(name string, fieldType *ast.Type) bool {
	return fieldType.Name() == "ID" || name == "after" && fieldType.Name() == "String" && !fieldType.NonNull
}

// positions finds the places within an argument or an input's field.
func (c cells) positions(path, name string, valueType *ast.Type, add func(path string)) {
	if isID(name, valueType) {
		add(path)
		return
	}
	if input := c.schema.Types[valueType.Name()]; input.Kind == ast.InputObject && strings.Count(path, ".") < 4 {
		for _, f := range input.Fields {
			c.positions(path+"."+f.Name, f.Name, f.Type, add)
		}
	}
}

// all returns the positions of the whole schema.
func (c cells) all() []position {
	var all []position
	for _, root := range []*ast.Definition{c.schema.Query, c.schema.Mutation, c.schema.Subscription} {
		for _, field := range root.Fields {
			for _, a := range field.Arguments {
				c.positions(a.Name, a.Name, a.Type,
					func(path string) { all = append(all, position{root: root, field: field, path: path}) })
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.schema.Types)) {
		object := c.schema.Types[name]
		if object.Kind != ast.Object || strings.HasPrefix(name, "__") || object == c.schema.Query ||
			object == c.schema.Mutation || object == c.schema.Subscription {
			continue
		}
		for _, field := range object.Fields {
			for _, a := range field.Arguments {
				c.positions(a.Name, a.Name, a.Type, func(path string) {
					all = append(all, position{root: c.schema.Query, field: field, object: object, path: path})
				})
			}
		}
	}
	return all
}

// fill writes an argument or an input's field, with the text at the given position. It returns "" if the argument is
// optional and does not contain the position.
func (c cells) fill(at, path, name string, valueType *ast.Type, isRequired bool, returns, text string) string {
	leads := at == path || strings.HasPrefix(at, path+".")
	if !leads && !isRequired {
		return ""
	}
	written := ""
	input := c.schema.Types[valueType.Name()]
	switch {
	case at == path:
		written = text
	case isID(name, valueType):
		id, _ := json.Marshal(c.own.idFor(name, returns))
		written = string(id)
	case input.Kind == ast.InputObject:
		var fields []string
		isOneOf := input.Directives.ForName("oneOf") != nil
		if isOneOf && !leads {
			return c.value(name, valueType, returns, "")
		}
		for _, f := range input.Fields {
			if text := c.fill(at, path+"."+f.Name, f.Name, f.Type, f.Type.NonNull && f.DefaultValue == nil && !isOneOf, "",
				text); text != "" {
				fields = append(fields, f.Name+": "+text)
			}
		}
		written = "{" + strings.Join(fields, ", ") + "}"
	default:
		return c.value(name, valueType, returns, "")
	}
	if valueType.Elem != nil {
		return "[" + written + "]"
	}
	return written
}

// call writes a field with its arguments and its selection.
func (c cells) call(field *ast.FieldDefinition, at, text string, depth int) string {
	var arguments []string
	for _, a := range field.Arguments {
		if text := c.fill(at, a.Name, a.Name, a.Type, a.Type.NonNull && a.DefaultValue == nil, field.Type.Name(),
			text); text != "" {
			arguments = append(arguments, a.Name+": "+text)
		}
	}
	written := field.Name
	if len(arguments) > 0 {
		written += "(" + strings.Join(arguments, ", ") + ")"
	}
	return written + c.selection(field.Type, depth)
}

// operation writes an operation with the text at the position. It returns "" if no path leads to the type.
func (c cells) operation(p position, text string) string {
	if p.object == nil {
		return strings.ToLower(p.root.Name) + " { " + c.call(p.field, p.path, text, 2) + " }"
	}
	for _, root := range c.schema.Query.Fields {
		definition := c.schema.Types[root.Type.Name()]
		isWay := root.Arguments.ForName("id") != nil || len(root.Arguments) == 0
		if !isWay || definition.Name != p.object.Name && !slices.Contains(c.schema.GetPossibleTypes(definition), p.object) ||
			definition.Name == "Node" {
			continue
		}
		call := c.call(root, "", "", 0)
		if i := strings.LastIndex(call, " {"); i > 0 && strings.HasSuffix(call, "}") {
			call = call[:i]
		}
		return "query { " + call + " { ... on " + p.object.Name + " { " + c.call(p.field, p.path, text, 2) + " } } }"
	}
	return ""
}

// TestEveryIDArgumentRefusesForeignIDs tries ids of another company, of every type, at each place in the schema that
// takes an id or a cursor. It does so in both directions, with plans and with resolvers. No data of the other company
// may be seen or changed. Places that are added to the schema later are tried too: the test fails if it cannot
// construct an operation for one.
func TestEveryIDArgumentRefusesForeignIDs(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, db.Options{SecretKey: make([]byte, 32)})
	g := &gatewayUnderTest{url: serveStore(t, store), store: store}
	resolved := servePlanned(t, store, gateway.DefaultSettings(), false)
	fixtures := []victim{newVictim(t, g, address), newVictim(t, g, address)}
	directions := len(fixtures)
	if raceDetector {
		directions = 1 // the other direction runs the same code
	}
	tried, places := 0, map[string]bool{}
	for i := range directions {
		own, foreign := fixtures[i], fixtures[1-i]
		_, key := g.keyOf(t, own.ids["company"], model.APIKeyScopeAdmin)
		secrets := slices.Compact(slices.Sorted(maps.Values(foreign.ids)))
		before := dump(t, address, foreign.ids["company"])
		c := cells{walker: walker{schema: graph.NewExecutableSchema(graph.Config{}).Schema(), victim: own}, own: own,
			foreign: foreign}
		for _, p := range c.all() {
			if p.field.Name == "recordUsage" {
				continue // recordUsage stores ids without looking them up
			}
			places[p.String()] = true
			if p.root == c.schema.Query && !strings.HasSuffix(p.path, "after") {
				// The same operation with the caller's own id must return something.
				path := strings.Split(p.path, ".")
				id, err := json.Marshal(own.idFor(path[len(path)-1], p.field.Type.Name()))
				require.NoError(t, err)
				answer := post(t, g.url, key, c.operation(p, string(id)), false)
				require.NotContains(t, answer, `"errors"`, "%s", p)
			}
			for _, id := range secrets {
				text := id
				if strings.HasSuffix(p.path, "after") {
					text = model.Cursor{CreatedAt: time.Now().Truncate(time.Microsecond), ID: id}.String()
				}
				literal, err := json.Marshal(text)
				require.NoError(t, err)
				operation := c.operation(p, string(literal))
				require.NotEmpty(t, operation, "add a path to %s to operation", p)
				servers := []string{g.url}
				if p.root == c.schema.Query {
					servers = append(servers, resolved)
				}
				for _, server := range servers {
					tried++
					answer := post(t, server, key, operation, p.root == c.schema.Subscription)
					require.NotContains(t, answer, "GRAPHQL_VALIDATION_FAILED", "%s\n%s", p, operation)
					require.NotContains(t, answer, `"INTERNAL"`, "%s\n%s", p, operation)
					for _, secret := range secrets {
						// An error may repeat the requested id.
						require.NotContains(t, strings.ReplaceAll(answer, id, ""), secret, "%s\n%s", p, operation)
					}
					_, data, _ := strings.Cut(answer, `"data":`)
					require.NotContains(t, data, id, "%s\n%s", p, operation)
				}
			}
		}
		require.Equal(t, before, dump(t, address, foreign.ids["company"]))
	}
	t.Logf("%d cells at %d places", tried, len(places))
	require.Greater(t, tried, 5_000)
}

// post sends an operation and returns the whole answer. A subscription is read to its end.
func post(t *testing.T, server, key, operation string, isStream bool) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"query": operation})
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server+"/graphql", bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Api-Key", key)
	if isStream {
		request.Header.Set("Accept", "text/event-stream")
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err, fmt.Sprint(operation))
	return string(text)
}
