package agenttest

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// mostReal bounds how many tests a refusal names for each tool.
const mostReal = 3

const coverageDocument = `query ($input: StartAgentTestExecutionInput!) {
	agentTestExecutionCoverage(input: $input) { calls { call { kind technicalName path effect } testIds testNames } }
}`

// coveredCall is a call with what would happen to it in the runs of tests.
type coveredCall struct {
	Call struct {
		Kind, TechnicalName, Effect string
		Path                        []string
	}
	TestIds, TestNames []string
}

// refuseReal returns an error that names what the tests would do for real: calls of tools and transfers, each with its tests. To
// search the knowledge base and to delegate are no side effects.
func refuseReal(ctx context.Context, server *client.Client, input client.Variables) error {
	var read struct {
		AgentTestExecutionCoverage struct{ Calls []coveredCall }
	}
	if err := server.Ask(ctx, coverageDocument, client.Variables{"input": input}, &read); err != nil {
		return err
	}
	var tools []string
	testsOf := map[string][]string{}
	for _, covered := range read.AgentTestExecutionCoverage.Calls {
		call := covered.Call
		if call.Effect != "Real" || call.Kind != "Tool" && call.Kind != "CallTransfer" {
			continue
		}
		tool := strings.Join(append(call.Path, call.TechnicalName), " / ")
		if testsOf[tool] == nil {
			tools = append(tools, tool)
		}
		for i, id := range covered.TestIds {
			testsOf[tool] = append(testsOf[tool], fmt.Sprintf("%q (%s)", client.Printable(covered.TestNames[i]), id))
		}
	}
	if len(tools) == 0 {
		return nil
	}
	parts := make([]string, len(tools))
	for i, tool := range tools {
		tests := testsOf[tool]
		parts[i] = fmt.Sprintf("%s in %s: %s", tool, count(len(tests), "test"), strings.Join(tests[:min(len(tests), mostReal)], ", "))
		if left := len(tests) - mostReal; left > 0 {
			parts[i] += fmt.Sprintf(" and %d more", left)
		}
	}
	return client.Exit(client.ExitCancelled,
		fmt.Errorf("nothing was run, because --require-mocked refuses calls that would be real: %s", strings.Join(parts, "; ")))
}
