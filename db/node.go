package db

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

// CompanyType is the type of a company's own id.
const CompanyType = "company"

// Nodes are the rows that have ids of their own, beside the company.
var Nodes = []Rows{
	AgentRows, PromptVersionRows, AgentTestScheduleRows, ToolRows, SubAgentRows, KnowledgeBaseChatRows, DatasetRows, DocumentRows, ChunkRows,
	SimulationChatRows, AgentTestRows, AgentTestFolderRows, AgentTestExecutionRows, AgentTestRunRows, CampaignRows, CampaignItemRows,
}

// Types returns the type of every id that exists, in one statement: ids that were imported do not show what they name. The statement
// looks into every table, so it is planned once on each connection and not each time.
func (t *Tenant) Types(ctx context.Context, ids []string) (map[string]string, error) {
	types := make(map[string]string, len(ids))
	if len(ids) == 0 {
		return types, nil
	}
	f := t.store.findings.of("types", func() *finding { return &finding{statement: typesOf(t.store)} })
	err := t.Read(ctx, []Read{{Statement: f.statement, Keys: ids}}, func(_ int, values [][]byte) error {
		types[string(values[1])] = string(values[0])
		return nil
	})
	return types, err
}

func typesOf(s *Store) Statement {
	const isOne = "?TableAlias.id = ANY (?)"
	union := s.db.NewSelect().Model((*model.Company)(nil)).ColumnExpr("?::text AS type, id", CompanyType).
		Where("id = ?", parameter(1)).Where(isOne, parameter(2))
	for _, r := range Nodes {
		union = union.UnionAll(s.own(r.none).ColumnExpr("?::text AS type, ?TableAlias.id", r.typeName).Where(isOne, parameter(2)))
	}
	return statement(union.String())
}
