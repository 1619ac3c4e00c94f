package evaluation

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// Runs in parallel take at least as long as the longest one.
func TestTimeIsEstimatedFromLastRuns(t *testing.T) {
	t.Parallel()
	var tests []*db.MeasuredTest
	for _, millis := range []int32{10_000, 100, 100, 200} {
		test := &db.MeasuredTest{Rows: 1}
		test.LastRun.DurationMs = &millis
		tests = append(tests, test)
	}
	for _, c := range []struct {
		repeats, concurrency int32
		seconds              float64
	}{{1, 1, 10.4}, {1, 5, 10}, {1, 50, 10}, {5, 5, 10.4}, {20, 5, 41.6}} {
		e := (&Evaluator{}).estimate(model.StartAgentTestExecutionInput{
			Repeats: c.repeats, Concurrency: c.concurrency}, tests, nil)
		require.InDelta(t, c.seconds, *e.Seconds, 1e-9, "%d repeats, %d at once", c.repeats, c.concurrency)
	}
}
