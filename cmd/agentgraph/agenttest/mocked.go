package agenttest

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// mostReal bounds how many calls a refusal names.
const mostReal = 10

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

// refuseReal returns an error that names what the tests would do for real: calls of tools and transfers. To search the
// knowledge base and to delegate are no side effects.
func (c *runCommand) refuseReal(ctx context.Context, server *client.Client) error {
	var read struct {
		AgentTestExecutionCoverage struct{ Calls []coveredCall }
	}
	if err := server.Ask(ctx, coverageDocument, client.Variables{"input": c.input()}, &read); err != nil {
		return err
	}
	var real []string
	for _, covered := range read.AgentTestExecutionCoverage.Calls {
		if call := covered.Call; call.Effect == "Real" && (call.Kind == "Tool" || call.Kind == "CallTransfer") {
			name := strings.Join(append(call.Path, call.TechnicalName), " / ")
			for i, id := range covered.TestIds {
				real = append(real, fmt.Sprintf("%s in the test %q (%s)", name, client.Printable(covered.TestNames[i]), id))
			}
		}
	}
	if len(real) == 0 {
		return nil
	}
	names := strings.Join(real[:min(len(real), mostReal)], ", ")
	if left := len(real) - mostReal; left > 0 {
		names += fmt.Sprintf(" and %d more", left)
	}
	return client.Exit(client.ExitCancelled, fmt.Errorf("nothing was run, because --require-mocked refuses calls that would be real: %s", names))
}
