package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

func (r *mutationResolver) ImportAgentTestRows(ctx context.Context, input model.ImportAgentTestRowsInput) (*model.ImportAgentTestRowsPayload, error) {
	rows, err := r.engine.Knowledge().Rows(ctx, r.tenant(ctx), input)
	if err != nil {
		return nil, err
	}
	test, err := r.tenant(ctx).UpdateAgentTest(ctx, model.UpdateAgentTestInput{TestID: input.TestID, Rows: rows})
	return &model.ImportAgentTestRowsPayload{AgentTest: test}, err
}
