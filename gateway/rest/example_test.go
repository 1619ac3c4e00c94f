package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/handler"

	"github.com/agentgraph/agentgraph/gateway/rest"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

// root resolves only datasets.
type root struct{ graph.ResolverRoot }

func (root) Query() graph.QueryResolver { return queries{} }

type queries struct{ graph.QueryResolver }

func (queries) Datasets(context.Context, *int32, *string, *int32, *int32, *string, *model.NameFilter) (*model.DatasetConnection, error) {
	dataset := &model.Dataset{ID: "dataset_1", Name: "Opening hours", ChunkMethod: "naive"}
	count := func(context.Context) (int32, error) { return 1, nil }
	return model.NewPage([]*model.Dataset{dataset}, model.PageArgs{First: 50}, count), nil
}

func anybody(ctx context.Context, _ any, next graphql.Resolver, _ model.APIKeyScope, _ bool) (any, error) {
	return next(ctx)
}

// Routes run stored operations. Errors are problem details.
func Example() {
	schema := graph.NewExecutableSchema(graph.Config{Resolvers: root{}, Directives: graph.DirectiveRoot{Requires: anybody}})
	transport, err := rest.New(schema.Schema(), rest.Options{
		Status:  func(string) int { return http.StatusBadRequest },
		TraceID: func(context.Context) string { return "trace-1" },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := handler.New(schema)
	server.AddTransport(transport)
	for _, path := range []string{"/Dataset", "/Dataset?pageSize=1000"} {
		response := httptest.NewRecorder()
		server.ServeHTTP(response, httptest.NewRequestWithContext(context.Background(), http.MethodGet, path, http.NoBody))
		fmt.Println(response.Code, strings.TrimSpace(response.Body.String()))
	}
	// Output:
	// 200 {"data":[{"id":"dataset_1","name":"Opening hours","description":null,"chunkMethod":"naive","parserConfig":{"chunkTokenNum":0,"layoutRecognize":false,"delimiter":"","taskPageSize":0},"createdAt":"0001-01-01T00:00:00.000Z"}],"total":1,"pageNumber":1,"pageSize":50}
	// 400 {"type":"https://tools.ietf.org/html/rfc7231#section-6.5.1","title":"Bad Request","status":400,"detail":"pageSize must be a whole number between 1 and 100","instance":"/Dataset","code":"BAD_INPUT","traceId":"trace-1","errors":{"pageSize":["must be a whole number between 1 and 100"]}}
}
