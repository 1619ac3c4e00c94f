// Command goclient tests a gateway with the Go client that oapi-codegen generates from its OpenAPI document. Its
// arguments are the address, an API key and the id of an agent. It prints what differs from the expectation, and then
// exits with 1.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/agentgraph/agentgraph/lab/e2e/goclient/v1"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address, key, agentID string) error {
	client, err := v1.NewClientWithResponses(address,
		v1.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			r.Header.Set("X-Api-Key", key)
			return nil
		}))
	if err != nil {
		return err
	}
	agent, err := client.GetAgentWithResponse(ctx, agentID, nil)
	if err != nil {
		return err
	}
	if agent.JSON200 == nil || agent.JSON200.AgentId != agentID || agent.JSON200.Channel != v1.Web {
		return fmt.Errorf("the agent: %s", agent.Body)
	}
	if err := datasets(ctx, client); err != nil {
		return err
	}
	return tests(ctx, client, agentID)
}

// datasets creates a dataset, finds it in the list, and checks the error for an invalid one.
func datasets(ctx context.Context, client *v1.ClientWithResponses) error {
	tokens := int32(64)
	key := "goclient-1"
	body := v1.CreateDatasetBody{Name: "Prices", ParserConfig: &v1.ParserConfigInput{ChunkTokenNum: &tokens}}
	for _, replayed := range []bool{false, true} {
		made, err := client.CreateDatasetWithResponse(ctx, &v1.CreateDatasetParams{IdempotencyKey: &key}, body)
		if err != nil {
			return err
		}
		if made.JSON200 == nil || made.JSON200.ParserConfig.ChunkTokenNum != tokens || made.JSON200.Description != nil {
			return fmt.Errorf("the new dataset: %s", made.Body)
		}
		if (made.HTTPResponse.Header.Get("Idempotent-Replayed") == "true") != replayed {
			return fmt.Errorf("the new dataset is replayed: %v, not %v", !replayed, replayed)
		}
	}
	size := int32(1)
	list, err := client.ListDatasetsWithResponse(ctx, &v1.ListDatasetsParams{PageSize: &size})
	if err != nil {
		return err
	}
	if list.JSON200 == nil || list.JSON200.PageSize != size || len(list.JSON200.Data) != 1 ||
		list.JSON200.Data[0].Name != "Prices" {
		return fmt.Errorf("the list: %s", list.Body)
	}
	refused, err := client.CreateDatasetWithResponse(ctx, nil, v1.CreateDatasetBody{})
	if err != nil {
		return err
	}
	problem := refused.ApplicationproblemJSON400
	if problem == nil || problem.Code != "BAD_INPUT" || problem.Errors == nil || len((*problem.Errors)["name"]) == 0 {
		return fmt.Errorf("the problem: %s", refused.Body)
	}
	return nil
}

// tests creates a test of each kind, and distinguishes them in a list.
func tests(ctx context.Context, client *v1.ClientWithResponses, agentID string) error {
	simulation, err := client.CreateSimulationTestWithResponse(ctx, nil, v1.CreateSimulationTestBody{
		AgentId: agentID, Name: "Parking", Scenario: "Asks for parking", Criteria: &[]string{"Names the price"},
	})
	if err != nil {
		return err
	}
	if simulation.JSON200 == nil || simulation.JSON200.Kind != v1.AgentTestKindSimulation {
		return fmt.Errorf("the new simulation test: %s", simulation.Body)
	}
	list, err := client.ListAgentTestsWithResponse(ctx, &v1.ListAgentTestsParams{AgentId: &agentID})
	if err != nil {
		return err
	}
	if list.JSON200 == nil || len(list.JSON200.Data) != 1 {
		return fmt.Errorf("the tests: %s", list.Body)
	}
	test, err := list.JSON200.Data[0].AsSimulationTest()
	if err != nil {
		return err
	}
	if test.Id != simulation.JSON200.Id || test.MaxTurns != 10 || test.FolderId != nil {
		return fmt.Errorf("the test in the list: %+v", test)
	}
	return nil
}
