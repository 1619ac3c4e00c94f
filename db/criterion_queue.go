package db

import (
	"context"
	"fmt"
	"strings"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// queuedRuns is how many of an agent's newest judged runs a queue reads.
const queuedRuns = 1_000

// CriterionQueue returns the verdicts that a person should label next. It returns NOT_FOUND if the agent does not
// exist.
func (t *Tenant) CriterionQueue(ctx context.Context, args model.CriterionQueueArgs) (*model.CriterionQueue, error) {
	if err := args.Validate(); err != nil {
		return nil, err
	}
	if err := t.db.Exists(ctx, "agent", &args.AgentID, (*model.Agent)(nil)); err != nil {
		return nil, err
	}
	person := ""
	if args.Person != nil {
		person = strings.TrimSpace(*args.Person)
	} else {
		name, err := t.nameOfKey(ctx)
		if err != nil {
			return nil, err
		}
		person = name
	}
	return t.queue(ctx, args, person)
}

// queueOrder is the place of a run. Two doubtful runs are followed by one other run. Doubtful runs, and other runs, are
// each in a random order that never changes: by hash, the MD5 of their ids. Runs that another person has labeled come
// last, except three of sixteen, whose hash begins with a digit below 3.
const queueOrder = `CASE WHEN is_doubtful THEN nth + (nth - 1) / 2 ELSE 3 * nth END`

func (t *Tenant) queue(ctx context.Context, args model.CriterionQueueArgs,
	person string) (*model.CriterionQueue, error) {
	// The limit makes Postgres look up each execution, instead of reading all snapshots of the company.
	executions := t.db.Select((*model.AgentTestExecution)(nil)).Column("id").Where(`agent_id = ?0 OR agent_id IS NULL
		AND (SELECT true FROM agent_test_snapshots AS test WHERE test.company_id = ?1
			AND test.execution_id = ?TableAlias.id AND test.agent_id = ?0 LIMIT 1)`, args.AgentID, t.CompanyID())
	judged := t.db.Select((*model.AgentTestRun)(nil)).Column("id", "criteria_results").
		ColumnExpr("coalesce(?TableAlias.is_doubtful, false) AS is_doubtful, md5(?TableAlias.id) AS hash").
		Where("execution_id = ANY (ARRAY(?))", executions).Where("rejudge_of_id IS NULL").
		Where(fmt.Sprintf(testsAgent, "?TableAlias"), args.AgentID, t.CompanyID()).
		Where("status IN (?)", bun.List(judgedStatuses)).
		Where("(judge_model IS NOT NULL OR is_doubtful IS NULL)").OrderExpr("created_at DESC, id DESC").Limit(queuedRuns)
	labels := t.db.Select((*model.CriterionLabel)(nil)).Column("run_id", "criterion", "person", "is_sampled").
		Where("run_id IN (SELECT id FROM judged)")
	entries := []struct {
		model.CriterionQueueEntry
		Total int32
	}{}
	err := t.db.NewSelect().With("judged", judged).With("labels", labels).
		With("ordered", t.db.NewRaw(`SELECT judged.*, row_number() OVER (PARTITION BY is_doubtful ORDER BY hash) AS nth,
			EXISTS (SELECT 1 FROM labels WHERE labels.run_id = judged.id AND labels.person <> ?0) AS is_seen,
			EXISTS (SELECT 1 FROM json_array_elements(criteria_results) AS vote (result)
				WHERE (result->>'agreement')::float8 < 1) AS is_split FROM judged`, person)).
		With("queued", t.db.NewRaw(`SELECT ordered.*, result, place, result->>'criterion' AS criterion FROM ordered
			CROSS JOIN LATERAL json_array_elements(criteria_results) WITH ORDINALITY AS one (result, place)
			WHERE coalesce(result->>'byProgram', 'false') = 'false' AND NOT EXISTS (SELECT 1 FROM labels
				WHERE labels.run_id = ordered.id AND labels.criterion = result->>'criterion' AND labels.person = ?0
					AND labels.is_sampled)`, person)).
		TableExpr("queued").ColumnExpr(`id AS run_id, criterion, coalesce(result->>'expected', criterion) AS expected,
			(result->>'passed')::boolean AS passed, result->>'rationale' AS rationale,
			coalesce(result->>'doesNotApply', 'false') = 'false' AS applies, (SELECT count(*) FROM queued) AS total`).
		ColumnExpr(`CASE WHEN is_doubtful AND is_split THEN ?0 WHEN is_doubtful THEN ?1
			WHEN EXISTS (SELECT 1 FROM labels WHERE labels.run_id = queued.id AND labels.criterion = queued.criterion
				AND labels.person <> ?3) THEN ?2 ELSE ?4 END AS reason`,
			model.CriterionQueueReasonVotesDisagree, model.CriterionQueueReasonNearBorder,
			model.CriterionQueueReasonSeenByOthers, person, model.CriterionQueueReasonNeverSeen).
		OrderExpr("is_seen AND left(hash, 1) >= '3', "+queueOrder+", id, place").
		Limit(int64(args.First)).Offset(int64(args.Offset)).Scan(ctx, &entries)
	queue := &model.CriterionQueue{Entries: []*model.CriterionQueueEntry{}}
	for i := range entries {
		entry := &entries[i].CriterionQueueEntry
		if queue.TotalCount = entries[i].Total; args.IsBlind {
			entry.Passed, entry.Applies, entry.Rationale = nil, nil, nil
		}
		queue.Entries = append(queue.Entries, entry)
	}
	// The total is a column of the entries. If there are none, read it with the first entry of the queue.
	if err == nil && len(entries) == 0 && args.Offset > 0 {
		args.Offset, args.First = 0, 1
		whole, err := t.queue(ctx, args, person)
		return &model.CriterionQueue{Entries: queue.Entries, TotalCount: whole.TotalCount}, err
	}
	pg.JoinBatch(queue.Entries)
	return queue, err
}
