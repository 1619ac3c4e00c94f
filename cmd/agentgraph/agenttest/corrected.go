package agenttest

import (
	"context"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// correctedShown is a pass rate without the errors of the judge.
type correctedShown struct {
	Rate     float64        `json:"rate"`
	Interval *intervalShown `json:"interval"`
	Labels   int            `json:"labels"`
}

const correctedDocument = `query ($id: ID!) { agentTestExecution(id: $id) {
	correctedPassRate { rate interval { low high } labels }
} }`

// readCorrectedRate returns the pass rate without the errors of the judge, or nil if there are too few labels.
func readCorrectedRate(ctx context.Context, server *client.Client, id string) (*correctedShown, error) {
	var read struct{ AgentTestExecution executionShown }
	err := server.Query(ctx, correctedDocument, client.Variables{"id": id}, &read)
	return read.AgentTestExecution.Corrected, err
}
