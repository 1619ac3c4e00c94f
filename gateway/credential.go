package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"
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

// mostVouched bounds how many credentials are remembered.
const mostVouched = 10_000

// vouched remembers which credentials of open streams were good a moment ago.
type vouched struct {
	lasts time.Duration
	mu    sync.Mutex
	until map[string]time.Time
}

func newVouched(lasts time.Duration) *vouched {
	return &vouched{lasts: lasts, until: map[string]time.Time{}}
}

func (v *vouched) isFresh(credential string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return time.Now().Before(v.until[credential])
}

func (v *vouched) remember(credential string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.until) >= mostVouched {
		clear(v.until)
	}
	v.until[credential] = time.Now().Add(v.lasts)
}
