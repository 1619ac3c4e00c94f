package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/db/schema"
	"github.com/agentgraph/agentgraph/model"
)

// complete derives further rows, and checks the rules that concern several rows.
func (i *CompanyImport) complete(ctx context.Context) error {
	if err := i.checkReferences(ctx); err != nil {
		return err
	}
	for _, statement := range derived {
		if _, err := i.tenant.db.NewRaw(statement, i.tenant.CompanyID()).Exec(ctx); err != nil {
			return fmt.Errorf("compute the sums of the archive: %w", err)
		}
	}
	if err := i.writeFirstVersions(ctx); err != nil {
		return err
	}
	for _, rule := range i.rules() {
		broken := []string{}
		if err := i.tenant.db.NewRaw(rule.query, i.tenant.CompanyID()).Scan(ctx, &broken); err != nil {
			return err
		}
		if len(broken) > 0 {
			return model.Errorf(model.BadInput, "%s: %s", broken[0], rule.says)
		}
	}
	return i.indexDocuments(ctx)
}

// derived lists statements that derive rows and counters from the imported rows. Their argument is the company.
var derived = []string{
	`INSERT INTO usage_days (company_id, day, channel, agent_id, campaign_id, micro_credits, entries)
		SELECT company_id, (at AT TIME ZONE 'UTC')::date AS day, channel, agent_id, campaign_id, sum(micro_credits), count(*)
		FROM usage_entries WHERE company_id = ? GROUP BY company_id, day, channel, agent_id, campaign_id`,
	`INSERT INTO usage_months (company_id, month, channel, agent_id, campaign_id, micro_credits, entries)
		SELECT company_id, date_trunc('month', day::timestamp)::date AS month, channel, agent_id, campaign_id,
			sum(micro_credits), sum(entries)
		FROM usage_days WHERE company_id = ? GROUP BY company_id, month, channel, agent_id, campaign_id`,
	`INSERT INTO stored_bytes (company_id, kind, bytes)
		SELECT company_id, '` + storedDocuments + `', sum(size) FROM documents WHERE company_id = ? GROUP BY company_id`,
	`INSERT INTO dataset_terms (company_id, dataset_id, term, chunks)
		SELECT company_id, dataset_id, term, count(*) FROM chunks CROSS JOIN LATERAL unnest(tsvector_to_array(search)) AS term
		WHERE company_id = ? GROUP BY company_id, dataset_id, term`,
	`UPDATE campaigns AS campaign SET version = greatest(version, (SELECT coalesce(max(version), 0) FROM campaign_items
		WHERE campaign_items.company_id = ?0 AND campaign_id = campaign.id)) WHERE campaign.company_id = ?0`,
	"UPDATE campaigns AS campaign SET counted_at = version + coalesce(revision, 0), item_counts = (" + countItems +
		") WHERE campaign.company_id = ?0",
	"UPDATE agent_test_executions AS agent_test_execution SET " + schema.EndsOfRuns("?0") +
		" WHERE company_id = ?0 AND finished_at IS NOT NULL",
}

// rule is a query that selects violations of a rule between rows, as texts that describe them.
type rule struct{ query, says string }

func (i *CompanyImport) rules() []rule {
	most := func(table, column string, limit int, what string) rule {
		return rule{fmt.Sprintf("SELECT '%[2]s ' || %[2]s FROM %[1]s WHERE company_id = ? GROUP BY %[2]s HAVING count(*) > "+
			"%[3]d LIMIT 1", table, column, limit),
			fmt.Sprintf("must have at most %d %s", limit, what)}
	}
	var ids []string
	for _, r := range Nodes {
		ids = append(ids, "SELECT id FROM "+i.tenant.store.Table(r.Row())+" WHERE company_id = ?0")
	}
	return slices.Concat(contentRules, []rule{
		most("agent_tools", "agent_id", model.MaxConnections, "tools"), most("sub_agents", "agent_id", model.MaxConnections,
			"sub-agents"),
		most("documents", "dataset_id", model.MaxDocuments, "documents"),
		most("agent_test_folders", "agent_id", model.MaxFolders, "folders"),
		{"SELECT 'id ' || id FROM (" + strings.Join(ids, " UNION ALL ") + ") AS node GROUP BY id HAVING count(*) > 1 LIMIT 1",
			"must be unique among the ids of all types"},
	})
}

