package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *agentTestExecutionResolver) CorrectedPassRate(ctx context.Context, obj *model.AgentTestExecution) (*model.CorrectedPassRate, error) {
	return query.Value(ctx, obj, "corrected pass rates", query.ReadMethod((*db.Tenant).CorrectedPassRatesOfExecutions))
}

func (r *agentTestRunResolver) Labels(ctx context.Context, obj *model.AgentTestRun) ([]*model.CriterionLabel, error) {
	return query.Many[*model.CriterionLabel](ctx, obj)
}

func (r *criterionQueueEntryResolver) Run(ctx context.Context, obj *model.CriterionQueueEntry) (*model.AgentTestRun, error) {
	return query.One[*model.AgentTestRun](ctx, obj)
}

func (r *judgeDisagreementResolver) Run(ctx context.Context, obj *model.JudgeDisagreement) (*model.AgentTestRun, error) {
	return query.One[*model.AgentTestRun](ctx, obj)
}

func (r *mutationResolver) LabelCriterionResult(ctx context.Context, input model.LabelCriterionResultInput) (*model.LabelCriterionResultPayload, error) {
	label, err := r.tenant(ctx).LabelCriterionResult(ctx, input)
	return &model.LabelCriterionResultPayload{Label: label}, err
}

func (r *mutationResolver) LabelCriterionResults(ctx context.Context, input model.LabelCriterionResultsInput) (*model.LabelCriterionResultsPayload, error) {
	labels, err := r.tenant(ctx).LabelCriterionResults(ctx, input)
	return &model.LabelCriterionResultsPayload{Labels: labels}, err
}

func (r *queryResolver) CriterionLabels(ctx context.Context, agentID string, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.CriterionLabel], error) {
	return r.tenant(ctx).CriterionLabels(ctx, model.NewPageArgs(first, after, offset, last, before), agentID, query.Columns(ctx)...)
}

func (r *queryResolver) CriterionQueue(ctx context.Context, agentID string, person *string, isBlind bool, first int32, offset int32) (*model.CriterionQueue, error) {
	return r.tenant(ctx).CriterionQueue(ctx, model.CriterionQueueArgs{AgentID: agentID, Person: person, IsBlind: isBlind, First: first, Offset: offset})
}

func (r *queryResolver) JudgeFigures(ctx context.Context, agentID string) ([]*model.JudgeFigures, error) {
	return r.tenant(ctx).JudgeFigures(ctx, agentID)
}

func (r *Resolver) CriterionQueueEntry() graph.CriterionQueueEntryResolver {
	return &criterionQueueEntryResolver{r}
}

func (r *Resolver) JudgeDisagreement() graph.JudgeDisagreementResolver {
	return &judgeDisagreementResolver{r}
}

type (
	criterionQueueEntryResolver struct{ *Resolver }
	judgeDisagreementResolver   struct{ *Resolver }
)
