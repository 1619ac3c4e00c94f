package app_test

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
)

// narrowScopes maps each scope to the fields that it can read and the scope browse cannot.
var narrowScopes = map[model.APIKeyScope][]string{
	model.APIKeyScopePrompts: {"Agent.prompt", "Agent.promptVersions", "PromptVersion.prompt", "PromptSettings.prompt",
		"SimulationChat.draftPrompt", "AgentTestExecution.draftPrompt", "AgentTestRun.draftPrompt", "AgentTestVariant.prompt",
		"AgentTestVariant.settings",
		"BlameSearch.restoredPrompt", "PromptChange.section", "PromptChange.before", "PromptChange.after",
		"PromptChange.needed", "PromptPiece.text"},
	model.APIKeyScopeContacts: {
		"CampaignItem.phoneNumber", "CampaignItemDuplicate.phoneNumber", "CampaignItem.dataBag", "CampaignItem.error",
		"CampaignItemEvent.description", "CampaignItemResult.conversation", "CampaignItemResult.summary",
		"CampaignItemResult.metadata",
		"SimulationChat.dataBag", "SimulationChat.extracted", "SimulationChat.toolMocking", "SimulationChat.messages",
		"SimulationChat.lastMessage", "SimulationChat.firstContactMessage", "SimulationChat.toolCalls",
		"SimulationChat.pendingApprovals",
		"Subscription.simulationChatMessages", "Subscription.simulationChatEvents",
		"SimulationTest.persona", "SimulationTest.contactSays", "SimulationTest.conversationMessages",
		"SimulationTest.variables", "SimulationTest.toolMocking", "ClassificationTest.conversationContext",
		"AgentTestRun.rowValues", "TestRow.values", "AgentTestRun.messages", "AgentTestRun.toolCalls",
		"AgentTestRun.endReason", "AgentTestRun.extracted", "Evidence.quote", "CheckResult.expected", "CheckResult.observed",
		"CriterionResult.expected", "CriterionResult.rationale", "ClassificationResult.rationale",
		"CriterionLabel.note", "Query.criterionQueue",
	},
	model.APIKeyScopeConsumption: {"Query.consumptionBreakdown", "Company.subscription"},
}

func TestSchemaFieldsRequireListedScopes(t *testing.T) {
	t.Parallel()
	schema := graph.NewExecutableSchema(graph.Config{}).Schema()
	required := map[model.APIKeyScope][]string{}
	for _, object := range schema.Types {
		for _, field := range object.Fields {
			if directive := field.Directives.ForName("requires"); directive != nil {
				scope := model.APIKeyScope(directive.Arguments.ForName("scope").Value.Raw)
				required[scope] = append(required[scope], object.Name+"."+field.Name)
			}
		}
	}
	for scope, fields := range narrowScopes {
		require.ElementsMatch(t, fields, required[scope], scope)
	}
	require.Empty(t, required[model.APIKeyScopeRead], "keys with the scope read hold the scopes of its parts")
	require.Empty(t, required[model.APIKeyScopeChat])
	require.Empty(t, required[model.APIKeyScopeMutate], "it only lets assistants do what other scopes allow")
	for _, field := range schema.Query.Fields {
		if field.Name != "__schema" && field.Name != "__type" {
			require.NotNil(t, field.Directives.ForName("requires"), field.Name)
		}
	}
}

// TestNarrowScopesReadTheirPart reads each part with keys of every scope, by plans and by resolvers.
func TestNarrowScopesReadTheirPart(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, db.Options{SecretKey: make([]byte, 32)})
	g := &gatewayUnderTest{url: serveStore(t, store), store: store}
	servers := []string{g.url, servePlanned(t, store, gateway.DefaultSettings(), false)}
	v := newVictim(t, g, address)
	parts, routes := partsOf(v)
	for _, held := range [][]model.APIKeyScope{
		{model.APIKeyScopeBrowse}, {model.APIKeyScopePrompts}, {model.APIKeyScopeContacts}, {model.APIKeyScopeConsumption},
		{model.APIKeyScopePrompts, model.APIKeyScopeConsumption}, {model.APIKeyScopeRead}, {model.APIKeyScopeWrite},
		{model.APIKeyScopeSimulate},
	} {
		_, key := g.keyOf(t, v.ids["company"], held...)
		can := model.Principal{Scopes: held}.Can
		for _, scope := range slices.Sorted(maps.Keys(parts)) {
			for _, query := range parts[scope] {
				for _, server := range servers {
					answer := post(t, server, key, query, false)
					if can(scope) {
						require.NotContains(t, answer, `"errors"`, "%s: %s", held, query)
						continue
					}
					require.Contains(t, answer, `"FORBIDDEN"`, "%s: %s", held, query)
					require.Contains(t, answer, "does not have the scope "+string(scope), query)
					require.NotContains(t, answer, "SECRET prompt", query)
				}
			}
		}
		for path, scope := range routes {
			response := g.do(t, http.MethodGet, path, key, "")
			text, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			want := http.StatusForbidden
			if can(scope) {
				want = http.StatusOK
			}
			require.Equal(t, want, response.StatusCode, "%s: %s %s", held, path, text)
		}
		for _, subscription := range []string{"simulationChatMessages", "simulationChatEvents"} {
			if !can(model.APIKeyScopeContacts) {
				answer := post(t, g.url, key, `subscription { `+subscription+`(simulationChatId: "`+v.ids["simulationChat"]+
					`") { __typename } }`, true)
				require.Contains(t, answer, `"FORBIDDEN"`, "%s: %s", held, subscription)
			}
		}
	}
}

