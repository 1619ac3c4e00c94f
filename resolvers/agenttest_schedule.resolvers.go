package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *agentTestExecutionResolver) Schedule(ctx context.Context, obj *model.AgentTestExecution) (*model.AgentTestSchedule, error) {
	return query.One[*model.AgentTestSchedule](ctx, obj)
}

func (r *agentTestScheduleResolver) Agent(ctx context.Context, obj *model.AgentTestSchedule) (*model.Agent, error) {
	return query.One[*model.Agent](ctx, obj)
}

func (r *agentTestScheduleResolver) Folder(ctx context.Context, obj *model.AgentTestSchedule) (*model.AgentTestFolder, error) {
	return query.One[*model.AgentTestFolder](ctx, obj)
}

func (r *agentTestScheduleResolver) Baseline(ctx context.Context, obj *model.AgentTestSchedule) (*model.AgentTestExecution, error) {
	return query.One[*model.AgentTestExecution](ctx, obj)
}

func (r *agentTestScheduleResolver) LastExecution(ctx context.Context, obj *model.AgentTestSchedule) (*model.AgentTestExecution, error) {
	return query.One[*model.AgentTestExecution](ctx, obj)
}

func (r *mutationResolver) CreateAgentTestSchedule(ctx context.Context, input model.CreateAgentTestScheduleInput) (*model.CreateAgentTestSchedulePayload, error) {
	schedule, err := r.tenant(ctx).CreateAgentTestSchedule(ctx, input)
	return &model.CreateAgentTestSchedulePayload{Schedule: schedule}, err
}

func (r *mutationResolver) UpdateAgentTestSchedule(ctx context.Context, input model.UpdateAgentTestScheduleInput) (*model.UpdateAgentTestSchedulePayload, error) {
	schedule, err := r.tenant(ctx).UpdateAgentTestSchedule(ctx, input)
	return &model.UpdateAgentTestSchedulePayload{Schedule: schedule}, err
}

func (r *mutationResolver) DeleteAgentTestSchedule(ctx context.Context, input model.DeleteAgentTestScheduleInput) (*model.DeleteAgentTestSchedulePayload, error) {
	err := r.tenant(ctx).DeleteAgentTestSchedule(ctx, input.ScheduleID)
	return &model.DeleteAgentTestSchedulePayload{DeletedID: input.ScheduleID}, err
}

func (r *queryResolver) AgentTestSchedule(ctx context.Context, id string) (*model.AgentTestSchedule, error) {
	return query.ByID[*model.AgentTestSchedule](ctx, id)
}

func (r *queryResolver) AgentTestSchedules(ctx context.Context, agentID *string, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.AgentTestSchedule], error) {
	return r.tenant(ctx).AgentTestSchedules(ctx, model.NewPageArgs(first, after, offset, last, before), agentID, query.Columns(ctx)...)
}

func (r *Resolver) AgentTestSchedule() graph.AgentTestScheduleResolver {
	return &agentTestScheduleResolver{r}
}

type agentTestScheduleResolver struct{ *Resolver }
