package app_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

// openToPages lists all fields that a page token may select. A field that the schema opens must be listed here too.
var openToPages = map[string]string{
	"Query": "agent simulationChat viewer",
	"Mutation": "startSimulationChat sendSimulationMessage endSimulationChat createAccessToken " +
		"revokeAccessToken",
	"Subscription":                 "simulationChatMessages simulationChatEvents",
	"Agent":                        "id name language outboundWelcomeMessage inboundWelcomeMessage",
	"SimulationChat":               "id agent status messages createdAt endedAt",
	"SimulationChatMessage":        "id sequence role text timestamp isConversationEnded endReason citations",
	"Citation":                     "number documentName",
	"TurnStarted":                  "turnId messageSequence text",
	"MessageDelta":                 "sequence turnId offset text",
	"MessageWritten":               "message",
	"TurnFailed":                   "turnId messageSequence reason isSuspended",
	"ChatEnded":                    "endedAt endReason",
	"StartSimulationChatPayload":   "simulationChat",
	"SendSimulationMessagePayload": "simulationChat newMessages",
	"EndSimulationChatPayload":     "simulationChat",
	// These fields are for keys with the scope chat: a token cannot create tokens.
	"CreateAccessTokenPayload": "token expiresAt",
	"RevokeAccessTokenPayload": "isRevoked",
	"Viewer":                   "scopes expiresAt isAccessToken",
}

func isOpenToPages(typeName, field string) bool {
	return slices.Contains(strings.Fields(openToPages[typeName]), field)
}

func TestSchemaFieldsOpenToPageTokens(t *testing.T) {
	t.Parallel()
	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	opened := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(schema.Types)) {
		for _, field := range schema.Types[name].Fields {
			if field.Directives.ForName("openTo") != nil {
				opened[name] = strings.TrimSpace(opened[name] + " " + field.Name)
			}
		}
	}
	require.Len(t, opened, len(openToPages))
	for name, fields := range opened {
		require.ElementsMatch(t, strings.Fields(openToPages[name]), strings.Fields(fields), name)
	}
}

// pageFixture is a company with an object of every type, a second agent, and a page token for the first agent.
type pageFixture struct {
	cells
	servers []string
	address string
	token   string
	// within lists ids that the token reaches, by argument name.
	within map[string]string
	// beyond lists ids that the token does not reach.
	beyond []string
}

func newPageFixture(t *testing.T) *pageFixture {
	t.Helper()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, db.Options{SecretKey: make([]byte, 32)})
	g := &gatewayUnderTest{url: serveStore(t, store), store: store}
	own, foreign := newVictim(t, g, address), newVictim(t, g, address)
	tenant := store.Tenant(own.ids["company"])
	agents := map[string]string{}
	for _, name := range []string{"own", "other"} {
		agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
			Name: name, Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en", Prompt: "SECRET prompt",
		})
		require.NoError(t, err)
		agents[name] = agent.ID
	}
	_, key := g.keyOf(t, own.ids["company"], model.APIKeyScopeChat)
	w := &pageFixture{servers: []string{g.url, servePlanned(t, store, gateway.DefaultSettings(), false)}, address: address}
	token := func() string { return g.pageToken(t, key, map[string]any{"agentIds": []string{agents["own"]}}) }
	w.token = token()
	w.within = map[string]string{"agentId": agents["own"], "simulationChatId": g.startChat(t, w.token, agents["own"])}
	w.beyond = slices.Concat(slices.Collect(maps.Values(own.ids)), slices.Collect(maps.Values(foreign.ids)),
		[]string{agents["other"], g.startChat(t, token(), agents["own"])})
	reached := own
	reached.ids = maps.Clone(own.ids)
	reached.ids["agent"], reached.ids["simulationChat"] = w.within["agentId"], w.within["simulationChatId"]
	w.cells = cells{walker: walker{schema: graph.NewExecutableSchema(graph.Config{}).Schema(), victim: reached},
		own: reached, foreign: foreign}
	return w
}

// way is a path to a type: the query text before and after the selection.
type way struct {
	root          *ast.Definition
	before, after string
}

func (w way) to(text string) string { return w.before + " { " + text + " }" + w.after }

// bare returns the text of a field that selects only __typename, which every type has.
func (w *pageFixture) bare(field *ast.FieldDefinition, at, text string) string {
	call, _, isObject := strings.Cut(w.call(field, at, text, 2), " { __typename")
	if isObject {
		call += " { __typename }"
	}
	return call
}

// ways finds a path to each type that a page token can reach through open fields.
func (w *pageFixture) ways() map[string]way {
	found := map[string]way{}
	var follow func(object *ast.Definition, root *ast.Definition, before, after string)
	follow = func(object *ast.Definition, root *ast.Definition, before, after string) {
		if object.IsLeafType() || found[object.Name].root != nil {
			return
		}
		if object.IsAbstractType() {
			for _, possible := range w.schema.GetPossibleTypes(object) {
				follow(possible, root, before+" { ... on "+possible.Name, " }"+after)
			}
			return
		}
		found[object.Name] = way{root, before, after}
		for _, field := range object.Fields {
			if isOpenToPages(object.Name, field.Name) {
				follow(w.schema.Types[field.Type.Name()], root, before+" { "+field.Name, " }"+after)
			}
		}
	}
	for _, root := range []*ast.Definition{w.schema.Query, w.schema.Subscription, w.schema.Mutation} {
		for _, field := range root.Fields {
			if isOpenToPages(root.Name, field.Name) && field.Name != "createAccessToken" {
				call, _, _ := strings.Cut(w.call(field, "", "", 2), " { __typename")
				follow(w.schema.Types[field.Type.Name()], root, strings.ToLower(root.Name)+" { "+call, " }")
			}
		}
	}
	return found
}

