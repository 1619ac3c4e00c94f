package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

const createToken = `mutation ($scopes: [ApiKeyScope!]!) { createAccessToken(input: {scopes: $scopes}) { token expiresAt
	} }`

// token creates an access token of the key.
func (g *gatewayUnderTest) token(t *testing.T, key string, scopes ...string) (token string, expiresAt time.Time) {
	t.Helper()
	var made struct {
		CreateAccessToken struct {
			Token     string
			ExpiresAt time.Time
		}
	}
	g.must(t, key, createToken, map[string]any{"scopes": scopes}, &made)
	return made.CreateAccessToken.Token, made.CreateAccessToken.ExpiresAt
}

// head is a response without its body.
type head struct {
	StatusCode int
	Header     http.Header
}

// sendWithToken sends a request with an access token. It is a POST if it has a body.
func (g *gatewayUnderTest) sendWithToken(t *testing.T, path, token, body string) (head, string) {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	request, err := http.NewRequestWithContext(t.Context(), method, g.url+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return head{response.StatusCode, response.Header}, string(text)
}

func TestAccessTokenActsForItsKey(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Tokens")
	agentID := manyAgents(t, tenant, 1)
	begin := time.Now()
	token, expiresAt := g.token(t, key, "read", "write")
	require.WithinRange(t, expiresAt, begin.Add(890*time.Second), time.Now().Add(900*time.Second))

	_, text := g.sendWithToken(t, "/graphql", token, `{"query":"{ company { name } }"}`)
	require.JSONEq(t, `{"data":{"company":{"name":"Tokens"}}}`, text)
	response, text := g.sendWithToken(t, "/Agent/"+agentID, token, "")
	require.Equal(t, http.StatusOK, response.StatusCode, text)
	require.Contains(t, text, agentID)

	// The change is attributed to the key.
	_, text = g.sendWithToken(t, "/graphql", token, `{"query":"mutation { updateAgentPrompt(input: {agentId: \"`+agentID+
		`\", prompt: \"By a token\"}) { agent { id } } }"}`)
	require.NotContains(t, text, "errors")
	versions, err := dbtest.Pages[*model.PromptVersion](t.Context(), tenant, db.PromptVersionsOfAgents, nil,
		[]string{agentID}, model.PageArgs{First: 1})
	require.NoError(t, err)
	keys, err := tenant.APIKeys(t.Context())
	require.NoError(t, err)
	require.Equal(t, keys[0].ID, *versions[0].APIKeyID)
}

func TestAccessTokenIsLimitedToItsScopes(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, admin := g.company(t, "Tokens")
	_, simulate := g.keyOf(t, companyIDOf(t, tenant), model.APIKeyScopeSimulate)
	require.Equal(t, []string{"FORBIDDEN"},
		g.query(t, simulate, createToken, map[string]any{"scopes": []string{"read", "write"}}).codes())
	require.Equal(t, []string{"BAD_INPUT"}, g.query(t, admin, createToken, map[string]any{"scopes": []string{}}).codes())
	a := g.query(t, admin, `mutation { createAccessToken(input: {scopes: [read], ttlSeconds: 59}) { token } }`, nil)
	require.Equal(t, []string{"BAD_INPUT"}, a.codes())
	require.Equal(t, map[string][]string{"ttlSeconds": {"must be from 60 to 86400"}}, a.Errors[0].Extensions.Fields)

	read, _ := g.token(t, simulate, "read")
	_, text := g.sendWithToken(t, "/graphql", read,
		`{"query":"mutation { createTool(input: {name: \"T\", technicalName: \"t\"}) { tool { id } } }"}`)
	require.Contains(t, text, "FORBIDDEN")
	response, text := g.sendWithToken(t, "/Dataset", read, `{"name":"D"}`)
	require.Equal(t, http.StatusForbidden, response.StatusCode, text)

	all, _ := g.token(t, admin, "admin")
	_, text = g.sendWithToken(t, "/graphql", all, `{"query":"{ company { apiKeys { id } } }"}`)
	require.NotContains(t, text, "errors")
	for _, mutation := range []string{
		"createAccessToken(input: {scopes: [read]}) { token }",
		`createApiKey(input: {name: \"K\", scopes: [read]}) { secret }`,
	} {
		_, text = g.sendWithToken(t, "/graphql", all, `{"query":"mutation { `+mutation+` }"}`)
		require.Contains(t, text, "FORBIDDEN", "an access token cannot create a longer-lived one")
		require.Contains(t, text, "use an API key")
	}
}

func TestInvalidAccessTokensAreRefused(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	g := &gatewayUnderTest{url: serveStore(t, store), store: store}
	tenant, key := g.company(t, "Tokens")
	expired, _ := g.token(t, key, "read")
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	_, err = conn.Exec(t.Context(), "UPDATE access_tokens SET created_at = 'epoch', expires_at = created_at")
	require.NoError(t, err)
	_, second := g.keyOf(t, companyIDOf(t, tenant), model.APIKeyScopeRead)
	revoked, _ := g.token(t, second, "read")
	keys, err := tenant.APIKeys(t.Context())
	require.NoError(t, err)
	_, err = tenant.RevokeAPIKey(t.Context(), keys[0].ID)
	require.NoError(t, err)
	_, neighbor := g.company(t, "Neighbor")
	foreign, _ := g.token(t, neighbor, "read")

	texts := map[string]bool{}
	for name, token := range map[string]string{
		"expired": expired, "its key revoked": revoked, "mistyped": foreign[:len(foreign)-1] + "x", "no token": "agt_",
		"a word": "x",
	} {
		response, text := g.sendWithToken(t, "/graphql", token, `{"query":"{ company { name } }"}`)
		require.Equal(t, http.StatusUnauthorized, response.StatusCode, name)
		require.Equal(t, `Bearer error="invalid_token"`, response.Header.Get("WWW-Authenticate"))
		require.Contains(t, text, "UNAUTHENTICATED")
		if strings.HasPrefix(token, "agt_") {
			texts[traceID.ReplaceAllString(text, "")] = true
		}
		response, text = g.sendWithToken(t, "/KnowledgeBaseChat", token, "")
		require.Equal(t, http.StatusUnauthorized, response.StatusCode, name)
		require.Equal(t, `Bearer error="invalid_token"`, response.Header.Get("WWW-Authenticate"))
		require.Equal(t, "application/problem+json", response.Header.Get("Content-Type"))
		require.Contains(t, text, "UNAUTHENTICATED")
	}
	require.Len(t, texts, 1, "the reason is not shown")
}

func TestSocketEndsWhenItsAccessTokenExpires(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, dbtest.Options())
	settings := gateway.DefaultSettings()
	settings.PingInterval = 10 * time.Millisecond
	g := &gatewayUnderTest{url: serveWith(t, store, settings), store: store}
	_, key := g.company(t, "Tokens")
	token, _ := g.token(t, key, "read")

	socket, response, err := websocket.Dial(t.Context(), strings.Replace(g.url, "http", "ws", 1)+"/graphql",
		&websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}})
	require.NoError(t, err)
	if response.Body != nil {
		require.NoError(t, response.Body.Close())
	}
	defer func() { _ = socket.CloseNow() }()
	payload, err := json.Marshal(map[string]string{"authorization": "Bearer " + token})
	require.NoError(t, err)
	require.NoError(t, wsjson.Write(t.Context(), socket, frame{Type: "connection_init", Payload: payload}))
	var f frame
	require.NoError(t, wsjson.Read(t.Context(), socket, &f))
	require.Equal(t, "connection_ack", f.Type)
	require.NoError(t, wsjson.Write(t.Context(), socket,
		frame{ID: "1", Type: "subscribe", Payload: json.RawMessage(`{"query":"{ company { name } }"}`)}))
	require.NoError(t, wsjson.Read(t.Context(), socket, &f))
	require.JSONEq(t, `{"data":{"company":{"name":"Tokens"}}}`, string(f.Payload))

	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	_, err = conn.Exec(t.Context(), "UPDATE access_tokens SET created_at = 'epoch', expires_at = created_at")
	require.NoError(t, err)
	for err == nil {
		err = wsjson.Read(t.Context(), socket, &f)
	}
	require.Equal(t, websocket.StatusCode(4403), websocket.CloseStatus(err), "%v", err)
}
