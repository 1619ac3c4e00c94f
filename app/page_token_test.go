package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

const createNarrowed = `mutation ($input: CreateAccessTokenInput!) { createAccessToken(input: $input) { token } }`

// pageToken creates a token with the scope chat and the given restrictions.
func (g *gatewayUnderTest) pageToken(t testing.TB, key string, narrowing map[string]any) string {
	t.Helper()
	input := map[string]any{"scopes": []string{"chat"}}
	for name, value := range narrowing {
		input[name] = value
	}
	var made struct{ CreateAccessToken struct{ Token string } }
	g.must(t, key, createNarrowed, map[string]any{"input": input}, &made)
	return made.CreateAccessToken.Token
}

// startChat starts a simulated chat and returns its id.
func (g *gatewayUnderTest) startChat(t testing.TB, credential, agentID string) string {
	t.Helper()
	var started struct {
		StartSimulationChat struct{ SimulationChat struct{ ID string } }
	}
	g.must(t, credential, `mutation ($id: ID!) { startSimulationChat(input: {agentId: $id}) { simulationChat { id } } }`,
		map[string]any{"id": agentID}, &started)
	return started.StartSimulationChat.SimulationChat.ID
}

const sendText = `mutation ($id: ID!) {
	sendSimulationMessage(input: {simulationChatId: $id, text: "Hello"}) { newMessages { sequence role text }
		simulationChat { status } }
}`

// newPages starts a gateway with a company of two agents, and a key that can create page tokens.
func newPages(t *testing.T) (g *gatewayUnderTest, key string, agents [2]string) {
	t.Helper()
	g = startGateway(t)
	tenant, _ := g.company(t, "Pages")
	for i := range agents {
		agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
			Name: "Shop", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en", Prompt: "Be kind.",
			InboundWelcomeMessage: new("Welcome"),
		})
		require.NoError(t, err)
		agents[i] = agent.ID
	}
	_, key = g.keyOf(t, companyIDOf(t, tenant), model.APIKeyScopeChat)
	return g, key, agents
}

func TestPageTokenReadsOnlyItsChats(t *testing.T) {
	t.Parallel()
	g, key, agents := newPages(t)
	token := g.pageToken(t, key, map[string]any{"agentIds": agents[:1]})
	var shown struct {
		Agent struct{ Name, Language, InboundWelcomeMessage string }
	}
	g.must(t, token, `query ($id: ID!) { agent(id: $id) { name language inboundWelcomeMessage } }`,
		map[string]any{"id": agents[0]}, &shown)
	require.Equal(t, "Welcome", shown.Agent.InboundWelcomeMessage)

	chat := g.startChat(t, token, agents[0])
	events := g.follow(t, token,
		`subscription ($id: ID!) { simulationChatMessages(simulationChatId: $id) { sequence role text } }`,
		map[string]any{"id": chat})
	g.must(t, token, sendText, map[string]any{"id": chat}, nil)
	for _, role := range []string{"assistant", "user", "assistant"} {
		require.Contains(t, string(events.receive().Payload), `"role":"`+role+`"`)
	}
	var read struct {
		SimulationChat struct {
			Messages []struct{ Text string }
			Agent    struct{ Name string }
		}
	}
	g.must(t, token, `query ($id: ID!) { simulationChat(id: $id) { status createdAt endedAt agent { name } messages { text
		} } }`, map[string]any{"id": chat}, &read)
	require.Len(t, read.SimulationChat.Messages, 3)
	require.Equal(t, "Shop", read.SimulationChat.Agent.Name)
	g.must(t, token, `mutation ($id: ID!) { endSimulationChat(input: {simulationChatId: $id}) { simulationChat { status } }
		}`, map[string]any{"id": chat}, nil)

	// Other chats do not exist for the token, including chats of its key and of the key's other tokens.
	for _, other := range []string{g.startChat(t, key, agents[0]), g.startChat(t, g.pageToken(t, key, nil), agents[0])} {
		for _, query := range []string{sendText, `query ($id: ID!) { simulationChat(id: $id) { id } }`} {
			require.Equal(t, []string{"NOT_FOUND"}, g.query(t, token, query, map[string]any{"id": other}).codes())
		}
	}
	refused := g.query(t, token,
		`mutation ($id: ID!) { startSimulationChat(input: {agentId: $id}) { simulationChat { id } } }`,
		map[string]any{"id": agents[1]})
	require.Equal(t, []string{"NOT_FOUND"}, refused.codes())
	// A page cannot choose how tools are mocked.
	refused = g.query(t, token,
		`mutation ($id: ID!) { startSimulationChat(input: {agentId: $id, toolMocking: {mockAllTools: true}}) { simulationChat
			{ id } } }`, map[string]any{"id": agents[0]})
	require.Equal(t, []string{"FORBIDDEN"}, refused.codes())
	require.Contains(t, refused.Errors[0].Message, "simulate")
	for _, more := range []string{`prompt: "Obey."`,
		`messages: [{role: user, text: "Free?"}, {role: assistant, text: "Yes."}]`, `messages: []`} {
		refused = g.query(t, token, `mutation ($id: ID!) { startSimulationChat(input: {agentId: $id, `+more+
			`}) { simulationChat { id } } }`, map[string]any{"id": agents[0]})
		require.Equal(t, []string{"FORBIDDEN"}, refused.codes(), more)
	}
}

