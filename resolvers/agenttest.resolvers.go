package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/graph"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

func (r *agentResolver) Tests(ctx context.Context, obj *model.Agent, kind *model.AgentTestKind, folderID *string, atRoot bool, first *int32, after *string, offset *int32, last *int32, before *string, filter *model.AgentTestFilter) (*model.Page[model.AgentTest], error) {
	wanted, err := model.NewAgentTestFilter(folderID, atRoot, kind, filter)
	if err != nil {
		return nil, err
	}
	return query.Page[model.AgentTest](ctx, obj, model.NewPageArgs(first, after, offset, last, before), db.TestsMatching(wanted))
}

func (r *classificationTestResolver) Agent(ctx context.Context, obj *model.ClassificationTest) (*model.Agent, error) {
	return query.One[*model.Agent](ctx, obj)
}

func (r *classificationTestResolver) Folder(ctx context.Context, obj *model.ClassificationTest) (*model.AgentTestFolder, error) {
	return query.One[*model.AgentTestFolder](ctx, obj)
}

func (r *classificationTestResolver) LastRun(ctx context.Context, obj *model.ClassificationTest) (*model.AgentTestRun, error) {
	return query.One[*model.AgentTestRun](ctx, obj)
}

func (r *classificationTestResolver) IsFlaky(ctx context.Context, obj *model.ClassificationTest) (bool, error) {
	return query.Value(ctx, obj, "flaky", query.ReadMethod((*db.Tenant).FlakyTests))
}

func (r *classificationTestResolver) FailingSince(ctx context.Context, obj *model.ClassificationTest) (*model.AgentTestFailure, error) {
	return query.Value(ctx, obj, "failures", query.ReadMethod((*db.Tenant).FailuresOfTests))
}

func (r *classificationTestResolver) History(ctx context.Context, obj *model.ClassificationTest, first int32, isDraft *bool) ([]*model.AgentTestRun, error) {
	return lastRuns(ctx, obj, first, isDraft)
}

func (r *classificationTestResolver) Blame(ctx context.Context, obj *model.ClassificationTest) (*model.AgentTestBlame, error) {
	return query.Value(ctx, obj, "blames", r.evaluator.BlamesOfTests)
}

func (r *classificationTestResolver) Obstacles(ctx context.Context, obj *model.ClassificationTest) ([]string, error) {
	return query.Value(ctx, obj, "obstacles", r.evaluator.ObstaclesOfTests)
}

func (r *classificationTestResolver) Runs(ctx context.Context, obj *model.ClassificationTest, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.AgentTestRun], error) {
	return query.Page[*model.AgentTestRun](ctx, obj, model.NewPageArgs(first, after, offset, last, before), nil)
}

func (r *mutationResolver) CreateSimulationTest(ctx context.Context, input model.CreateSimulationTestInput) (*model.CreateSimulationTestPayload, error) {
	test, err := r.tenant(ctx).CreateSimulationTest(ctx, input)
	return &model.CreateSimulationTestPayload{AgentTest: test}, err
}

func (r *mutationResolver) CreateClassificationTest(ctx context.Context, input model.CreateClassificationTestInput) (*model.CreateClassificationTestPayload, error) {
	test, err := r.tenant(ctx).CreateClassificationTest(ctx, input)
	return &model.CreateClassificationTestPayload{AgentTest: test}, err
}

func (r *mutationResolver) UpdateSimulationTest(ctx context.Context, input model.UpdateSimulationTestInput) (*model.UpdateSimulationTestPayload, error) {
	test, err := r.tenant(ctx).UpdateSimulationTest(ctx, input)
	return &model.UpdateSimulationTestPayload{AgentTest: test}, err
}

func (r *mutationResolver) UpdateClassificationTest(ctx context.Context, input model.UpdateClassificationTestInput) (*model.UpdateClassificationTestPayload, error) {
	test, err := r.tenant(ctx).UpdateClassificationTest(ctx, input)
	return &model.UpdateClassificationTestPayload{AgentTest: test}, err
}

func (r *mutationResolver) UpdateAgentTest(ctx context.Context, input model.UpdateAgentTestInput) (*model.UpdateAgentTestPayload, error) {
	test, err := r.tenant(ctx).UpdateAgentTest(ctx, input)
	return &model.UpdateAgentTestPayload{AgentTest: test}, err
}