// partsOf returns the queries and REST routes that need each scope.
func partsOf(v victim) (parts map[model.APIKeyScope][]string, routes map[string]model.APIKeyScope) {
	id := func(name string) string { return `(id: "` + v.ids[name] + `")` }
	item := `(campaignId: "` + v.ids["campaign"] + `", id: "` + v.ids["campaignItem"] + `")`
	return map[model.APIKeyScope][]string{
			model.APIKeyScopeBrowse: {
				"{ company { name } agents { totalCount nodes { name tools { name } subAgents { name } } } }", "{ agent" +
					id("agent") + " { name promptVersion fields { name } } }",
				"{ simulationChat" + id("simulationChat") + " { status agent { name } } }", "{ simulationChats { nodes { id } } }",
				"{ campaignItem" + item + " { runningStatus eventList { date } } }",
				"{ agentTest" + id("test") + " { name } agentTestRun" + id("run") + " { status criteriaResults { passed } } }",
				"{ node" + id("agent") + " { id } }",
			},
			model.APIKeyScopePrompts: {
				"{ agent" + id("agent") + " { prompt } }", "{ agents { nodes { promptVersions { totalCount } } } }",
				"{ knowledgeBaseChats { nodes { promptSettings { prompt } } } }",
				"{ node" + id("promptVersion") + " { ... on PromptVersion { prompt } } }", "{ node" + id("agent") +
					" { ...a } } fragment a on Agent { prompt }",
			},
			model.APIKeyScopeContacts: {
				"{ campaignItem" + item + " { phoneNumber } }", "{ campaignItem" + item + " { dataBag } }", "{ simulationChat" +
					id("simulationChat") + " { dataBag } }",
				"{ simulationChats { nodes { messages { text } } } }", "{ simulationChat" + id("simulationChat") +
					" { toolCalls { id } } }",
				"{ agent" + id("agent") + " { simulationChats { nodes { messages { text } } } } }", "{ agentTestRun" + id("run") +
					" { messages { text } } }",
				"{ agentTest" + id("test") + " { ... on SimulationTest { variables } } }", "{ node" + id("campaignItem") +
					" { ... on CampaignItem { phoneNumber } } }",
			},
			model.APIKeyScopeConsumption: {
				`{ consumptionBreakdown(from: "2026-01-01", to: "2026-01-02") { totalCredits byAgent { agent { name } } } }`,
				"{ company { subscription { planName } } }",
			},
		}, map[string]model.APIKeyScope{
			"/Agent/" + v.ids["agent"]: model.APIKeyScopePrompts, "/CampaignItem/" +
				v.ids["campaign"]: model.APIKeyScopeContacts,
			"/Consumption/breakdown?from=2026-01-01&to=2026-01-02": model.APIKeyScopeConsumption,
			"/Consumption/export?from=2026-01-01&to=2026-01-02":    model.APIKeyScopeConsumption,
			"/Dataset": model.APIKeyScopeBrowse,
		}
}

// Followers with fewer scopes receive fewer fields of a changed item.
func TestFollowersReceiveOnlyFieldsOfTheirScopes(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, admin := g.company(t, "Followers")
	campaign, items := runningCampaign(t, tenant, 1)
	_, browse := g.keyOf(t, companyIDOf(t, tenant), model.APIKeyScopeBrowse)
	const query = `subscription ($id: ID!) { campaignItemUpdated(campaignId: $id) { id phoneNumber } }`
	all, some := g.follow(t, admin, query, map[string]any{"id": campaign.ID}),
		g.follow(t, browse, query, map[string]any{"id": campaign.ID})
	received := func() { require.Contains(t, string(all.receive().Payload), `"phoneNumber":"+`) }
	received()
	refused := some.receive()
	require.Equal(t, "error", refused.Type, "the first event ends the subscription")
	require.Contains(t, string(refused.Payload), "FORBIDDEN")
	require.NotContains(t, string(refused.Payload), `"phoneNumber":"+`)
	for _, to := range []model.CampaignItemStatus{
		model.CampaignItemStatusCalling, model.CampaignItemStatusProcessingResult, model.CampaignItemStatusProcessed,
	} {
		advance(t, tenant, items[0], to)
		received()
	}
}