func TestVisitorTokensShareTheirChats(t *testing.T) {
	t.Parallel()
	g, key, agents := newPages(t)
	read := func(token, chat string) []string {
		return g.query(t, token, `query ($id: ID!) { simulationChat(id: $id) { id } }`, map[string]any{"id": chat}).codes()
	}
	visitor := func(name string) string { return g.pageToken(t, key, map[string]any{"visitor": name}) }
	chat := g.startChat(t, visitor("ada"), agents[0])
	require.Empty(t, read(visitor("ada"), chat))
	require.Equal(t, []string{"NOT_FOUND"}, read(visitor("bob"), chat))
	narrower := g.pageToken(t, key, map[string]any{"visitor": "ada", "agentIds": agents[1:]})
	require.Equal(t, []string{"NOT_FOUND"}, read(narrower, chat), "the agent is out of reach")
}

func TestPageCannotWidenItsToken(t *testing.T) {
	t.Parallel()
	g, key, agents := newPages(t)
	token := g.pageToken(t, key, map[string]any{"agentIds": agents[:1]})
	for _, input := range []map[string]any{{"scopes": []string{"chat"}}, {"scopes": []string{"read"}}} {
		refused := g.query(t, token, createNarrowed, map[string]any{"input": input})
		require.Equal(t, []string{"FORBIDDEN"}, refused.codes())
		require.Contains(t, refused.Errors[0].Message, "use an API key")
	}
	// A key cannot create a token with more scopes than its own.
	require.Equal(t, []string{"FORBIDDEN"},
		g.query(t, key, createNarrowed, map[string]any{"input": map[string]any{"scopes": []string{"browse"}}}).codes())
	refused := g.query(t, key, createNarrowed, map[string]any{"input": map[string]any{
		"scopes": []string{"chat", "read"}, "origins": []string{"*"}, "agentIds": []string{}, "visitor": "",
	}})
	require.Equal(t, []string{"BAD_INPUT"}, refused.codes())
	for _, field := range []string{"scopes", "origins.0", "agentIds", "visitor"} {
		require.Contains(t, refused.Errors[0].Extensions.Fields, field)
	}
	require.Equal(t, []string{"NOT_FOUND"}, g.query(t, key, createNarrowed, map[string]any{"input": map[string]any{
		"scopes": []string{"chat"}, "agentIds": []string{"agent_unknown"},
	}}).codes())
	// A key with the scope simulate may create chat tokens. Its own permissions stay the same.
	tenant, _ := g.company(t, "Simulates")
	_, simulate := g.keyOf(t, companyIDOf(t, tenant), model.APIKeyScopeSimulate)
	g.pageToken(t, simulate, nil)
	g.must(t, simulate, `{ agents { nodes { prompt } } simulationChats { totalCount } consumptionBreakdown(from:
		"2026-01-01", to: "2026-01-02") { totalCredits } }`, nil, nil)
}

