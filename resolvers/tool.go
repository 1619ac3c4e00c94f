package resolvers

import "github.com/agentgraph/agentgraph/model"

// checkEndpoint returns BAD_INPUT when calls of a tool's endpoint would be refused.
func (r *Resolver) checkEndpoint(in *model.ToolEndpointInput) error {
	if in == nil {
		return nil
	}
	return r.engine.CheckAddress("endpoint.url", in.URL)
}
