package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentgraph/agentgraph/model"
)

const (
	apiKeyHeader        = "X-Api-Key"
	authorizationHeader = "Authorization"
	// tokenParameter is RFC 6750's name for a token in a URL.
	tokenParameter = "access_token"
)

type urlTokenKey struct{}

// withoutToken moves access tokens from the request's URL to its context, so that no log of the URL shows them.
func withoutToken(r *http.Request) *http.Request {
	if !strings.Contains(r.URL.RawQuery, tokenParameter) {
		return r
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || !query.Has(tokenParameter) {
		return r // The URL itself is refused later.
	}
	r = r.WithContext(context.WithValue(r.Context(), urlTokenKey{}, query[tokenParameter]))
	address := *r.URL
	query.Del(tokenParameter)
	address.RawQuery = query.Encode()
	r.URL = &address
	return r
}

// withTokenInURL moves the token of the request's URL, if any, into the Authorization header. Browsers send no headers
// with an EventSource, so only a stream may have its token in the URL.
func withTokenInURL(r *http.Request) (_ *http.Request, isInURL bool, err error) {
	tokens, isInURL := r.Context().Value(urlTokenKey{}).([]string)
	if !isInURL {
		return r, false, nil
	}
	if r.URL.Path != Path || r.Method != http.MethodGet || !negotiate(r.Header).first || len(tokens) != 1 ||
		credentialOf(r.Header) != "" {
		return r, true, model.Errorf(model.BadInput,
			"the parameter %s is allowed only once, for an EventSource at %s without another credential: send the token as "+
				"%s: Bearer",
			tokenParameter, Path, authorizationHeader)
	}
	r = r.WithContext(r.Context())
	r.Header = r.Header.Clone()
	r.Header.Set(authorizationHeader, "Bearer "+tokens[0])
	return r, true, nil
}

// credentialOf returns the request's API key, or else the bearer token of its Authorization header, or "". The key
// comes first because proxies can add an Authorization header.
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

// credentialHeaders returns the credential headers among the members of a connection_init payload. It ignores the case
// of their names, and skips members that are null. It returns nil if there are none, and ok is false if one is not a
// string.
func credentialHeaders(members map[string]json.RawMessage) (h http.Header, ok bool) {
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
