package db

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// CompanyType is the type of a company's own id.
const CompanyType = "company"

// Nodes are the rows that have ids of their own, beside the company.
var Nodes = []Rows{
	AgentRows, PromptVersionRows, AgentTestScheduleRows, ToolRows, SubAgentRows, KnowledgeBaseChatRows, DatasetRows, DocumentRows, ChunkRows,
	SimulationChatRows, AgentTestRows, AgentTestFolderRows, AgentTestExecutionRows, AgentTestRunRows, CampaignRows, CampaignItemRows,
}

// Types returns the type of every id that exists, in one statement: ids that were imported do not show what they name.
func (t *Tenant) Types(ctx context.Context, ids []string) (map[string]string, error) {
	nodes := []struct{ Type, ID string }{}
	union := t.db.NewSelect().Model((*model.Company)(nil)).ColumnExpr("? AS type, id", CompanyType).
		Where("id = ?", t.companyID).Where("id IN (?)", bun.List(ids))
	for _, r := range Nodes {
		union = union.UnionAll(t.find(r.none).ColumnExpr("? AS type, ?TableAlias.id", r.typeName).Where("?TableAlias.id IN (?)", bun.List(ids)))
	}
	if err := t.db.NewSelect().TableExpr("(?) AS node", union).Column("type", "id").Scan(ctx, &nodes); err != nil {
		return nil, translate(err)
	}
	types := make(map[string]string, len(nodes))
	for _, n := range nodes {
		types[n.ID] = n.Type
	}
	return types, nil
}