// v1 responses contain prompts, so page tokens are refused before anything runs.
func TestPageTokensAreRefusedByREST(t *testing.T) {
	t.Parallel()
	g, key, agents := newPages(t)
	token := g.pageToken(t, key, nil)
	chat := g.startChat(t, token, agents[0])
	for _, c := range []struct{ path, body string }{
		{"/Agent/" + agents[0], ""}, {"/SimulationChat/" + chat, ""}, {"/SimulationChat/start", `{"agentId":"` + agents[0] +
			`"}`},
		{"/SimulationChat/send-message", `{"simulationChatId":"` + chat + `","message":"x"}`}, {"/AgentTest", ""},
		{"/Dataset", ""},
		{"/Subscription", ""}, {"/Consumption/breakdown?from=2026-01-01&to=2026-01-02", ""},
		{"/Consumption/export?from=2026-01-01&to=2026-01-02", ""},
	} {
		response, text := g.sendWithToken(t, c.path, token, c.body)
		require.Equal(t, http.StatusForbidden, response.StatusCode, "%s: %s", c.path, text)
		require.Equal(t, "application/problem+json", response.Header.Get("Content-Type"))
	}
	var read struct {
		SimulationChat struct{ Messages []struct{ Text string } }
	}
	g.must(t, token, `query ($id: ID!) { simulationChat(id: $id) { messages { text } } }`, map[string]any{"id": chat},
		&read)
	require.Len(t, read.SimulationChat.Messages, 1)
}

// Pages may choose the same idempotency keys by chance.
func TestPageTokensDoNotShareIdempotentResponses(t *testing.T) {
	t.Parallel()
	g, key, agents := newPages(t)
	start := func(token string) (chat string, isReplay bool) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/graphql", strings.NewReader(
			`{"query":"mutation { startSimulationChat(input: {agentId: \"`+agents[0]+`\"}) { simulationChat { id } } }"}`))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Idempotency-Key", "1")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer func() { require.NoError(t, response.Body.Close()) }()
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return string(text), response.Header.Get("Idempotent-Replayed") == "true"
	}
	ada, bob := g.pageToken(t, key, nil), g.pageToken(t, key, nil)
	first, isReplay := start(ada)
	require.False(t, isReplay)
	again, isReplay := start(ada)
	require.True(t, isReplay)
	require.Equal(t, first, again)
	other, isReplay := start(bob)
	require.False(t, isReplay)
	require.NotEqual(t, first, other)
}

func TestPageTokenWorksOnlyFromItsOrigins(t *testing.T) {
	t.Parallel()
	store := dbtest.Open(t, dbtest.URL(t), dbtest.Options())
	settings := gateway.DefaultSettings()
	const shop, other = "https://shop.example", "https://other.example"
	settings.CORSOrigins = []string{shop, other}
	g := &gatewayUnderTest{url: serveWith(t, store, settings), store: store}
	tenant, admin := g.company(t, "Origins")
	agentID := manyAgents(t, tenant, 1)
	var made struct{ CreateAccessToken struct{ Token string } }
	g.must(t, admin, createNarrowed,
		map[string]any{"input": map[string]any{"scopes": []string{"simulate"},
			"origins": []string{shop, "https://m.shop.example"}}}, &made)
	token := made.CreateAccessToken.Token
	chat := g.startChat(t, admin, agentID)
	end := `mutation { endSimulationChat(input: {simulationChatId: \"` + chat + `\"}) { simulationChat { id } } }`
	g.must(t, admin, strings.ReplaceAll(end, `\"`, `"`), nil, nil)

	for name, c := range map[string]struct{ method, path, accept, body string }{
		"GraphQL": {http.MethodPost, "/graphql", "application/json", `{"query":"{ company { name } }"}`},
		"GET":     {http.MethodGet, "/graphql?query=%7Bcompany%7Bname%7D%7D", "application/json", ""},
		"REST":    {http.MethodGet, "/Agent/" + agentID, "application/json", ""},
		"SSE": {http.MethodPost, "/graphql", "text/event-stream",
			`{"query":"subscription { simulationChatEvents(simulationChatId: \"` + chat + `\") { __typename } }"}`},
	} {
		for _, from := range []struct {
			origins []string
			isGood  bool
		}{
			{[]string{shop}, true}, {[]string{"https://m.shop.example"}, true}, {nil, false}, {[]string{other}, false},
			{[]string{"null"}, false},
			{[]string{""}, false}, {[]string{shop + ":8443"}, false}, {[]string{"http://shop.example"}, false},
			{[]string{shop, other}, false},
		} {
			request, err := http.NewRequestWithContext(t.Context(), c.method, g.url+c.path, strings.NewReader(c.body))
			require.NoError(t, err)
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Accept", c.accept)
			request.Header.Set("Authorization", "Bearer "+token)
			for _, origin := range from.origins {
				request.Header.Add("Origin", origin)
			}
			response, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			text, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			if from.isGood {
				require.Equal(t, http.StatusOK, response.StatusCode, "%s %s: %s", name, from.origins, text)
				continue
			}
			require.Equal(t, http.StatusForbidden, response.StatusCode, "%s %q: %s", name, from.origins, text)
			require.Contains(t, string(text), "FORBIDDEN")
			require.Contains(t, string(text), "only for pages of the origins")
		}
	}
	for origin, isGood := range map[string]bool{shop: true, other: false, "": false} {
		require.Equal(t, isGood, opens(t, g.url, origin, token), "a socket of %q", origin)
	}
}

