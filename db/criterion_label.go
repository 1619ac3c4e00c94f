package db

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// Lists of a company's labels: in pages, and by the runs whose conversations they judge.
var (
	CriterionLabelList = pg.List{Model: (*model.CriterionLabel)(nil), Order: pg.NewestFirst}
	LabelsOfRuns       = pg.Rows{Model: (*model.CriterionLabel)(nil), Key: "?TableAlias.run_id",
		Order: "?TableAlias.created_at, ?TableAlias.id"}
)

// CriterionLabelsOfAgent narrows a list to the labels on tests of the agent.
func CriterionLabelsOfAgent(agentID string) pg.Filter {
	return pg.Filter(nil).And("EXISTS (SELECT 1 FROM agent_test_runs AS run WHERE run.company_id = ?1 "+
		"AND run.id = ?TableAlias.run_id AND "+fmt.Sprintf(testsAgent, "run")+")", agentID)
}

// testsAgent is the condition that the run %[1]s tested the agent ?0. ?1 is the company. Old runs have copies of their
// agent and test, and other runs share the snapshots of their execution. An execution of several agents has no agent.
const testsAgent = `coalesce(%[1]s.snapshot->'agent'->>'ID', (SELECT test.agent_id FROM agent_test_snapshots AS test
	WHERE test.company_id = ?1 AND test.execution_id = %[1]s.execution_id AND test.id = %[1]s.tested_id)) = ?0`

// CriterionLabels returns a page of the labels on tests of an agent, newest first, or NOT_FOUND.
func (t *Tenant) CriterionLabels(ctx context.Context, args model.PageArgs, agentID string,
	columns ...string) (*model.Page[*model.CriterionLabel], error) {
	if err := t.db.Exists(ctx, "agent", &agentID, (*model.Agent)(nil)); err != nil {
		return nil, err
	}
	return pg.Page[*model.CriterionLabel](ctx, t.db, CriterionLabelList, args, columns, CriterionLabelsOfAgent(agentID))
}

// LabelCriterionResult saves a person's label. It replaces an earlier label of the same person. It returns NOT_FOUND if
// the run does not exist, and UNPROCESSABLE if the judge did not decide the criterion.
func (t *Tenant) LabelCriterionResult(ctx context.Context,
	in model.LabelCriterionResultInput) (*model.CriterionLabel, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	labels, err := t.label(ctx, []*model.LabelCriterionResultInput{&in}, func(int) string { return "" })
	if err != nil {
		return nil, err
	}
	return labels[0], nil
}

// LabelCriterionResults saves labels in one transaction, with the errors of LabelCriterionResult.
func (t *Tenant) LabelCriterionResults(ctx context.Context,
	in model.LabelCriterionResultsInput) ([]*model.CriterionLabel, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	return t.label(ctx, in.Labels, func(i int) string { return fmt.Sprintf("labels.%d.", i) })
}

func (t *Tenant) label(ctx context.Context, given []*model.LabelCriterionResultInput,
	path func(int) string) (labels []*model.CriterionLabel, err error) {
	return labels, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		labels = nil // an attempt that was rolled back may have set them
		caller, err := t.caller(ctx, given)
		if err != nil {
			return err
		}
		runs, err := t.runsToLabel(ctx, given)
		if err != nil {
			return err
		}
		at := now()
		known := map[[3]string]int{}
		for i, in := range given {
			run := runs[in.RunID]
			label, err := in.Label(path(i), run, runs[run.ConversationID()], caller, at)
			if err != nil {
				return err
			}
			key := [3]string{label.RunID, label.Digest, label.Person}
			if first, isTwice := known[key]; isTwice {
				var faults model.Fields
				faults.Add(path(i)+"criterion", "is labeled by the same person in labels.%d: give each label once", first)
				return faults.Err()
			}
			known[key] = i
			label.OwnBy(t.CompanyID())
			labels = append(labels, label)
		}
		_, err = t.db.NewInsert().Model(&labels).On("CONFLICT (company_id, run_id, digest, person) DO UPDATE").
			Set("holds = excluded.holds").Set("note = excluded.note").Set("updated_at = excluded.updated_at").
			Set("is_sampled = ?TableAlias.is_sampled OR excluded.is_sampled").Returning("*").Exec(ctx)
		if err != nil {
			return err
		}
		return t.boundLabels(ctx, labels)
	})
}

// caller returns the name of the API key, if one of the labels needs it.
func (t tenantTx) caller(ctx context.Context, given []*model.LabelCriterionResultInput) (string, error) {
	if !slices.ContainsFunc(given, func(in *model.LabelCriterionResultInput) bool { return in.Person == nil }) {
		return "", nil
	}
	return t.nameOfKey(ctx)
}

// nameOfKey returns the name of the API key of the request, or BAD_INPUT if there is none.
func (t *Tenant) nameOfKey(ctx context.Context) (string, error) {
	if t.keyID == nil {
		var faults model.Fields
		faults.Add("person", "must be given, because the request has no API key whose name could be used")
		return "", faults.Err()
	}
	key, err := t.APIKey(ctx, *t.keyID)
	return key.Name, err
}

// runsToLabel returns the runs of the input, by id. For a rejudgment, it also returns the original run. It locks the
// original runs, and the given runs that are not rejudgments.
func (t tenantTx) runsToLabel(ctx context.Context,
	given []*model.LabelCriterionResultInput) (map[string]*model.AgentTestRun, error) {
	ids := model.Map(given, func(in *model.LabelCriterionResultInput) string { return in.RunID })
	runs := []*model.AgentTestRun{}
	read := func(ids []string) *bun.SelectQuery {
		return t.db.Select(&runs).Column("id", "execution_id", "rejudge_of_id", "status", "criteria_results").
			Where("?TableAlias.id IN (?)", bun.List(model.Unique(ids))).Order("id")
	}
	if err := read(ids).Scan(ctx); err != nil {
		return nil, err
	}
	found, err := inOrder(agentTestRun, ids, runs)
	if err != nil {
		return nil, err
	}
	byID, conversations := rowsByID(found), make([]string, len(found))
	for i, run := range found {
		conversations[i] = run.ConversationID()
	}
	runs = []*model.AgentTestRun{}
	err = read(conversations).For(string(forUpdate)).Scan(ctx)
	for _, run := range runs {
		byID[run.ID] = run
	}
	for _, id := range conversations {
		if err == nil && byID[id] == nil {
			err = model.Missing(agentTestRun, id)
		}
	}
	return byID, err
}

// boundLabels returns UNPROCESSABLE if too many people labeled one of the criteria.
func (t tenantTx) boundLabels(ctx context.Context, labels []*model.CriterionLabel) error {
	runs, digests := make([]string, len(labels)), make([]string, len(labels))
	for i, label := range labels {
		runs[i], digests[i] = label.RunID, label.Digest
	}
	crowded, err := t.db.Select((*model.CriterionLabel)(nil)).ColumnExpr("1").Where("run_id IN (?)", bun.List(runs)).
		Where("digest IN (?)", bun.List(digests)).Group("run_id", "digest").
		Having("count(*) > ?", model.MaxLabelsOfVerdict).Exists(ctx)
	if err == nil && crowded {
		var faults model.Fields
		faults.Add("person", "cannot label this verdict: %d people have labeled it, the maximum", model.MaxLabelsOfVerdict)
		err = faults.As(model.Unprocessable)
	}
	return err
}
