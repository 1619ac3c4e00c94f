package openai

import (
	"context"
	"net/http"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// Check asks the provider for its list of models, which costs nothing, and returns an error if it cannot be reached or
// refuses the key. Any other answer is none of the key's fault: not every provider has such a list.
func (m *Model) Check(ctx context.Context) error {
	res, err := m.client.send(ctx, http.MethodGet, "models", "application/json", nil)
	if err != nil {
		failure := m.fail(llm.Unavailable, 0, "the provider cannot be reached")
		failure.Err = err
		return failure
	}
	defer func() { _ = res.Body.Close() }()
	if cause := causeOf(res.StatusCode); cause == llm.Unauthorized {
		return m.fail(cause, res.StatusCode, "the provider refuses the key: it answered %s", strings.TrimSpace(res.Status))
	}
	return nil
}
