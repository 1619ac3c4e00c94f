package query

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// The program refuses to start with a table that does not match the schema.
func TestTableMustMatchTheSchema(t *testing.T) {
	t.Parallel()
	table := newTestTable(t)
	for name, r := range relations {
		require.NoError(t, table.check(name, r), name)
	}
	for fault, c := range map[string]struct {
		name string
		r    relation
	}{
		"has no field Agent.nothing":  {"Agent.nothing", many(db.ToolsOfAgents)},
		`has the type "Tool"`:         {"Agent.tools", many(db.SubAgentsOfAgents)},
		`has the type "CampaignItem"`: {"Campaign.items", page(db.RunsOfTests)},
		`has the type ""`:             {"Agent.tools", page(db.AgentsOfTools)},
		`returns the column "a"`: {"Agent.knowledgeBaseChatName",
			one("knowledge_base_chat_id", db.KnowledgeBaseChatRows).returning("a")},
	} {
		require.ErrorContains(t, table.check(c.name, c.r), fault, c.name)
	}
}

// A field lists the columns that plans and resolvers need. An unknown field may need any column.
func TestFieldsNameTheirColumns(t *testing.T) {
	t.Parallel()
	table := newTestTable(t)
	for name, want := range map[string][]string{
		"Agent.name":                 {"name"},
		"Agent.tools":                {"id"},
		"Agent.knowledgeBaseChat":    {"knowledge_base_chat_id"},
		"Agent.coverage":             nil,
		"SimulationChat.status":      {"status", "reply_until"},
		"SimulationTest.lastRun":     {"last_run_id"},
		"AgentTestExecution.verdict": {"status", "finished_at"},
	} {
		columns, known := table.fieldColumns[name]
		require.True(t, known, name)
		require.Equal(t, want, columns, name)
	}
	for _, name := range []string{"Company.id", "Agent.nothing", "AgentTestRun.nothing"} {
		require.NotContains(t, table.fieldColumns, name)
	}
}

func TestRelationsFollowKeys(t *testing.T) {
	t.Parallel()
	table := newTestTable(t)
	key := func(name string, row any) string { return table.relations[name].keyOf(row) }
	chat := "chat"
	require.Equal(t, "agent", key("Agent.tools", &model.Agent{ID: "agent"}))
	require.Equal(t, "chat", key("Agent.knowledgeBaseChat", &model.Agent{ID: "agent", KnowledgeBaseChatID: &chat}))
	require.Empty(t, key("Agent.knowledgeBaseChat", &model.Agent{ID: "agent"}))
	require.Equal(t, "agent", key("SimulationChat.agent", &model.SimulationChat{AgentID: "agent"}))
	require.Equal(t, "agent",
		key("AgentConsumption.agent", &model.AgentConsumption{AgentID: "agent", NameStatus: model.NameStatusResolved}))
	require.Empty(t, key("AgentConsumption.agent", &model.AgentConsumption{AgentID: "agent",
		NameStatus: model.NameStatusDeleted}))
}

// No two lists have the same mark in their cursors.
func TestEveryListMarksItsCursors(t *testing.T) {
	t.Parallel()
	marked := map[string]string{}
	mark := func(r relation) {
		if r.shape == toPage {
			table := r.list.Table()
			cursor := model.Cursor{ID: "a"}.In(table).String()
			require.Contains(t, []string{"", table}, marked[cursor])
			marked[cursor] = table
		}
	}
	table := newTestTable(t)
	for _, r := range table.relations {
		mark(*r)
	}
	for _, r := range table.roots {
		mark(r.relation)
	}
	require.Greater(t, len(marked), 10)
}

// Fields that lead to the same rows share one read. A page and a list have separate reads. A relation with a computed
// key shares no read.
func TestRelationsToTheSameRowsShareReads(t *testing.T) {
	t.Parallel()
	table := newTestTable(t)
	same := func(a, b string) bool { return table.relations[a].identity() == table.relations[b].identity() }
	require.True(t, same("Agent.knowledgeBaseChat", "Agent.knowledgeBaseChatName"))
	require.True(t, same("KnowledgeBaseChat.datasets", "KnowledgeBaseChat.datasetIds"))
	require.False(t, same("KnowledgeBaseChat.agents", "KnowledgeBaseChat.connectedAgentCount"))
	require.False(t, same("SubAgent.agent", "SubAgent.parent"))
	require.False(t, same("AgentConsumption.agent", "AgentTestExecution.agent"))
}
