package db

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// Kinds returns the noun of every id that exists, in one statement: ids that were imported do not
// show what they name. A company's own id is of the kind company.
func (t *Tenant) Kinds(ctx context.Context, ids []string) (map[string]string, error) {
	kinds := []struct{ Kind, ID string }{}
	union := t.db.NewSelect().Model((*model.Company)(nil)).ColumnExpr("'company' AS kind, id").
		Where("id = ?", t.companyID).Where("id IN (?)", bun.List(ids))
	for kind, row := range map[string]any{
		"agent": (*model.Agent)(nil), "promptVersion": (*model.PromptVersion)(nil), "tool": (*model.Tool)(nil),
		"subAgent": (*model.SubAgent)(nil), "knowledgeBaseChat": (*model.KnowledgeBaseChat)(nil),
		"dataset": (*model.Dataset)(nil), "document": (*model.Document)(nil), "chunk": (*model.Chunk)(nil), "simulationChat": (*model.SimulationChat)(nil),
		"agentTest": (*model.AgentTestRow)(nil), "agentTestFolder": (*model.AgentTestFolder)(nil),
		"agentTestExecution": (*model.AgentTestExecution)(nil), "agentTestRun": (*model.AgentTestRun)(nil),
		"campaign": (*model.Campaign)(nil), "campaignItem": (*model.CampaignItem)(nil),
	} {
		union = union.UnionAll(t.find(row).ColumnExpr("? AS kind, ?TableAlias.id", kind).Where("?TableAlias.id IN (?)", bun.List(ids)))
	}
	if err := t.db.NewSelect().TableExpr("(?) AS node", union).Column("kind", "id").Scan(ctx, &kinds); err != nil {
		return nil, translate(err)
	}
	found := make(map[string]string, len(kinds))
	for _, k := range kinds {
		found[k.ID] = k.Kind
	}
	return found, nil
}
