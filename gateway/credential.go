package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
)

const (
	apiKeyHeader        = "X-Api-Key"
	authorizationHeader = "Authorization"
)

// credentialOf returns the request's API key, or else the bearer token of its Authorization header, or "". The key goes
// first because proxies add Authorization headers of their own.
func credentialOf(h http.Header) string {
	if key := h.Get(apiKeyHeader); key != "" {
		return key
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(h.Get(authorizationHeader)), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// challenge returns the WWW-Authenticate header of a refusal, for the kind of credential that the request sent.
func challenge(h http.Header) string {
	if h.Get(apiKeyHeader) == "" && credentialOf(h) != "" {
		return `Bearer error="invalid_token"`
	}
	return "ApiKey"
}

// shown returns the credential headers among the members of a connection_init payload, ignoring the case of their
// names. It is nil if there are none, and ok is false if one is not a string.
func shown(members map[string]json.RawMessage) (h http.Header, ok bool) {
	for name, value := range members {
		name = http.CanonicalHeaderKey(name)
		if name != apiKeyHeader && name != authorizationHeader {
			continue
		}
		var text *string
		if json.Unmarshal(value, &text) != nil {
			return nil, false
		}
		if text != nil {
			if h == nil {
				h = http.Header{}
			}
			h.Set(name, *text)
		}
	}
	return h, true
}
