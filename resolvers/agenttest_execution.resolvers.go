package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *agentResolver) TestExecutions(ctx context.Context, obj *model.Agent, first *int32, after *string, offset *int32, last *int32, before *string, filter *model.AgentTestExecutionFilter) (*model.Page[*model.AgentTestExecution], error) {
	if err := filter.Validate(); err != nil {
		return nil, err
	}
	return query.Page[*model.AgentTestExecution](ctx, obj, model.NewPageArgs(first, after, offset, last, before), db.ExecutionsMatching(filter))
}

func (r *agentTestExecutionResolver) Agent(ctx context.Context, obj *model.AgentTestExecution) (*model.Agent, error) {
	return query.One[*model.Agent](ctx, obj)
}

func (r *agentTestExecutionResolver) Verdict(ctx context.Context, obj *model.AgentTestExecution) (*model.AgentTestVerdict, error) {
	return executionVerdict(ctx, obj)
}

func (r *agentTestExecutionResolver) Counts(ctx context.Context, obj *model.AgentTestExecution) (*model.AgentTestRunCounts, error) {
	return query.Value(ctx, obj, "counts", query.ReadMethod((*db.Tenant).CountsOfExecutions))
}

func (r *agentTestExecutionResolver) PassRate(ctx context.Context, obj *model.AgentTestExecution) (*float64, error) {
	counts, err := query.Value(ctx, obj, "counts", query.ReadMethod((*db.Tenant).CountsOfExecutions))
	if err != nil {
		return nil, err
	}
	return counts.PassRate(), nil
}

func (r *agentTestExecutionResolver) PassRateInterval(ctx context.Context, obj *model.AgentTestExecution) (*model.RateInterval, error) {
	counts, err := query.Value(ctx, obj, "counts", query.ReadMethod((*db.Tenant).CountsOfExecutions))
	if err != nil {
		return nil, err
	}
	return counts.PassRateInterval(), nil
}

func (r *agentTestExecutionResolver) SimulatorErrors(ctx context.Context, obj *model.AgentTestExecution) (int32, error) {
	return query.Value(ctx, obj, "simulatorErrors", query.ReadMethod((*db.Tenant).SimulatorErrorsOfExecutions))
}

func (r *agentTestExecutionResolver) SimulatorErrorShare(ctx context.Context, obj *model.AgentTestExecution) (*float64, error) {
	counts, err := query.Value(ctx, obj, "counts", query.ReadMethod((*db.Tenant).CountsOfExecutions))
	if err != nil || counts.Failed+counts.Error == 0 {
		return nil, err
	}
	errors, err := query.Value(ctx, obj, "simulatorErrors", query.ReadMethod((*db.Tenant).SimulatorErrorsOfExecutions))
	return new(float64(errors) / float64(counts.Failed+counts.Error)), err
}

func (r *agentTestExecutionResolver) PassHatK(ctx context.Context, obj *model.AgentTestExecution) ([]float64, error) {
	tallies, err := query.Value(ctx, obj, "tallies", query.ReadMethod((*db.Tenant).TalliesOfExecutions))
	chances, _ := model.PassHatK(tallies)
	return chances, err
}

func (r *agentTestExecutionResolver) PassHatKTests(ctx context.Context, obj *model.AgentTestExecution) ([]int32, error) {
	tallies, err := query.Value(ctx, obj, "tallies", query.ReadMethod((*db.Tenant).TalliesOfExecutions))
	_, tests := model.PassHatK(tallies)
	return tests, err
}

func (r *agentTestExecutionResolver) FlakyTestIds(ctx context.Context, obj *model.AgentTestExecution) ([]string, error) {
	tallies, err := query.Value(ctx, obj, "tallies", query.ReadMethod((*db.Tenant).TalliesOfExecutions))
	return model.FlakyTestIds(tallies), err
}

func (r *agentTestExecutionResolver) PromptVersions(ctx context.Context, obj *model.AgentTestExecution) ([]int32, error) {
	versions, err := query.Value(ctx, obj, "prompt versions", query.ReadMethod((*db.Tenant).PromptVersionsOfExecutions))
	return orEmpty(versions), err
}

func (r *agentTestExecutionResolver) Tests(ctx context.Context, obj *model.AgentTestExecution) ([]*model.AgentTestExecutionTest, error) {
	tests, err := query.Value(ctx, obj, "tests", query.ReadMethod((*db.Tenant).TestsOfExecutions))
	return orEmpty(tests), err
}

func (r *agentTestExecutionResolver) Runs(ctx context.Context, obj *model.AgentTestExecution, status *model.AgentTestRunStatus, statuses []model.AgentTestRunStatus, testID *string, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.AgentTestRun], error) {
	wanted := model.AgentTestRunFilter{TestID: testID, Status: status, Statuses: statuses}
	if err := wanted.Validate(); err != nil {
		return nil, err
	}
	return query.Page[*model.AgentTestRun](ctx, obj, model.NewPageArgs(first, after, offset, last, before), db.RunsMatching(wanted))
}

func (r *agentTestExecutionResolver) RejudgeOf(ctx context.Context, obj *model.AgentTestExecution) (*model.AgentTestExecution, error) {
	return query.One[*model.AgentTestExecution](ctx, obj)
}

func (r *agentTestExecutionResolver) Rejudgements(ctx context.Context, obj *model.AgentTestExecution) ([]*model.AgentTestExecution, error) {
	return query.Many[*model.AgentTestExecution](ctx, obj)
}

func (r *agentTestExecutionResolver) Agreement(ctx context.Context, obj *model.AgentTestExecution) (*model.JudgeAgreement, error) {
	return query.Value(ctx, obj, "agreements", query.ReadMethod((*db.Tenant).AgreementsOfExecutions))
}

