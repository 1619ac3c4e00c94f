package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

func TestUncertainResultsMustNotRepeat(t *testing.T) {
	t.Parallel()
	at := func(code model.Code, path ...string) *gqlerror.Error {
		err := &gqlerror.Error{Extensions: map[string]any{"code": string(code)}}
		for _, name := range path {
			err.Path = append(err.Path, ast.PathName(name))
		}
		return err
	}
	for name, c := range map[string]struct {
		errs  gqlerror.List
		count int
		want  bool
	}{
		"no error":                        {nil, 1, true},
		"bad input":                       {gqlerror.List{at(model.BadInput, "a")}, 1, true},
		"not found":                       {gqlerror.List{at(model.NotFound, "a")}, 1, true},
		"unprocessable":                   {gqlerror.List{at(model.Unprocessable, "a")}, 1, true},
		"too large":                       {gqlerror.List{at(model.LimitExceeded, "a")}, 1, true},
		"conflict":                        {gqlerror.List{at(model.Conflict, "a")}, 1, false},
		"forbidden":                       {gqlerror.List{at(model.Forbidden, "a")}, 1, false},
		"unauthenticated":                 {gqlerror.List{at(model.Unauthenticated, "a")}, 1, false},
		"rate limited":                    {gqlerror.List{at(model.RateLimited, "a")}, 1, false},
		"no budget":                       {gqlerror.List{at(model.BudgetExceeded, "a")}, 1, false},
		"a model failed":                  {gqlerror.List{at(model.UpstreamFailed, "a")}, 1, false},
		"unavailable":                     {gqlerror.List{at(model.Unavailable, "a")}, 1, false},
		"internal":                        {gqlerror.List{at(model.Internal, "a")}, 1, false},
		"unknown code":                    {gqlerror.List{at("", "a")}, 1, false},
		"done, with an error below":       {gqlerror.List{at(model.Internal, "a", "agent", "tools")}, 1, true},
		"one of two was done":             {gqlerror.List{at(model.UpstreamFailed, "b")}, 2, true},
		"none of two was done":            {gqlerror.List{at(model.UpstreamFailed, "b"), at(model.BadInput, "a")}, 2, false},
		"one of two, with several errors": {gqlerror.List{at(model.Internal, "b"), at(model.Internal, "b")}, 2, true},
		"the whole operation timed out":   {gqlerror.List{at(model.Unavailable)}, 2, false},
		"the whole operation was wrong":   {gqlerror.List{at(model.BadInput)}, 2, true},
	} {
		require.Equal(t, c.want, isFinal(c.errs, c.count), name)
	}
}

func TestOnlyFinalStatusesAreSaved(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{
		200: true, 201: true, 202: true, 204: true, 400: true, 404: true, 422: true,
		0: false, 303: false, 401: false, 403: false, 406: false, 409: false, 413: false, 429: false, 500: false, 502: false,
		503: false, 504: false,
	} {
		k := &idempotentWriter{ResponseWriter: httptest.NewRecorder(), status: status, isFinal: true}
		k.Header().Set("Content-Type", "application/json")
		k.Header().Set("Location", "/Dataset/1")
		k.Header().Set("X-Trace-Id", "1")
		kept := k.keepable()
		require.Equal(t, want, kept != nil, status)
		if !want {
			continue
		}
		require.Equal(t, map[string]string{"Content-Type": "application/json", "Location": "/Dataset/1"}, kept.Headers)
		require.Equal(t, []byte{}, kept.Body)

		k.response.Write(make([]byte, maxSaved))
		require.Len(t, k.keepable().Body, maxSaved)
		k.isSecret = true
		require.Nil(t, k.keepable().Body, "a secret")
		k.isSecret = false
		k.response.WriteByte(0)
		require.Nil(t, k.keepable().Body, "too large")
		k.isFinal = false
		require.Nil(t, k.keepable())
	}
}

// A key belongs to a method, a path and, for tokens of pages, a visitor. A retry has the same query string, scopes and
// body.
func TestKeysBelongToOneRequest(t *testing.T) {
	t.Parallel()
	request := func(path string) *http.Request {
		return httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader("a"))
	}
	requestID := (&Server{}).requestID
	id := requestID(request("/v1/agents"), "key")
	require.Equal(t, id, requestID(request("/v1/agents?dry=1"), "key"))
	require.NotEqual(t, id, requestID(request("/v1/agents"), "other"))
	require.NotEqual(t, id, requestID(request("/v1/tests"), "key"))
	require.NotEqual(t, id, requestID(request("/v1%2Fagents"), "key"))

	k := &idempotentWriter{id: id, url: "dry=1", body: digestOf(request("/"))}
	visitor := func(holder string) model.Principal {
		return model.Principal{Reach: &model.Reach{Holder: []byte(holder)}}
	}
	require.Equal(t, id, k.idOf(model.Principal{}))
	require.NotEqual(t, k.idOf(visitor("a")), k.idOf(visitor("b")))

	may := func(scopes ...model.APIKeyScope) model.Principal { return model.Principal{Scopes: scopes} }
	both := k.fingerprint(may(model.APIKeyScopeRead, model.APIKeyScopeAdmin))
	require.Equal(t, both, k.fingerprint(may(model.APIKeyScopeAdmin, model.APIKeyScopeRead)))
	require.NotEqual(t, both, k.fingerprint(may(model.APIKeyScopeRead)))
	k.url = ""
	require.NotEqual(t, both, k.fingerprint(may(model.APIKeyScopeRead, model.APIKeyScopeAdmin)))
}

// A client that disconnects will retry. Its request is carried out, so that the retry gets the response.
func TestClaimedRequestOutlivesItsClient(t *testing.T) {
	t.Parallel()
	ctx, disconnect := context.WithCancel(t.Context())
	disconnect()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
	k := &idempotentWriter{id: []byte("id"), body: digestOf(request)}
	ctx = graphql.WithOperationContext(context.WithValue(ctx, keyedKey{}, k), &graphql.OperationContext{
		Operation: &ast.OperationDefinition{Operation: ast.Mutation}})
	claim := func(ctx context.Context, _ string, _, _ []byte) (*model.StoredResponse, RequestClaim, error) {
		return nil, nil, ctx.Err()
	}
	isRun := false
	idempotency{Server: &Server{claim: claim, settings: DefaultSettings()}}.InterceptOperation(ctx,
		func(ctx context.Context) graphql.ResponseHandler {
			isRun = ctx.Err() == nil
			return nil
		})
	require.True(t, isRun)
}
