package agenttest

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// mostReal bounds how many calls a refusal names.
const mostReal = 10

const coveredFields = `fragment covered on AgentTest { id name ... on SimulationTest { coverage { kind technicalName path effect } } }
`

const coverageOfManyDocument = coveredFields + `query ($agent: ID, $folder: ID, $after: String) {
	tests: agentTests(agentId: $agent, folderId: $folder, kind: Simulation, first: 10, after: $after) {
		nodes { ...covered } pageInfo { hasNextPage endCursor }
	}
}`

const coverageOfOneDocument = coveredFields + `query ($id: ID!) { test: agentTest(id: $id) { ...covered } }`

// coveredTest is a test with what would happen to each call in its runs.
type coveredTest struct {
	ID, Name string
	Coverage []struct {
		Kind, TechnicalName, Effect string
		Path                        []string
	}
}

// refuseReal returns an error that names what the tests would do for real: calls of tools and transfers. To search the
// knowledge base and to delegate are no side effects.
func (c *runCommand) refuseReal(ctx context.Context, server *client.Client) error {
	tests, err := c.covered(ctx, server)
	if err != nil {
		return err
	}
	var real []string
	for _, test := range tests {
		for _, call := range test.Coverage {
			if call.Effect == "Real" && (call.Kind == "Tool" || call.Kind == "CallTransfer") {
				real = append(real, fmt.Sprintf("%s in the test %q (%s)", strings.Join(append(call.Path, call.TechnicalName), " / "), client.Printable(test.Name), test.ID))
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

// covered returns the tests that are to be run.
func (c *runCommand) covered(ctx context.Context, server *client.Client) (all []coveredTest, err error) {
	for _, id := range c.Test {
		var read struct{ Test *coveredTest }
		if err := server.Ask(ctx, coverageOfOneDocument, client.Variables{"id": id}, &read); err != nil {
			return nil, err
		}
		if read.Test != nil { // the start says what does not exist
			all = append(all, *read.Test)
		}
	}
	for after := new(string); len(c.Test) == 0 && after != nil; {
		var read struct {
			Tests struct {
				Nodes    []coveredTest
				PageInfo struct {
					HasNextPage bool
					EndCursor   *string
				}
			}
		}
		variables := client.Variables{"agent": c.Agent, "folder": c.Folder}
		if *after != "" {
			variables["after"] = *after
		}
		if err := server.Ask(ctx, coverageOfManyDocument, variables, &read); err != nil {
			return nil, err
		}
		all = append(all, read.Tests.Nodes...)
		if after = read.Tests.PageInfo.EndCursor; !read.Tests.PageInfo.HasNextPage {
			after = nil
		}
	}
	return all, nil
}
