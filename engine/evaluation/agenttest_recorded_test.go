package evaluation

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// The checks of an imported task agree with the benchmark's verdict on each conversation. The file has the benchmark's
// recording format, but the conversations are invented.
func TestImportedTasksNeverPassBenchmarkFailures(t *testing.T) {
	t.Parallel()
	const folder = "../../cmd/agentgraph/apply/testdata/"
	checks := importedChecks(t, folder+"carried/tau2-bench.recorded.yaml")
	text, err := os.ReadFile(folder + "recorded/tau2-bench.json")
	require.NoError(t, err)
	var conversations []struct {
		Task, About string
		Reward      float64
		Says        []string
		Calls       []*model.ToolCall
	}
	require.NoError(t, json.Unmarshal(text, &conversations))
	for _, recorded := range conversations {
		run := &model.AgentTestRun{ToolCalls: recorded.Calls, TurnCount: int32(len(recorded.Says))}
		for _, says := range recorded.Says {
			run.Messages = append(run.Messages, model.TestMessage{Role: model.MessageRoleUser, Text: "And?"},
				model.TestMessage{Role: model.MessageRoleAssistant, Text: says})
		}
		require.NotEmpty(t, checks[recorded.Task])
		results, err := decideChecks(t.Context(), rules.NewChecker(), checks[recorded.Task], nil,
			rules.NewConversation(run, 0, ""))
		require.NoError(t, err)
		passed := true
		for _, result := range results {
			passed = passed && result.Passed
		}
		require.Equal(t, recorded.Reward == 1, passed, "%s: %s", recorded.Task, recorded.About)
	}
}

// importedChecks returns the checks of the tests in a file, by the ids of their tasks.
func importedChecks(t *testing.T, file string) map[string][]model.TestCheck {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	text, err = yaml.YAMLToJSON(text)
	require.NoError(t, err)
	var read struct {
		AgentTests []struct {
			Simulations []struct {
				Name   string
				Checks []model.TestCheck
			}
		}
	}
	require.NoError(t, json.Unmarshal(text, &read))
	checks := map[string][]model.TestCheck{}
	for _, test := range read.AgentTests[0].Simulations {
		for i := range test.Checks {
			if said := test.Checks[i].Expect.Says; said != nil {
				said.Role = model.MessageRoleAssistant // the default
			}
		}
		checks[strings.TrimPrefix(test.Name, "Task ")] = test.Checks
	}
	return checks
}
