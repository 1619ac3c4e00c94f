package demo

import (
	"fmt"

	"github.com/agentgraph/agentgraph/model"
)

// Samples returns the results of the demo companies' tools, by method and address of the endpoint. No server answers at
// these addresses. The results depend on the arguments.
func Samples() (map[string]*model.Mock, error) {
	samples := map[string]*model.Mock{}
	for _, folder := range folders {
		c, err := readCompany(folder)
		if err != nil {
			return nil, err
		}
		for _, tool := range c.Tools {
			sample, ok := c.Samples[tool.TechnicalName]
			if !ok || tool.Endpoint == nil {
				return nil, fmt.Errorf("the tool %s has no endpoint with a sample", tool.TechnicalName)
			}
			samples[string(tool.Endpoint.Method)+" "+tool.Endpoint.URL] = sample
		}
	}
	return samples, nil
}
