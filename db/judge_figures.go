package db

import (
	"cmp"
	"context"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// JudgeFigures reads at most labelsOfFigures of an agent's newest labels, and corrected pass rates read at most
// labelsOfCorrection. Both read at most runsOfFigures labeled runs.
const (
	labelsOfFigures    = 2_000
	labelsOfCorrection = 1_000
	runsOfFigures      = 2_000
)

// JudgeFigures returns how well the judges of an agent's tests agree with people, or NOT_FOUND.
func (t *Tenant) JudgeFigures(ctx context.Context, agentID string) ([]*model.JudgeFigures, error) {
	if err := t.db.Exists(ctx, "agent", &agentID, (*model.Agent)(nil)); err != nil {
		return nil, err
	}
	labels := []*model.CriterionLabel{}
	if err := t.db.Select(&labels).Apply(CriterionLabelsOfAgent(agentID).Apply(t.CompanyID())).
		OrderExpr("created_at DESC, id DESC").
		Limit(labelsOfFigures).Scan(ctx); err != nil {
		return nil, err
	}
	labelled, err := t.labelledVerdicts(ctx, labels)
	figures := model.FiguresOf(labelled)
	disagreements := []*model.JudgeDisagreement{}
	for _, f := range figures {
		disagreements = append(disagreements, f.Disagreements...)
	}
	pg.JoinBatch(disagreements)
	return figures, err
}

// passAtOfRun is the score that a run needs to pass, from its own snapshot or the one of its execution. ?0 is the
// company.
const passAtOfRun = `(coalesce(?TableAlias.snapshot->'test', (SELECT kept.definition FROM agent_test_snapshots AS kept
	WHERE kept.company_id = ?0 AND kept.execution_id = ?TableAlias.execution_id AND kept.id = ?TableAlias.tested_id)
	)->>'PassAt')::float8 AS pass_at`

// bareResults are the results of a run's criteria, with only the fields that the figures need.
const bareResults = `(SELECT coalesce(json_agg(json_strip_nulls(json_build_object('criterion', result->'criterion',
		'passed', result->'passed', 'weight', result->'weight', 'doesNotApply', result->'doesNotApply',
		'byProgram', result->'byProgram')) ORDER BY place), '[]')
	FROM json_array_elements(?TableAlias.criteria_results) WITH ORDINALITY AS one (result, place)) AS criteria_results`

// labelledVerdicts returns the judges' verdicts that have one of the labels, newest first.
func (t *Tenant) labelledVerdicts(ctx context.Context, labels []*model.CriterionLabel) ([]model.LabelledVerdict,
	error) {
	byRun, ids := map[string][]*model.CriterionLabel{}, []string{}
	for _, label := range labels {
		if byRun[label.RunID] == nil {
			ids = append(ids, label.RunID)
		}
		byRun[label.RunID] = append(byRun[label.RunID], label)
	}
	if len(ids) == 0 {
		return nil, nil
	}
	rows := []*struct {
		Run    model.AgentTestRun `bun:"embed:"`
		PassAt *float64
	}{}
	err := t.db.SelectColumns((*model.AgentTestRun)(nil), []string{"execution_id", "rejudge_of_id", "status", "error",
		"check_results", "judge_model", "judge_prompt", "is_doubtful"}).
		ColumnExpr(bareResults).ColumnExpr(passAtOfRun, t.CompanyID()).
		Where("(?TableAlias.id = ANY (?0) OR ?TableAlias.rejudge_of_id = ANY (?0))", pgdialect.Array(ids)).
		Where("?TableAlias.status IN (?)", bun.List(judgedStatuses)).
		OrderExpr("?TableAlias.created_at DESC, ?TableAlias.id DESC").Limit(runsOfFigures).Scan(ctx, &rows)
	runs := make([]*model.AgentTestRun, len(rows))
	for i, row := range rows {
		row.Run.Snapshot.Test = model.WeightsOf(&row.Run, row.PassAt)
		runs[i] = &row.Run
	}
	return model.LabelledVerdicts(runs, byRun), err
}

// CorrectedPassRatesOfExecutions returns the corrected pass rate of each execution that has one, by the execution's id.
// It takes at most four statements.
func (t *Tenant) CorrectedPassRatesOfExecutions(ctx context.Context,
	ids []string) (map[string]*model.CorrectedPassRate, error) {
	executions, err := t.AgentTestExecutionsByID(ctx, ids, "agent_id")
	if err != nil {
		return nil, err
	}
	// For an execution with the tests of several agents, only its own labels count.
	targets, agents := map[string][]string{}, []string{}
	for _, execution := range executions {
		groupID := execution.ID
		if execution.AgentID != nil {
			groupID = *execution.AgentID
		}
		if targets[groupID] == nil {
			agents = append(agents, groupID)
		}
		targets[groupID] = append(targets[groupID], execution.ID)
	}
	labels, err := t.sampledLabels(ctx, agents)
	if err != nil || len(labels) == 0 {
		return nil, err
	}
	all, wanted := []*model.CriterionLabel{}, ids
	for _, some := range labels {
		all = append(all, some...)
	}
	labelled, err := t.labelledVerdicts(ctx, all)
	if err != nil {
		return nil, err
	}
	groups := map[string]string{}
	for group, its := range labels {
		for _, label := range its {
			groups[label.RunID] = group
		}
	}
	byGroup := map[string][]model.LabelledVerdict{}
	for _, verdict := range labelled {
		group := groups[verdict.Run.ConversationID()]
		byGroup[group], wanted = append(byGroup[group], verdict), append(wanted, verdict.Run.ExecutionID)
	}
	counts, err := t.verdictCounts(ctx, model.Unique(wanted))
	rates := map[string]*model.CorrectedPassRate{}
	for group, verdicts := range byGroup {
		for id, rate := range model.CorrectRates(ctx, targets[group], counts, verdicts) {
			rates[id] = rate
		}
	}
	return rates, cmp.Or(err, ctx.Err())
}

// sampledLabels returns the newest labels on verdicts that the labeling queue chose, keyed by the ids of agents and
// executions. For an agent, these are the labels on its tests. For an execution, they are the labels in it.
func (t *Tenant) sampledLabels(ctx context.Context, groups []string) (map[string][]*model.CriterionLabel, error) {
	rows := []*struct {
		Label model.CriterionLabel `bun:"embed:"`
		Of    string
	}{}
	ofEach := t.db.Select((*model.AgentTestExecution)(nil)).Column("id").
		Where("(?TableAlias.agent_id = parent.id OR ?TableAlias.id = parent.id)")
	newest := t.db.Select((*model.CriterionLabel)(nil)).Where("is_sampled").
		Where("execution_id IN (?)", ofEach).OrderExpr("created_at DESC, id DESC").Limit(labelsOfCorrection)
	err := t.db.NewSelect().TableExpr("unnest(?::text[]) AS parent (id)", pgdialect.Array(groups)).
		ColumnExpr("parent.id AS of, label.*").Join("CROSS JOIN LATERAL (?) AS label", newest).Scan(ctx, &rows)
	labels := map[string][]*model.CriterionLabel{}
	for _, row := range rows {
		labels[row.Of] = append(labels[row.Of], &row.Label)
	}
	return labels, err
}

// verdictCounts counts the verdicts in executions, by judge.
func (t *Tenant) verdictCounts(ctx context.Context, ids []string) ([]*model.VerdictCounts, error) {
	counts := []*model.VerdictCounts{}
	err := t.db.Select((*model.AgentTestRun)(nil)).
		ColumnExpr("execution_id, judge_model, judge_prompt, status, is_doubtful, count(*) AS runs").
		Where("execution_id = ANY (?)", pgdialect.Array(ids)).
		Where("status IN (?)", bun.List(judgedStatuses)).
		GroupExpr("execution_id, judge_model, judge_prompt, status, is_doubtful").Scan(ctx, &counts)
	return counts, err
}
