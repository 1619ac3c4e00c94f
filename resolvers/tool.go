package resolvers

import "github.com/agentgraph/agentgraph/model"

// checkEndpoint returns BAD_INPUT if the server would refuse to call a tool's endpoint.
func (r *Resolver) checkEndpoint(in *model.ToolEndpointInput) error {
	if in == nil {
		return nil
	}
	return r.engine.CheckAddress("endpoint.url", in.URL)
}
