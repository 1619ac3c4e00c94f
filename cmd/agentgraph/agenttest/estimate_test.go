package agenttest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEstimateShowsEveryNoticedFall(t *testing.T) {
	t.Parallel()
	e := executionEstimate{Runs: 4, RunsAtMost: 4, NoticedFalls: []noticedFall{
		{Repeats: 1}, {Repeats: 5, PassRate: new(0.5)}, {Repeats: 10, PassRate: new(0.75)}}}
	require.Equal(t, "4 runs. A comparison of 1 repeat detects no drop of a single test; 5 repeats detect a test's drop "+
		"from 100 % to 50 % in 9 of 10 cases; 10 repeats detect a test's drop from 100 % to 75 % in 9 of 10 cases. "+
		"This assumes that no other test fails.",
		e.String())
}
