package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// maxListBytes bounds how much of a provider's list of models is read. Longer lists are not compared.
const maxListBytes = 4 << 20

// ErrNotListed is wrapped by the error of Check if the provider answers and its list has no such model. Some servers
// answer nevertheless.
var ErrNotListed = errors.New("the model is not in the provider's list")

// Check requests the provider's list of models, which is free. It returns an error if the provider is unreachable,
// refuses the key, has nothing at the address, or lists other models only. It accepts any other response, because some
// providers have no such list. The error names the provider's host, so it is for operators only.
func (m *Model) Check(ctx context.Context) error {
	status, body, err := m.probe(ctx, http.MethodGet, "models", "")
	if err == nil && status == http.StatusNotFound {
		// A provider without a list refuses an empty request for an answer with another status, and charges nothing.
		status, body, err = m.probe(ctx, http.MethodPost, m.format.path(m.config.Model), "{}")
		if err == nil && (status == http.StatusNotFound || status == http.StatusMethodNotAllowed) {
			return m.newError(llm.Rejected, status, "the address answered %d %s", status, http.StatusText(status))
		}
	}
	switch {
	case err != nil:
		if network, ok := errors.AsType[*url.Error](err); ok {
			err = network.Err // without the request's address, which may hold a password
		}
		failure := m.newError(llm.Unavailable, 0, "the provider cannot be reached")
		return fmt.Errorf("%w at %s: %w", failure, m.client.address.Host, err)
	case causeOf(status) == llm.Unauthorized || status != http.StatusOK && errorOf(body).isOfKey():
		return m.newError(llm.Unauthorized, status, "the provider refuses the key: it answered %d %s", status,
			http.StatusText(status))
	case status == http.StatusOK && lacks(body, m.config.Model):
		// The list may have another spelling or further pages.
		name := strings.TrimPrefix(m.config.Model, "models/")
		status, _, err = m.probe(ctx, http.MethodGet, "models/"+url.PathEscape(name), "")
		if err == nil && causeOf(status) == llm.Rejected {
			failure := m.newError(llm.Rejected, status, "the provider's list has no model %q", m.config.Model)
			failure.Err = ErrNotListed
			return failure
		}
	}
	return nil
}

// probe sends a request and returns the status and the body of the response.
func (m *Model) probe(ctx context.Context, method, path, body string) (int, []byte, error) {
	res, err := m.client.send(ctx, method, path, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answered, err := io.ReadAll(io.LimitReader(res.Body, maxListBytes))
	return res.StatusCode, answered, err
}

// lacks reports whether a provider's list has models, but not this one. The list may omit the suffix of a name, such as
// ":free".
func lacks(body []byte, name string) bool {
	var list struct {
		Data   []struct{ ID string }   // OpenAI, Anthropic
		Models []struct{ Name string } // Google
	}
	if json.Unmarshal(body, &list) != nil {
		return false
	}
	for _, m := range list.Models {
		list.Data = append(list.Data, struct{ ID string }{strings.TrimPrefix(m.Name, "models/")})
	}
	name = strings.TrimPrefix(name, "models/")
	base, _, _ := strings.Cut(name, ":")
	for _, m := range list.Data {
		if m.ID == name || m.ID == base {
			return false
		}
	}
	return len(list.Data) > 0
}
