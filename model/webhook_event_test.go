package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFailedTestsAreReportedOnceForAllRows(t *testing.T) {
	t.Parallel()
	failed := AgentTestRunCounts{Total: 1, Failed: 1}
	tallies := []TestTally{
		{TestedID: "a", TestName: "Table", RowKey: "=Monday", AgentTestRunCounts: failed},
		{TestedID: "a", TestName: "Table", RowKey: "=Tuesday", AgentTestRunCounts: failed},
		{TestedID: "b", TestName: "Fine", AgentTestRunCounts: AgentTestRunCounts{Total: 1, Passed: 1}},
		{TestedID: "c", TestName: "Plain", AgentTestRunCounts: failed},
	}
	require.Equal(t, []EventTest{{"a", "Table"}, {"c", "Plain"}}, FailedTests(tallies))
}
