package provider

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// Check requests the provider's list of models, which is free. It returns an error if the provider is unreachable or
// refuses the key. It accepts any other response, because some providers have no such list.
func (m *Model) Check(ctx context.Context) error {
	res, err := m.client.send(ctx, http.MethodGet, "models", "application/json", nil)
	if err != nil {
		failure := m.newError(llm.Unavailable, 0, "the provider cannot be reached")
		failure.Err = err
		return failure
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes))
	isRefused := res.StatusCode != http.StatusOK && errorOf(body).isOfKey()
	if isRefused || causeOf(res.StatusCode) == llm.Unauthorized {
		return m.newError(llm.Unauthorized, res.StatusCode, "the provider refuses the key: it answered %s",
			strings.TrimSpace(res.Status))
	}
	return nil
}
