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

// credentialOf returns the API key that a request shows, or else the bearer token of its Authorization header; "" when
// it has neither. Proxies add Authorization headers of their own, so the key goes first.
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

// challenge is the WWW-Authenticate header of a refusal: that of the kind of credential that the request showed.
func challenge(h http.Header) string {
	if h.Get(apiKeyHeader) == "" && credentialOf(h) != "" {
		return `Bearer error="invalid_token"`
	}
	return "ApiKey"
}

// shown returns the headers that the payload of connection_init has among its members, whatever the case of their
// names; nil when it has none, and false when one of them is not a text.
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
