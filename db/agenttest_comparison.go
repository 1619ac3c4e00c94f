package db

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// CompareAgentTestExecutions compares the current state of an execution, the head, with the states of others, the
// bases. It drops duplicate bases. It returns BAD_INPUT when there are too many bases, and NOT_FOUND when an execution
// does not exist. It returns UNPROCESSABLE when an execution lacks the given variant, or has variants and none is
// given. It takes two statements, whatever the number of tests.
func (t *Tenant) CompareAgentTestExecutions(
	ctx context.Context, baseIDs []string, headID string, variants model.ComparedVariants,
	correction model.AgentTestCorrection,
) (*model.AgentTestComparison, error) {
	if err := model.CheckBases(baseIDs); err != nil {
		return nil, err
	}
	ids := append(slices.Clone(baseIDs), headID)
	executions, err := t.AgentTestExecutionsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	if executions, err = inOrder(agentTestExecution, ids, executions); err != nil {
		return nil, err
	}
	executions, head := executions[:len(baseIDs)], executions[len(baseIDs)]
	for _, base := range executions {
		if err := variants.Check(base, head); err != nil {
			return nil, err
		}
	}
	tests, err := t.TestsOfExecutions(ctx, ids)
	if err != nil {
		return nil, err
	}
	bases, inBases := []*model.AgentTestExecution{}, []*model.AgentTestExecutionTest{}
	for _, base := range executions {
		if !slices.Contains(bases, base) {
			bases, inBases = append(bases, base), append(inBases, tests[base.ID]...)
		}
	}
	comparison := model.CompareExecutions(bases, head, model.LimitTests(inBases, variants.Base),
		model.LimitTests(tests[headID], variants.Head), correction)
	pg.JoinBatch(comparison.Tests)
	return comparison, nil
}

// FlakyTests returns which tests are flaky. In the newest finished execution of a flaky test, some of its runs passed
// and others failed. If the test has rows, these are runs of one row. Drafts and rejudgments do not count.
func (t *Tenant) FlakyTests(ctx context.Context, ids []string) (map[string]bool, error) {
	flaky := []string{}
	err := t.db.Select((*model.AgentTestRow)(nil)).Column("id").Where("?TableAlias.id IN (?)", bun.List(ids)).
		Apply(TestsMatching(model.AgentTestFilter{IsFlaky: new(true)}).Apply(t.CompanyID())).Scan(ctx, &flaky)
	return model.MapOf(flaky, func(id string) (string, bool) { return id, true }), err
}
