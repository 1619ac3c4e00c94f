package resolvers

import (
	"context"
	"sync"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// testLoaders are the loaders of agent tests, their folders, executions and runs.
type testLoaders struct {
	agentTests      *edgesBy[model.AgentTestFilter, *model.Agent, *model.AgentTestConnection]
	agentFolders    *edge[*model.Agent, []*model.AgentTestFolder]
	agentExecutions *edge[*model.Agent, *model.AgentTestExecutionConnection]
	folderAgent     *edge[*model.AgentTestFolder, *model.Agent]
	folderTests     *edge[*model.AgentTestFolder, *model.AgentTestConnection]
	testAgent       *edge[model.AgentTest, *model.Agent]
	testFolder      *edge[model.AgentTest, *model.AgentTestFolder]
	testLastRun     *edge[model.AgentTest, *model.AgentTestRun]
	testRuns        *edge[model.AgentTest, *model.AgentTestRunConnection]
	testFlaky       *edge[model.AgentTest, bool]
	executionAgent  *edge[*model.AgentTestExecution, *model.Agent]
	executionCounts *edge[*model.AgentTestExecution, *model.AgentTestRunCounts]
	executionTally  *edge[*model.AgentTestExecution, []model.TestTally]
	executionRuns   *edgesBy[runFilter, *model.AgentTestExecution, *model.AgentTestRunConnection]
	runTest         *edge[*model.AgentTestRun, model.AgentTest]
	runExecution    *edge[*model.AgentTestRun, *model.AgentTestExecution]
	comparedTest    *edge[*model.AgentTestComparisonTest, model.AgentTest]
}

// runFilter says which runs of an execution are wanted; empty is any.
type runFilter struct {
	status model.AgentTestRunStatus
	testID string
}

func newTestLoaders(ctx context.Context, t *db.Tenant, n nouns) *testLoaders {
	testRow := func(test model.AgentTest) *model.AgentTestRow { return test.Row() }
	return &testLoaders{
		agentTests: newEdgesBy(func(f model.AgentTestFilter) *edge[*model.Agent, *model.AgentTestConnection] {
			return newEdge(ctx, n.agentTest, idOf[*model.Agent], pages(t.TestsOfAgents(f)))
		}),
		agentFolders:    newEdge(ctx, nil, idOf[*model.Agent], many(t.FoldersOfAgents)),
		agentExecutions: newEdge(ctx, n.agentTestExecution, idOf[*model.Agent], pages(t.ExecutionsOfAgents())),
		folderAgent:     newEdge(ctx, n.agent, func(f *model.AgentTestFolder) string { return f.AgentID }, one("agent", t.AgentsByID)),
		folderTests:     newEdge(ctx, n.agentTest, idOf[*model.AgentTestFolder], pages(t.TestsOfFolders())),
		testAgent:       newEdge(ctx, n.agent, func(test model.AgentTest) string { return testRow(test).AgentID }, one("agent", t.AgentsByID)),
		testFolder: newEdge(ctx, nil, func(test model.AgentTest) string { return textOf(testRow(test).FolderID) },
			one("agent test folder", t.AgentTestFoldersByID)),
		testLastRun: newEdge(ctx, n.agentTestRun, func(test model.AgentTest) string { return textOf(testRow(test).LastRunID) },
			one("agent test run", t.AgentTestRunsByID)),
		testRuns:        newEdge(ctx, n.agentTestRun, idOf[model.AgentTest], pages(t.RunsOfTests())),
		testFlaky:       newEdge(ctx, nil, idOf[model.AgentTest], mapped(t.FlakyTests)),
		executionAgent:  newEdge(ctx, n.agent, func(e *model.AgentTestExecution) string { return textOf(e.AgentID) }, one("agent", t.AgentsByID)),
		executionCounts: newEdge(ctx, nil, idOf[*model.AgentTestExecution], mapped(t.CountsOfExecutions)),
		executionTally:  newEdge(ctx, nil, idOf[*model.AgentTestExecution], mapped(t.TalliesOfExecutions)),
		executionRuns: newEdgesBy(func(f runFilter) *edge[*model.AgentTestExecution, *model.AgentTestRunConnection] {
			return newEdge(ctx, n.agentTestRun, idOf[*model.AgentTestExecution], pages(t.RunsOfExecutions(given(f.status), given(f.testID))))
		}),
		runTest: newEdge(ctx, n.agentTest, func(r *model.AgentTestRun) string { return textOf(r.TestID) }, one("agent test", t.AgentTestsByID)),
		runExecution: newEdge(ctx, n.agentTestExecution, func(r *model.AgentTestRun) string { return r.ExecutionID },
			one("agent test execution", t.AgentTestExecutionsByID)),
		comparedTest: newEdge(ctx, n.agentTest, func(c *model.AgentTestComparisonTest) string { return textOf(c.ExistingID) },
			one("agent test", t.AgentTestsByID)),
	}
}

// narrowed is BAD_INPUT when the id that narrows a list is empty.
func narrowed(argument string, id *string) error {
	var faults model.Fields
	faults.Filter(argument, id)
	return faults.Err()
}

// edgesBy are edges that differ in a filter, made as they are asked for.
type edgesBy[F comparable, P parent, V any] struct {
	make func(F) *edge[P, V]
	mu   sync.Mutex
	made map[F]*edge[P, V]
}

func newEdgesBy[F comparable, P parent, V any](make func(F) *edge[P, V]) *edgesBy[F, P, V] {
	return &edgesBy[F, P, V]{make: make, made: map[F]*edge[P, V]{}}
}

func (e *edgesBy[F, P, V]) of(filter F) *edge[P, V] {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.made[filter] == nil {
		e.made[filter] = e.make(filter)
	}
	return e.made[filter]
}

// mapped reads one value per key, by the key.
func mapped[V any](values func(context.Context, []string) (map[string]V, error)) read[V] {
	return func(ctx context.Context, keys, _ []string, _ model.PageArgs) (func(string) (V, error), error) {
		found, err := values(ctx, keys)
		return func(key string) (V, error) { return found[key], nil }, err
	}
}

// given is nil for an empty text.
func given[T ~string](value T) *T {
	if value == "" {
		return nil
	}
	return &value
}

// textOf is empty for nil.
func textOf[T ~string](value *T) T {
	if value == nil {
		return ""
	}
	return *value
}

// verdictOf says what a finished execution came to; nil while it is not finished.
func verdictOf(ctx context.Context, execution *model.AgentTestExecution) (*model.AgentTestVerdict, error) {
	if !execution.IsFinished() {
		return nil, nil
	}
	counts, err := load(ctx).executionCounts.load(ctx, execution)
	if err != nil {
		return nil, err
	}
	verdict := counts.Verdict()
	return &verdict, nil
}
