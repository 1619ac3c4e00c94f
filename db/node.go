package db

import (
	"context"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// CompanyType is the type name for the id of a company.
const CompanyType = "company"

// Nodes are all types of rows with ids, except the company.
var Nodes = []pg.Rows{
	AgentRows, PromptVersionRows, AgentTestScheduleRows, ToolRows, SubAgentRows, KnowledgeBaseChatRows, DatasetRows,
	DocumentRows, ChunkRows,
	SimulationChatRows, AgentTestRows, AgentTestFolderRows, AgentTestExecutionRows, AgentTestRunRows, CampaignRows,
	CampaignItemRows, McpServerRows,
}

// Types returns the type of each id that exists, in one statement, because imported ids do not show their type. The
// statement reads every table, so it is prepared once on each connection.
func (t *Tenant) Types(ctx context.Context, ids []string) (map[string]string, error) {
	types := make(map[string]string, len(ids))
	if len(ids) == 0 {
		return types, nil
	}
	nodes := []*node{}
	if err := t.db.Query(ctx, pg.Bind(nodeTypesQuery, &nodes, ids)); err != nil {
		return nil, err
	}
	for _, n := range nodes {
		types[n.ID] = n.Type
	}
	return types, nil
}

// idsOf returns the ids of rows, in order.
func idsOf[R model.Node](rows []R) []string {
	return model.Map(rows, func(row R) string { return row.Cursor().ID })
}

// rowsByID returns a map of the rows by id.
func rowsByID[R model.Node](rows []R) map[string]R {
	return model.MapOf(rows, func(row R) (string, R) { return row.Cursor().ID, row })
}

// inOrder returns the rows in the order of the ids. If no row has one of the ids, it returns NOT_FOUND with that id.
func inOrder[R model.Node](typeName string, ids []string, rows []R) ([]R, error) {
	byID := rowsByID(rows)
	ordered := make([]R, len(ids))
	for i, id := range ids {
		row, found := byID[id]
		if !found {
			return nil, model.Missing(typeName, id)
		}
		ordered[i] = row
	}
	return ordered, nil
}

type node struct{ Type, ID string }

var nodeTypesQuery = pg.NewQuery(func(t *pg.Tables) (string, []string) {
	const isOne = "?TableAlias.id = ANY (?)"
	union := t.NewSelect().Model((*model.Company)(nil)).ColumnExpr("?::text AS type, id", CompanyType).
		Where("id = ?", pg.Param(1)).Where(isOne, pg.Param(2))
	for _, r := range Nodes {
		union = union.UnionAll(t.Select(r.Model).ColumnExpr("?::text AS type, ?TableAlias.id", r.Type).
			Where(isOne, pg.Param(2)))
	}
	return union.String(), []string{"type", "id"}
})
