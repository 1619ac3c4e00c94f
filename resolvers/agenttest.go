package resolvers

import (
	"context"
	"fmt"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
	"github.com/agentgraph/agentgraph/query"
)

// executionVerdict returns the verdict of a finished execution, or nil.
func executionVerdict(ctx context.Context, execution *model.AgentTestExecution) (*model.AgentTestVerdict, error) {
	if !execution.IsFinished() {
		return nil, nil
	}
	counts, err := query.Value(ctx, execution, "counts", query.ReadMethod((*db.Tenant).CountsOfExecutions))
	if err != nil {
		return nil, err
	}
	return new(counts.Verdict()), nil
}

// lastRuns returns the last runs of a test. It reads them for all tests of the batch at once.
func lastRuns(ctx context.Context, test model.AgentTest, first int32, isDraft *bool) ([]*model.AgentTestRun, error) {
	key := fmt.Sprintf("the last %d runs", first)
	if isDraft != nil {
		key = fmt.Sprintf("%s, drafts: %t", key, *isDraft)
	}
	runs, err := query.Value(ctx, test, key,
		func(ctx context.Context, t *db.Tenant, ids []string) (map[string][]*model.AgentTestRun, error) {
			return t.HistoriesOfTests(ctx, ids, first, isDraft)
		})
	return orEmpty(runs), err
}

// orEmpty returns the list, or an empty list for nil.
func orEmpty[V any](list []V) []V {
	if list == nil {
		return []V{}
	}
	return list
}
