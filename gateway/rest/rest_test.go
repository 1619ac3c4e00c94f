package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

// theSchema parses the project's schema on each call, because validation modifies it.
func theSchema(t testing.TB) *ast.Schema {
	t.Helper()
	files, err := filepath.Glob("../../schema/*.graphqls")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var sources []*ast.Source
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		sources = append(sources, &ast.Source{Name: file, Input: string(text)})
	}
	schema, err := gqlparser.LoadSchema(sources...)
	require.NoError(t, err)
	return schema
}

// backend executes operations without resolvers. It records the variables. It answers with respond, or with sample data
// of the selected types if respond is nil.
type backend struct {
	schema    *ast.Schema
	respond   func() *graphql.Response
	calls     int
	variables map[string]any
	ledger    iter.Seq2[*model.UsageEntry, error]
}

func (b *backend) Schema() *ast.Schema { return b.schema }

func (b *backend) Complexity(context.Context, string, string, int, map[string]any) (int, bool) {
	return 0, false
}

func (b *backend) Exec(ctx context.Context) graphql.ResponseHandler {
	operation := graphql.GetOperationContext(ctx)
	b.calls++
	b.variables = operation.Variables
	if b.respond != nil {
		return graphql.OneShot(b.respond())
	}
	root := b.schema.Query
	if operation.Operation.Operation == ast.Mutation {
		root = b.schema.Mutation
	}
	var data bytes.Buffer
	b.object(&data, operation, root, operation.Operation.SelectionSet)
	return graphql.OneShot(&graphql.Response{Data: data.Bytes()})
}

func (b *backend) object(out *bytes.Buffer, operation *graphql.OperationContext, definition *ast.Definition,
	set ast.SelectionSet) {
	out.WriteByte('{')
	for i, field := range graphql.CollectFields(operation, set, []string{definition.Name}) {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(`"` + field.Alias + `":`)
		b.value(out, operation, field.Definition.Type, field)
	}
	out.WriteByte('}')
}

func (b *backend) value(out *bytes.Buffer, operation *graphql.OperationContext, valueType *ast.Type,
	field graphql.CollectedField) {
	if valueType.Elem != nil {
		out.WriteByte('[')
		b.value(out, operation, valueType.Elem, field)
		out.WriteByte(']')
		return
	}
	switch definition := b.schema.Types[valueType.NamedType]; {
	case definition.Kind == ast.Object:
		b.object(out, operation, definition, field.Selections)
	case definition.IsAbstractType():
		b.object(out, operation, b.schema.GetPossibleTypes(definition)[0], field.Selections)
	case definition.Kind == ast.Enum:
		out.WriteString(`"` + definition.EnumValues[0].Name + `"`)
	case valueType.NamedType == "Int":
		out.WriteString("7")
	case valueType.NamedType == "Float":
		out.WriteString("0.50")
	case valueType.NamedType == "Boolean":
		out.WriteString("true")
	default:
		out.WriteString(`"<` + field.Name + `>"`)
	}
}

// fails makes the backend answer with null data and one error.
func (b *backend) fails(code model.Code, message string, fields model.Fields) {
	b.respond = func() *graphql.Response {
		extensions := map[string]any{"code": string(code)}
		if fields != nil {
			extensions["fields"] = fields
		}
		return &graphql.Response{Data: json.RawMessage("null"),
			Errors: gqlerror.List{{Message: message, Extensions: extensions}}}
	}
}

// gives makes the backend answer with the data.
func (b *backend) gives(data string) {
	b.respond = func() *graphql.Response { return &graphql.Response{Data: json.RawMessage(data)} }
}

func statusOf(code string) int {
	status, known := map[string]int{
		"UNAUTHENTICATED": 401, "FORBIDDEN": 403, "NOT_FOUND": 404, "BAD_INPUT": 400, "UNPROCESSABLE": 422, "CONFLICT": 409,
		"UPSTREAM_FAILED": 502, "UNAVAILABLE": 503,
	}[code]
	if !known {
		return http.StatusInternalServerError
	}
	return status
}

const bodyLimit = 64 << 10

func newServer(t *testing.T) (*backend, http.Handler) {
	t.Helper()
	b := &backend{schema: theSchema(t)}
	transport, err := New(b.schema, Options{
		Status: statusOf, TraceID: func(context.Context) string { return "trace-1" }, MaxBody: bodyLimit,
		Ledger: func(context.Context, model.ConsumptionRange) iter.Seq2[*model.UsageEntry, error] { return b.ledger },
	})
	require.NoError(t, err)
	server := handler.New(b)
	server.AddTransport(transport)
	return b, server
}

// call sends a request. The body is JSON unless a header says otherwise. Headers are "Name: value".
func call(h http.Handler, method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// problemOf reads problem details and checks their common members.
func problemOf(t *testing.T, w *httptest.ResponseRecorder) problem {
	t.Helper()
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"), w.Body.String())
	var p problem
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
	require.Equal(t, w.Code, p.Status)
	require.Equal(t, http.StatusText(w.Code), p.Title)
	require.Equal(t, standards[w.Code], p.Type)
	require.NotEmpty(t, p.Type)
	require.NotEmpty(t, p.Detail)
	require.Equal(t, "trace-1", p.TraceID)
	return p
}