func (r *mutationResolver) DeleteAgentTest(ctx context.Context, input model.DeleteAgentTestInput) (*model.DeleteAgentTestPayload, error) {
	return &model.DeleteAgentTestPayload{DeletedID: input.TestID}, r.tenant(ctx).DeleteAgentTest(ctx, input.TestID)
}

func (r *queryResolver) AgentTest(ctx context.Context, id string) (model.AgentTest, error) {
	return query.ByID[model.AgentTest](ctx, id)
}

func (r *queryResolver) AgentTests(ctx context.Context, agentID *string, folderID *string, atRoot bool, kind *model.AgentTestKind, first *int32, after *string, offset *int32, last *int32, before *string, filter *model.AgentTestFilter) (*model.Page[model.AgentTest], error) {
	wanted, err := model.NewAgentTestFilter(folderID, atRoot, kind, filter)
	if err != nil {
		return nil, err
	}
	return r.tenant(ctx).AgentTests(ctx, model.NewPageArgs(first, after, offset, last, before), agentID, wanted, query.Columns(ctx)...)
}

func (r *simulationTestResolver) Agent(ctx context.Context, obj *model.SimulationTest) (*model.Agent, error) {
	return query.One[*model.Agent](ctx, obj)
}

func (r *simulationTestResolver) Folder(ctx context.Context, obj *model.SimulationTest) (*model.AgentTestFolder, error) {
	return query.One[*model.AgentTestFolder](ctx, obj)
}

func (r *simulationTestResolver) LastRun(ctx context.Context, obj *model.SimulationTest) (*model.AgentTestRun, error) {
	return query.One[*model.AgentTestRun](ctx, obj)
}

func (r *simulationTestResolver) IsFlaky(ctx context.Context, obj *model.SimulationTest) (bool, error) {
	return query.Value(ctx, obj, "flaky", query.ReadMethod((*db.Tenant).FlakyTests))
}

func (r *simulationTestResolver) FailingSince(ctx context.Context, obj *model.SimulationTest) (*model.AgentTestFailure, error) {
	return query.Value(ctx, obj, "failures", query.ReadMethod((*db.Tenant).FailuresOfTests))
}

func (r *simulationTestResolver) History(ctx context.Context, obj *model.SimulationTest, first int32, isDraft *bool) ([]*model.AgentTestRun, error) {
	return lastRuns(ctx, obj, first, isDraft)
}

func (r *simulationTestResolver) Blame(ctx context.Context, obj *model.SimulationTest) (*model.AgentTestBlame, error) {
	return query.Value(ctx, obj, "blames", r.evaluator.BlamesOfTests)
}

func (r *simulationTestResolver) Obstacles(ctx context.Context, obj *model.SimulationTest) ([]string, error) {
	return query.Value(ctx, obj, "obstacles", r.evaluator.ObstaclesOfTests)
}

func (r *simulationTestResolver) Runs(ctx context.Context, obj *model.SimulationTest, first *int32, after *string, offset *int32, last *int32, before *string) (*model.Page[*model.AgentTestRun], error) {
	return query.Page[*model.AgentTestRun](ctx, obj, model.NewPageArgs(first, after, offset, last, before), nil)
}

func (r *simulationTestResolver) SuggestedChecks(ctx context.Context, obj *model.SimulationTest) ([]*model.SuggestedCheck, error) {
	return query.Value(ctx, obj, "suggestedChecks", r.evaluator.SuggestedChecksOfTests)
}

func (r *simulationTestResolver) Coverage(ctx context.Context, obj *model.SimulationTest) ([]*model.CallCoverage, error) {
	return query.Value(ctx, obj, "coverage", r.evaluator.CoverageOfTests)
}

func (r *Resolver) ClassificationTest() graph.ClassificationTestResolver {
	return &classificationTestResolver{r}
}

func (r *Resolver) SimulationTest() graph.SimulationTestResolver { return &simulationTestResolver{r} }

type (
	classificationTestResolver struct{ *Resolver }
	simulationTestResolver     struct{ *Resolver }
)