func (r *agentTestExecutionResolver) StartedBy(ctx context.Context, obj *model.AgentTestExecution) (*string, error) {
	key, err := query.One[*model.APIKey](ctx, obj)
	if err != nil || key == nil {
		return nil, err
	}
	return &key.Name, nil
}

func (r *agentTestExecutionResolver) Usage(ctx context.Context, obj *model.AgentTestExecution) (*model.UsageSummary, error) {
	summary, err := query.Value(ctx, obj, "usage", query.ReadMethod((*db.Tenant).UsageOfExecutions))
	return summary.OrZero(), err
}

func (r *agentTestExecutionResolver) Variants(ctx context.Context, obj *model.AgentTestExecution) ([]*model.AgentTestVariant, error) {
	if len(obj.Tried) == 0 {
		return []*model.AgentTestVariant{}, nil
	}
	tests, err := query.Value(ctx, obj, "tests", query.ReadMethod((*db.Tenant).TestsOfExecutions))
	if err != nil {
		return nil, err
	}
	usage, err := query.Value(ctx, obj, "usage of variants", query.ReadMethod((*db.Tenant).UsageOfVariants))
	return model.CompareVariants(obj.Tried, tests, usage), err
}

func (r *agentTestExecutionTestResolver) Test(ctx context.Context, obj *model.AgentTestExecutionTest) (model.AgentTest, error) {
	return query.One[model.AgentTest](ctx, obj)
}

func (r *agentTestExecutionTestResolver) Folder(ctx context.Context, obj *model.AgentTestExecutionTest) (*model.AgentTestFolder, error) {
	return query.One[*model.AgentTestFolder](ctx, obj)
}

func (r *mutationResolver) StartAgentTestExecution(ctx context.Context, input model.StartAgentTestExecutionInput) (*model.StartAgentTestExecutionPayload, error) {
	if err := input.Choose(r.engine.ModelNames()); err != nil {
		return nil, err
	}
	execution, err := r.tenant(ctx).StartAgentTestExecution(ctx, input)
	return &model.StartAgentTestExecutionPayload{Execution: execution}, err
}

func (r *mutationResolver) CancelAgentTestExecution(ctx context.Context, input model.CancelAgentTestExecutionInput) (*model.CancelAgentTestExecutionPayload, error) {
	execution, err := r.tenant(ctx).CancelAgentTestExecution(ctx, input)
	return &model.CancelAgentTestExecutionPayload{Execution: execution}, err
}

func (r *mutationResolver) RetryAgentTestExecution(ctx context.Context, input model.RetryAgentTestExecutionInput) (*model.RetryAgentTestExecutionPayload, error) {
	execution, err := r.tenant(ctx).RetryAgentTestExecution(ctx, input)
	return &model.RetryAgentTestExecutionPayload{Execution: execution}, err
}

func (r *mutationResolver) RejudgeAgentTestExecution(ctx context.Context, input model.RejudgeAgentTestExecutionInput) (*model.RejudgeAgentTestExecutionPayload, error) {
	if err := input.Choose(r.evaluator.JudgeModels()); err != nil {
		return nil, err
	}
	execution, err := r.tenant(ctx).RejudgeAgentTestExecution(ctx, input)
	return &model.RejudgeAgentTestExecutionPayload{Execution: execution}, err
}

func (r *mutationResolver) DeleteAgentTestExecution(ctx context.Context, input model.DeleteAgentTestExecutionInput) (*model.DeleteAgentTestExecutionPayload, error) {
	err := r.tenant(ctx).DeleteAgentTestExecution(ctx, input.ExecutionID)
	return &model.DeleteAgentTestExecutionPayload{DeletedID: input.ExecutionID}, err
}

func (r *queryResolver) AgentTestExecution(ctx context.Context, id string) (*model.AgentTestExecution, error) {
	return query.ByID[*model.AgentTestExecution](ctx, id)
}

func (r *queryResolver) AgentTestExecutions(ctx context.Context, agentID *string, first *int32, after *string, offset *int32, last *int32, before *string, filter *model.AgentTestExecutionFilter) (*model.Page[*model.AgentTestExecution], error) {
	return r.tenant(ctx).AgentTestExecutions(ctx, model.NewPageArgs(first, after, offset, last, before), agentID, filter, query.Columns(ctx)...)
}

func (r *queryResolver) AgentTestExecutionCoverage(ctx context.Context, input model.StartAgentTestExecutionInput) (*model.AgentTestExecutionCoverage, error) {
	return r.evaluator.CoverageOfExecution(ctx, r.tenant(ctx), input)
}

func (r *queryResolver) AgentTestExecutionEstimate(ctx context.Context, input model.StartAgentTestExecutionInput) (*model.AgentTestExecutionEstimate, error) {
	return r.evaluator.EstimateOfExecution(ctx, r.tenant(ctx), input)
}

func (r *subscriptionResolver) AgentTestExecutionUpdated(ctx context.Context, executionID string) (<-chan *model.AgentTestExecution, error) {
	return r.tenant(ctx).FollowExecution(ctx, executionID)
}

func (r *subscriptionResolver) AgentTestRunUpdated(ctx context.Context, executionID string) (<-chan *model.AgentTestRun, error) {
	return r.tenant(ctx).FollowRuns(ctx, executionID)
}

func (r *Resolver) AgentTestExecution() graph.AgentTestExecutionResolver {
	return &agentTestExecutionResolver{r}
}

func (r *Resolver) AgentTestExecutionTest() graph.AgentTestExecutionTestResolver {
	return &agentTestExecutionTestResolver{r}
}

type (
	agentTestExecutionResolver     struct{ *Resolver }
	agentTestExecutionTestResolver struct{ *Resolver }
)