// opens opens a socket for a page of the origin, and reports whether the server acknowledges it.
func opens(t *testing.T, url, origin, token string) bool {
	t.Helper()
	options := &websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}, HTTPHeader: http.Header{}}
	if origin != "" {
		options.HTTPHeader.Set("Origin", origin)
	}
	socket, response, err := websocket.Dial(t.Context(), strings.Replace(url, "http", "ws", 1)+"/graphql", options)
	require.NoError(t, err)
	if response.Body != nil {
		require.NoError(t, response.Body.Close())
	}
	defer func() { _ = socket.CloseNow() }()
	payload, err := json.Marshal(map[string]string{"authorization": "Bearer " + token})
	require.NoError(t, err)
	require.NoError(t, wsjson.Write(t.Context(), socket, frame{Type: "connection_init", Payload: payload}))
	var f frame
	if err := wsjson.Read(t.Context(), socket, &f); err != nil {
		require.EqualValues(t, 4403, websocket.CloseStatus(err))
		return false
	}
	return f.Type == "connection_ack"
}

// Restrictions are read together with the token, so its requests take as many statements as others.
func TestNarrowedTokensCostNoExtraStatement(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, admin := g.company(t, "Statements")
	agentID := manyAgents(t, tenant, 1)
	plain, _ := g.token(t, admin, "simulate")
	narrowed := g.pageToken(t, admin, map[string]any{"agentIds": []string{agentID},
		"origins": []string{"https://a.example"}, "visitor": "ada"})
	cost := func(token string) int64 {
		before := g.statements.Load()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/graphql",
			strings.NewReader(`{"query":"{ agent(id: \"`+agentID+`\") { id } }"}`))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Origin", "https://a.example")
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusOK, response.StatusCode)
		return g.statements.Load() - before
	}
	require.EqualValues(t, 2, cost(plain), "the token and the agent")
	require.EqualValues(t, 2, cost(narrowed))
}

// A token for one subscription is refused for everything else, on every transport and with any scopes.
func TestSubscriptionTokenOpensOnlyItsSubscription(t *testing.T) {
	t.Parallel()
	g, _, agents := newPages(t)
	companies, err := g.store.Companies(t.Context())
	require.NoError(t, err)
	_, key := g.keyOf(t, companies[0].ID, model.APIKeyScopeAdmin)
	chat := g.startChat(t, key, agents[0])
	token := g.pageToken(t, key, map[string]any{"scopes": []string{"admin"}, "subscription": "simulationChatMessages"})
	variables := map[string]any{"id": chat}
	const messages = `subscription ($id: ID!) { simulationChatMessages(simulationChatId: $id) { text } }`
	require.Contains(t, string(g.follow(t, token, messages, variables).receive().Payload), "Welcome")
	for _, document := range []string{
		`{ viewer { scopes } }`, `{ __typename }`, `mutation { revokeAccessToken(input: {}) { isRevoked } }`, sendText,
		`subscription ($id: ID!) { simulationChatEvents(simulationChatId: $id) { __typename } }`,
	} {
		refused := g.query(t, token, document, variables)
		require.Equal(t, []string{"FORBIDDEN"}, refused.codes(), document)
	}
	response := g.do(t, http.MethodGet, "/Agent/"+agents[0], token, "")
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusForbidden, response.StatusCode)

	var known []model.SubscriptionField
	for _, field := range graph.NewExecutableSchema(graph.Config{}).Schema().Subscription.Fields {
		known = append(known, model.SubscriptionField(field.Name))
	}
	require.ElementsMatch(t, known, model.AllSubscriptionField)
}
