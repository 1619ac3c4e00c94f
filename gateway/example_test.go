package gateway_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/gateway/testdata/probe"
	"github.com/agentgraph/agentgraph/model"
)

// This runs a gateway for one key in front of a schema that gqlgen generated.
func Example() {
	server := httptest.NewServer(gateway.New(gateway.Options{
		Schema: probe.NewExecutableSchema(probe.Config{Resolvers: &probe.Root{}}),
		Authenticate: func(_ context.Context, credential string) (model.Principal, error) {
			if credential != "secret" {
				return model.Principal{}, model.Errorf(model.Unauthenticated, "the key is not known")
			}
			return model.Principal{CompanyID: "company_1", KeyID: "key_1"}, nil
		},
		Ready:    func(context.Context) error { return nil },
		Log:      slog.New(slog.DiscardHandler),
		Settings: gateway.DefaultSettings(),
	}))
	defer server.Close()
	for _, key := range []string{"secret", "guessed"} {
		request, _ := http.NewRequestWithContext(context.Background(), http.MethodPost, server.URL+gateway.Path, strings.NewReader(`{"query":"{ __typename }"}`))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("X-Api-Key", key)
		request.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
		response, err := server.Client().Do(request)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		fmt.Println(response.StatusCode, string(body))
	}
	// Output:
	// 200 {"data":{"__typename":"Query"}}
	// 401 {"errors":[{"message":"the key is not known","extensions":{"code":"UNAUTHENTICATED","traceId":"0af7651916cd43dd8448eb211c80319c"}}]}
}
