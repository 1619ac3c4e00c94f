package model

import (
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// AccessToken is a short-lived credential that an API key makes for a client which cannot keep a secret, such as
// a page in a browser. It may do no more than its key, and ends with it. The token itself is never stored.
type AccessToken struct {
	bun.BaseModel `bun:"table:access_tokens,alias:access_token"`
	Owned

	// Hash is the SHA-256 of the token.
	Hash      []byte `bun:",pk"`
	APIKeyID  string
	APIKey    *APIKey       `bun:"rel:belongs-to,join:company_id=company_id,join:api_key_id=id"`
	Scopes    []APIKeyScope `bun:",array"`
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Bounds of an access token's life, in seconds.
const (
	MinTokenSeconds = 60
	MaxTokenSeconds = 86_400
)

const tokenKind = "agt"

// NewAccessToken makes a token of the key and returns it with its text, or BAD_INPUT with every bound that the input
// breaks, or FORBIDDEN when the key lacks one of the scopes. A token expires no later than its key.
//
// The text has the form of an API key's secret, with "agt_" at its beginning.
func NewAccessToken(key *APIKey, in CreateAccessTokenInput, now time.Time) (*AccessToken, string, error) {
	var faults Fields
	faults.scopes(in.Scopes)
	if in.TTLSeconds < MinTokenSeconds || in.TTLSeconds > MaxTokenSeconds {
		faults.Add("ttlSeconds", "must be from %d to %d", MinTokenSeconds, MaxTokenSeconds)
	}
	if err := faults.Err(); err != nil {
		return nil, "", err
	}
	for _, scope := range in.Scopes {
		if !(Principal{Scopes: key.Scopes}).Can(scope) {
			return nil, "", Errorf(Forbidden, "the API key does not have the scope %s, so its access tokens cannot", scope)
		}
	}
	// As exact as it is shown.
	expiresAt := now.Add(time.Duration(in.TTLSeconds) * time.Second).Truncate(time.Millisecond)
	if key.ExpiresAt != nil && key.ExpiresAt.Before(expiresAt) {
		expiresAt = *key.ExpiresAt
	}
	_, text := newSecret(tokenKind, key.CompanyID)
	return &AccessToken{
		Hash: hashOf(text), APIKeyID: key.ID, APIKey: key, Scopes: unique(in.Scopes), CreatedAt: now, ExpiresAt: expiresAt,
	}, text, nil
}

// Usable reports whether the token has not expired at the time and its key is usable.
func (t *AccessToken) Usable(at time.Time) bool {
	return at.Before(t.ExpiresAt) && t.APIKey.Usable(at)
}

// IsAccessToken reports whether the text begins like an access token.
func IsAccessToken(text string) bool { return strings.HasPrefix(text, tokenKind+"_") }

// ParseAccessToken reads which company a token names and the hash by which it is stored; false when it is not a
// token of ours.
func ParseAccessToken(text string) (companyID string, hash []byte, ok bool) {
	companyID, _, ok = parseSecret(tokenKind, text)
	if !ok {
		return "", nil, false
	}
	return companyID, hashOf(text), true
}
