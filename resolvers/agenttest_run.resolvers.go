package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *agentTestRunResolver) Test(ctx context.Context, obj *model.AgentTestRun) (model.AgentTest, error) {
	return query.One[model.AgentTest](ctx, obj)
}

func (r *agentTestRunResolver) Execution(ctx context.Context, obj *model.AgentTestRun) (*model.AgentTestExecution, error) {
	return query.One[*model.AgentTestExecution](ctx, obj)
}

func (r *agentTestRunResolver) RejudgeOf(ctx context.Context, obj *model.AgentTestRun) (*model.AgentTestRun, error) {
	return query.One[*model.AgentTestRun](ctx, obj)
}

func (r *agentTestRunResolver) Rejudgements(ctx context.Context, obj *model.AgentTestRun) ([]*model.AgentTestRun, error) {
	return query.Many[*model.AgentTestRun](ctx, obj)
}

func (r *agentTestRunResolver) DraftPrompt(ctx context.Context, obj *model.AgentTestRun) (*string, error) {
	execution, err := query.One[*model.AgentTestExecution](ctx, obj)
	if err != nil {
		return nil, err
	}
	return execution.DraftPrompt, nil
}

func (r *agentTestRunResolver) Instructions(ctx context.Context, obj *model.AgentTestRun) (*string, error) {
	instructions, err := query.Value(ctx, obj, "instructions", r.evaluator.InstructionsOfRuns)
	if err != nil {
		return nil, err
	}
	return instructions.Text, instructions.Err
}

func (r *agentTestRunResolver) Usage(ctx context.Context, obj *model.AgentTestRun) (*model.UsageSummary, error) {
	summary, err := query.Value(ctx, obj, "usage", query.ReadMethod((*db.Tenant).UsageOfRuns))
	return summary.OrZero(), err
}

func (r *queryResolver) AgentTestRun(ctx context.Context, id string) (*model.AgentTestRun, error) {
	return query.ByID[*model.AgentTestRun](ctx, id)
}

func (r *queryResolver) AgentTestRuns(ctx context.Context, executionID *string, testID *string, status *model.AgentTestRunStatus, statuses []model.AgentTestRunStatus, agentID *string, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.AgentTestRun], error) {
	wanted := model.AgentTestRunFilter{ExecutionID: executionID, TestID: testID, AgentID: agentID, Status: status, Statuses: statuses}
	return r.tenant(ctx).AgentTestRuns(ctx, model.NewPageArgs(first, after, offset, last, before), wanted, query.Columns(ctx)...)
}

func (r *Resolver) AgentTestRun() graph.AgentTestRunResolver { return &agentTestRunResolver{r} }

type agentTestRunResolver struct{ *Resolver }
