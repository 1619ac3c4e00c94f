package db

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// CompanyNoun is the noun of a company's own id.
const CompanyNoun = "company"

// Nodes are the rows that have ids of their own, beside the company.
var Nodes = []Rows{
	AgentRows, PromptVersionRows, ToolRows, SubAgentRows, KnowledgeBaseChatRows, DatasetRows, DocumentRows, ChunkRows,
	SimulationChatRows, AgentTestRows, AgentTestFolderRows, AgentTestExecutionRows, AgentTestRunRows, CampaignRows, CampaignItemRows,
}

// Nouns returns the noun of every id that exists, in one statement: ids that were imported do not show what they name.
func (t *Tenant) Nouns(ctx context.Context, ids []string) (map[string]string, error) {
	nodes := []struct{ Noun, ID string }{}
	union := t.db.NewSelect().Model((*model.Company)(nil)).ColumnExpr("? AS noun, id", CompanyNoun).
		Where("id = ?", t.companyID).Where("id IN (?)", bun.List(ids))
	for _, r := range Nodes {
		union = union.UnionAll(t.find(r.none).ColumnExpr("? AS noun, ?TableAlias.id", r.noun).Where("?TableAlias.id IN (?)", bun.List(ids)))
	}
	if err := t.db.NewSelect().TableExpr("(?) AS node", union).Column("noun", "id").Scan(ctx, &nodes); err != nil {
		return nil, translate(err)
	}
	nouns := make(map[string]string, len(nodes))
	for _, n := range nodes {
		nouns[n.ID] = n.Noun
	}
	return nouns, nil
}