var contentRules = []rule{
	{`SELECT 'document ' || id FROM documents WHERE company_id = ?0 AND size <> coalesce((SELECT sum(octet_length(content))
		FROM document_contents
		WHERE company_id = ?0 AND document_id = documents.id), 0) LIMIT
			1`, "must have a file in the archive, with as many bytes as its size"},
	{`SELECT 'document ' || id FROM documents WHERE company_id = ?0 AND chunk_count <> (SELECT count(*) FROM chunks
		WHERE company_id = ?0 AND document_id = documents.id) LIMIT
			1`, "chunk_count must be the number of its chunks in the archive"},
	{`SELECT 'agent ' || agents.id FROM agents LEFT JOIN prompt_versions AS current ON current.company_id =
		agents.company_id
		AND current.agent_id = agents.id AND current.version = agents.prompt_version
		WHERE agents.company_id = ?0 AND current.prompt IS DISTINCT FROM agents.prompt LIMIT
			1`, "prompt must be the prompt of the version in prompt_version"},
	{`SELECT 'agent ' || agent_id FROM agent_tools JOIN sub_agents USING (company_id, agent_id) WHERE company_id = ?0
		AND sub_agents.technical_name = (SELECT technical_name FROM tools WHERE tools.company_id = ?0
			AND tools.id = tool_id) LIMIT 1`,
		"a tool and a sub-agent must not have the same technical_name"},
	{`SELECT 'knowledge base chat ' || id FROM knowledge_base_chats AS chat WHERE company_id = ?0
		AND position('{knowledge}' IN prompt_settings ->> 'prompt') = 0
		AND EXISTS (SELECT 1 FROM knowledge_base_chat_datasets WHERE company_id = ?0 AND chat_id = chat.id) LIMIT 1`,
		"prompt_settings.prompt must contain {knowledge} when a dataset is connected"},
	{`SELECT 'simulation chat ' || id FROM simulation_chats AS chat WHERE company_id = ?0
		AND last_sequence <> (SELECT coalesce(max(sequence), 0)
		FROM simulation_chat_messages WHERE company_id = ?0 AND chat_id = chat.id) LIMIT
			1`, "last_sequence must be the sequence of its last message"},
	{`SELECT 'execution ' || id FROM agent_test_executions AS execution WHERE company_id = ?0
		AND unfinished <> (SELECT count(*)
		FROM agent_test_runs WHERE company_id = ?0 AND execution_id = execution.id AND finished_at IS NULL) LIMIT 1`,
		"unfinished must be the number of its unfinished runs"},
	{`SELECT 'run ' || id FROM agent_test_runs AS run WHERE company_id = ?0 AND snapshot IS NULL AND NOT EXISTS (SELECT 1
		FROM agent_test_snapshots AS test JOIN agent_test_snapshots AS agent ON agent.company_id = test.company_id
			AND agent.execution_id = test.execution_id AND agent.id = test.agent_id || coalesce('/' || run.variant, '')
		WHERE test.company_id = ?0 AND test.execution_id = run.execution_id AND test.id = run.tested_id) LIMIT 1`,
		"must have a snapshot, or its execution must have the snapshots of its test and agent"},
	{`SELECT 'campaign ' || campaign_id FROM campaign_items JOIN campaigns ON campaigns.company_id =
		campaign_items.company_id AND campaigns.id = campaign_id
		WHERE campaign_items.company_id = ?0 AND campaign_items.version > campaigns.version LIMIT
			1`, "version must be at least the version of each of its items"},
	{`SELECT 'campaign item ' || id FROM campaign_items AS item WHERE company_id = ?0 AND event_count <> (SELECT count(*)
		FROM campaign_item_events WHERE company_id = ?0 AND item_id = item.id) LIMIT
			1`, "event_count must be the number of its events"},
}

// versionsPage is how many agents get their first version at a time.
const versionsPage = 100

// writeFirstVersions stores the prompt of each agent whose prompt versions are not in the archive.
func (i *CompanyImport) writeFirstVersions(ctx context.Context) error {
	for {
		agents := []*model.Agent{}
		err := i.tenant.db.Select(&agents).Column("id", "prompt", "prompt_version", "updated_at").
			Where("NOT EXISTS (SELECT 1 FROM prompt_versions WHERE company_id = ?TableAlias.company_id AND agent_id = " +
				"?TableAlias.id)").Limit(versionsPage).Scan(ctx)
		if err != nil || len(agents) == 0 {
			return err
		}
		versions := make([]*model.PromptVersion, len(agents))
		for n, a := range agents {
			versions[n] = &model.PromptVersion{ID: model.NewID("prompt"), AgentID: a.ID, Version: a.PromptVersion,
				Prompt: a.Prompt, CreatedAt: a.UpdatedAt}
		}
		if err := pg.Insert(ctx, i.tenant.db, versions...); err != nil {
			return err
		}
	}
}

// indexDocuments enqueues documents that are not indexed and have no job.
func (i *CompanyImport) indexDocuments(ctx context.Context) error {
	waiting := func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("status IN (?, ?)", model.DocumentStatusPending, model.DocumentStatusIndexing).
			Where("NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.company_id = ?TableAlias.company_id AND jobs.id = " +
				"?TableAlias.indexing_id)")
	}
	datasets := []string{}
	if err := i.tenant.db.Select((*model.Document)(nil)).ColumnExpr("DISTINCT dataset_id").Apply(waiting).
		Scan(ctx, &datasets); err != nil {
		return err
	}
	var err error
	for _, id := range datasets {
		err = errors.Join(err, i.tenant.reindex(ctx, id, waiting))
	}
	return err
}
