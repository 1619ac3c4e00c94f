package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
)

func TestUsageShortensNamesInsteadOfNumbers(t *testing.T) {
	t.Parallel()
	var usage usageShown
	require.NoError(t, json.Unmarshal([]byte(`{
		"company": {"subscription": {"planName": "Everything for large teams", "status": "Exhausted", "creditsUsed": 1}},
		"consumptionBreakdown": {"totalCredits": 1234567.25, "byAgent": [
			{"agent": {"name": "Reception of the western branch"}, "credits": 1234567.25},
			{"agentId": "agent_01m8m34023e8krs3ep7x9mkpqa", "nameStatus": "Deleted", "credits": 12}]}
	}`), &usage))
	for _, width := range []int{40, 60, 5} {
		rows := usage.rows()
		shortenNames(rows, width)
		var text strings.Builder
		require.NoError(t, cli.WriteTable(&text, rows))
		require.Contains(t, text.String(), " 1234567.25\n")
		for line := range strings.Lines(text.String()) {
			require.LessOrEqual(t, len([]rune(strings.TrimSpace(line))), max(width, 20), line)
		}
	}
}