// TestPageTokensSelectOnlyOpenFields tries each field of each type in the schema with a page token. Fields that are not
// in openToPages are refused by plans and by resolvers, and no part of the operation runs.
func TestPageTokensSelectOnlyOpenFields(t *testing.T) {
	t.Parallel()
	w := newPageFixture(t)
	ways := w.ways()
	for name := range openToPages {
		if _, known := ways[name]; !known {
			require.Contains(t, []string{"Query", "Mutation", "Subscription", "CreateAccessTokenPayload"}, name,
				"no path leads to the type")
		}
	}
	refused, allowed := 0, 0
	before := dump(t, w.address, w.own.ids["company"])
	try := func(root *ast.Definition, operation string, isAllowed bool, name string) {
		if isAllowed && root != w.schema.Query {
			return // TestPageTokenReadsOnlyItsChats covers these
		}
		for _, server := range w.servers {
			answer := post(t, server, w.token, operation, root == w.schema.Subscription)
			require.NotContains(t, answer, "GRAPHQL_VALIDATION_FAILED", operation)
			if isAllowed {
				allowed++
				require.NotContains(t, answer, "FORBIDDEN", operation)
				continue
			}
			refused++
			require.Contains(t, answer, `"FORBIDDEN"`, "%s is open to pages: %s", name, operation)
			require.Contains(t, answer, "the scope chat does not include "+name, operation)
			require.NotContains(t, answer, "SECRET", operation)
			require.NotContains(t, answer, `"data":{`, operation)
		}
	}
	for _, root := range []*ast.Definition{w.schema.Query, w.schema.Mutation, w.schema.Subscription} {
		for _, field := range root.Fields {
			if !strings.HasPrefix(field.Name, "__") && !isOpenToPages(root.Name, field.Name) {
				try(root, strings.ToLower(root.Name)+" { "+w.bare(field, "", "")+" }", false, root.Name+"."+field.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(ways)) {
		for _, field := range w.schema.Types[name].Fields {
			try(ways[name].root, ways[name].to(w.bare(field, "", "")), isOpenToPages(name, field.Name), name+"."+field.Name)
		}
	}
	// Fragments, directives and introspection do not circumvent the check.
	for operation, name := range map[string]string{
		`{ __schema { types { name } } }`:                                                "Query.__schema",
		`{ __type(name: "Agent") { name } }`:                                             "Query.__type",
		`{ ...q } fragment q on Query { ...r } fragment r on Query { company { name } }`: "Query.company",
		`{ ... on Query { a: agents { totalCount } } }`:                                  "Query.agents",
		`query ($no: Boolean! = false) { company @include(if: $no) { name } }`:           "Query.company",
		`{ agent(id: "` + w.within["agentId"] +
			`") { id ... on Node { id } } }`: "Node.id",
		`{ node(id: "` + w.within["agentId"] +
			`") { id } }`: "Query.node",
		`mutation { startSimulationChat(input: {agentId: "` + w.within["agentId"] +
			`"}) { simulationChat { id agent { prompt } } } }`: "Agent.prompt",
	} {
		try(w.schema.Query, operation, false, name)
	}
	require.Equal(t, before, dump(t, w.address, w.own.ids["company"]), "Nothing was done")
	t.Logf("%d refused, %d allowed", refused, allowed)
	require.Greater(t, refused, 200)
	require.Greater(t, allowed, 30)
}

// TestPageTokensReachOnlyTheirIDs tries each id argument that a page token can use with each id beyond its reach, in
// its own company and in another one.
func TestPageTokensReachOnlyTheirIDs(t *testing.T) {
	t.Parallel()
	w := newPageFixture(t)
	before := dump(t, w.address, w.own.ids["company"])
	places := 0
	for _, p := range w.all() {
		if p.object != nil || !isOpenToPages(p.root.Name, p.field.Name) || p.field.Name == "createAccessToken" ||
			strings.HasPrefix(p.path, "input.toolMocking") {
			continue
		}
		places++
		for _, id := range slices.Concat(w.beyond, []string{"", "agent_unknown"}) {
			literal, err := json.Marshal(id)
			require.NoError(t, err)
			operation := strings.ToLower(p.root.Name) + " { " + w.bare(p.field, p.path, string(literal)) + " }"
			for _, server := range w.servers {
				answer := post(t, server, w.token, operation, p.root == w.schema.Subscription)
				require.Regexp(t, `"code":"NOT_FOUND"`, answer, operation)
				require.NotContains(t, answer, "__typename", operation)
			}
		}
	}
	require.Equal(t, 7, places)
	require.Equal(t, before, dump(t, w.address, w.own.ids["company"]))
}
