package demo

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func TestMain(m *testing.M) { os.Exit(dbtest.Main(m)) }

var wholeList = model.PageArgs{First: model.MaxPageSize}

// agentsOf returns the agents of a company by name, and their ids in list order.
func agentsOf(t *testing.T, tenant *db.Tenant) (map[string]*model.Agent, []string) {
	t.Helper()
	page, err := tenant.Agents(t.Context(), wholeList, nil)
	require.NoError(t, err)
	byName, ids := map[string]*model.Agent{}, []string{}
	for _, a := range page.Nodes {
		byName[a.Name] = a
		ids = append(ids, a.ID)
	}
	return byName, ids
}

func TestSeedCreatesEveryObject(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	shown, err := Seed(t.Context(), store)
	require.NoError(t, err)
	companies, err := store.Companies(t.Context())
	require.NoError(t, err)
	require.Len(t, companies, 2)
	require.Equal(t, companies[0].ID, shown.ID)

	for i, folder := range []string{"merrowby", "tansy_lane"} {
		content := mustRead(t, folder)
		require.Equal(t, content.Name, companies[i].Name)
		tenant := store.Tenant(companies[i].ID)
		agents, ids := agentsOf(t, tenant)
		require.Len(t, agents, len(content.Agents))
		tools, err := tenant.ToolsOfAgents(t.Context(), ids)
		require.NoError(t, err)
		edges, err := tenant.SubAgentsOfAgents(t.Context(), ids)
		require.NoError(t, err)
		names := map[string]string{}
		for _, a := range content.Agents {
			names[a.Key] = a.Name
		}

		for _, want := range content.Agents {
			got := agents[want.Name]
			require.NotNil(t, got, want.Key)
			require.Equal(t, want.prompts()[len(want.EarlierPrompts)], got.Prompt)
			require.Equal(t, len(want.EarlierPrompts)+1, int(got.PromptVersion))
			require.Equal(t, want.KnowledgeBaseChatID != "", got.KnowledgeBaseChatID != nil, want.Key)

			var gotTools, gotEdges, wantEdges []string
			for _, tool := range tools {
				if tool.ParentID == got.ID {
					gotTools = append(gotTools, tool.TechnicalName)
				}
			}
			for _, edge := range edges {
				if edge.AgentID == got.ID {
					delegate, err := tenant.Agent(t.Context(), edge.DelegateAgentID)
					require.NoError(t, err)
					gotEdges = append(gotEdges, edge.TechnicalName+" "+delegate.Name)
				}
			}
			for _, edge := range want.SubAgents {
				wantEdges = append(wantEdges, edge.TechnicalName+" "+names[edge.DelegateAgentID])
			}
			require.Empty(t, cmp.Diff(want.ToolIDs, gotTools), want.Key)
			require.Empty(t, cmp.Diff(wantEdges, gotEdges), want.Key)
		}
	}
}

func TestSeedKeepsThePromptHistory(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	shown, err := Seed(t.Context(), store)
	require.NoError(t, err)
	tenant := store.Tenant(shown.ID)
	agents, _ := agentsOf(t, tenant)
	for _, a := range mustRead(t, "merrowby").Agents {
		versions, err := dbtest.Pages[*model.PromptVersion](t.Context(), tenant, db.PromptVersionsOfAgents, nil,
			[]string{agents[a.Name].ID}, wholeList)
		require.NoError(t, err)
		prompts := make([]string, len(versions))
		for _, v := range versions {
			prompts[v.Version-1] = v.Prompt
		}
		require.Empty(t, cmp.Diff(a.prompts(), prompts), a.Key)
	}
}

func TestSeedConnectsDatasets(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	shown, err := Seed(t.Context(), store)
	require.NoError(t, err)
	tenant := store.Tenant(shown.ID)
	agents, _ := agentsOf(t, tenant)
	datasets, err := dbtest.Find[*model.Dataset](t.Context(), tenant, db.DatasetsOfChats,
		[]string{*agents["Product help"].KnowledgeBaseChatID})
	require.NoError(t, err)
	require.Len(t, datasets, 3)
	require.Equal(t, "Merrowby Home manuals", datasets[0].Name)
	require.Equal(t, "Support questions and answers", datasets[1].Name)
	require.Equal(t, "Price list", datasets[2].Name)
}

// The last agent of the last company is invalid, so nothing may be created.
func TestSeedIsAllOrNothing(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, conn.Close(context.Background())) })
	_, err = conn.Exec(t.Context(), "ALTER TABLE agents ADD CHECK (name <> 'Cake orders')")
	require.NoError(t, err)

	store := dbtest.Open(t, address, db.Options{})
	shown, err := Seed(t.Context(), store)
	require.Error(t, err)
	require.Nil(t, shown)
	companies, err := store.Companies(t.Context())
	require.NoError(t, err)
	require.Empty(t, companies)
}
