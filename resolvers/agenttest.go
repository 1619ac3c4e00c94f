package resolvers

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

// narrowed returns BAD_INPUT if the id that narrows a list is empty.
func narrowed(argument string, id *string) error {
	var faults model.Fields
	faults.Filter(argument, id)
	return faults.Err()
}

// verdictOf returns the verdict of a finished execution, and nil for others.
func verdictOf(ctx context.Context, execution *model.AgentTestExecution) (*model.AgentTestVerdict, error) {
	if !execution.IsFinished() {
		return nil, nil
	}
	counts, err := query.Value(ctx, execution, "counts", query.Of((*db.Tenant).CountsOfExecutions))
	if err != nil {
		return nil, err
	}
	verdict := counts.Verdict()
	return &verdict, nil
}
