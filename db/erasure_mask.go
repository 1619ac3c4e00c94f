package db

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/uptrace/bun"
	bunschema "github.com/uptrace/bun/schema"

	"github.com/agentgraph/agentgraph/model"
)

// maskedTable is a table in whose rows nines replace the number.
type maskedTable struct {
	name string
	// columns have texts, by their type: json, jsonb or text.
	columns map[string][]string
	// condition selects rows that are complete and that people cannot edit.
	condition string
	// counted counts the rows.
	counted *int64
}

// maskedTables returns the tables with ids, in an order that keeps the criteria of labels equal to the criteria of
// their runs.
func maskedTables(erased *model.Erasure) []maskedTable {
	const finished = "finished_at IS NOT NULL"
	return []maskedTable{
		{"agent_test_runs", map[string][]string{
			"json": {"messages", "tool_calls", "snapshot", "criteria_results", "check_results", "classification_result",
				"error", "held", "row_values", "extracted"},
			"text": {"row_key", "row_name", "extraction_error", "test_name"},
		}, finished, &erased.Runs},
		{"agent_test_executions", map[string][]string{"jsonb": {"left_out_tests", "variants"}, "text": {"draft_prompt"}},
			finished, &erased.Executions},
		{"criterion_labels", map[string][]string{"text": {"criterion", "note"}}, "true", &erased.Labels},
		{"prompt_versions", map[string][]string{"text": {"prompt", "note"}}, `EXISTS (SELECT 1 FROM prompt_versions AS newer
			WHERE newer.company_id = ?TableAlias.company_id AND newer.agent_id = ?TableAlias.agent_id
			AND newer.version > ?TableAlias.version)`, &erased.PromptVersions},
	}
}

// eraseFrom replaces the number in the rows among the ids, and returns the ids of the rows that contained it.
func (e erasure) eraseFrom(ctx context.Context, t *Tenant, m maskedTable, ids []string) (found []string, err error) {
	row := archivedTableOf(m.name).row
	texts := slices.Concat(m.columns["json"], m.columns["jsonb"], m.columns["text"])
	err = t.db.Select(row).Column("id").Where("id IN (?)", bun.List(ids)).Where(m.condition).
		Where("?", e.in("concat_ws(' ', "+strings.Join(texts, ", ")+")")).Order("id").Scan(ctx, &found)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	err = e.numberKeys(ctx, t, m.name, bun.SafeQuery("id IN (?)", bun.List(found)), m.columns["json"]...)
	if err != nil {
		return nil, err
	}
	update := t.db.Update(row).Where("id IN (?)", bun.List(found))
	for kind, columns := range m.columns {
		for _, column := range columns {
			update = update.Set("?0 = regexp_replace(?0::text, ?1, ?2, 'g')::?3", bun.Ident(column), e.Pattern, e.Nines,
				bun.Safe(kind))
		}
	}
	return found, exec(ctx, update)
}

// inKey matches the rest of the name of a JSON object's member.
const inKey = `(?=(?:[^"\\]|\\.)*"\s*:)`

// numberKeys replaces the number in the names of members of JSON objects, in a text with several such names. It numbers
// the replacements, because two spellings of the number in one object would become the same name. It leaves the last
// name of each text. Postgres 14 has neither regexp_count nor a replacement of only the second match.
func (e erasure) numberKeys(ctx context.Context, t *Tenant, table string, rows bunschema.QueryWithArgs,
	columns ...string) error {
	if strings.HasSuffix(e.Number, e.Nines) {
		return nil // the replacement would match again
	}
	for _, column := range columns {
		for n := 2; ; n++ {
			result, err := t.db.NewRaw(`UPDATE ?0 SET ?1 = regexp_replace(?1::text, ?2, ?3)::json
				WHERE company_id = ?4 AND ?5 AND ?1::text ~ ?6 AND cardinality(regexp_split_to_array(?1::text, ?2)) > 2`,
				bun.Ident(table), bun.Ident(column), e.Pattern+inKey, e.Nines+"-"+strconv.Itoa(n), t.CompanyID(), rows,
				e.Ending).Exec(ctx)
			if err != nil {
				return err
			}
			if changed, err := result.RowsAffected(); err != nil || changed == 0 {
				return err
			}
		}
	}
	return nil
}

// eraseFromSnapshots replaces the number in the snapshots of finished executions among the ids, and returns how many
// contained it.
func (e erasure) eraseFromSnapshots(ctx context.Context, t *Tenant, ids []string) (int64, error) {
	finished := t.db.Select((*model.AgentTestExecution)(nil)).Column("id").Where("id IN (?)", bun.List(ids)).
		Where("finished_at IS NOT NULL")
	err := e.numberKeys(ctx, t, "agent_test_snapshots", bun.SafeQuery("execution_id IN (?)", finished), "definition")
	if err != nil {
		return 0, err
	}
	result, err := t.db.NewRaw(`UPDATE agent_test_snapshots
		SET definition = regexp_replace(definition::text, ?1, ?2, 'g')::json
		WHERE company_id = ?0 AND execution_id IN (?3) AND ?4`,
		t.CompanyID(), e.Pattern, e.Nines, finished, e.in("definition::text")).Exec(ctx)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
