package model

import (
	"context"
	"encoding/hex"
	"slices"
	"time"
)

// Principal is the company and the credential that a request acts for.
type Principal struct {
	CompanyID string
	// KeyID is the id of the API key, or of the key that created the access token. The audit log records it.
	KeyID  string
	Scopes []APIKeyScope
	// TokenHash is the hash of the access token, or nil if the request has the key itself.
	TokenHash []byte
	// Origins are the origins of pages that may use the credential. If there are none, requests may come from anywhere.
	Origins []string
	// Reach restricts a credential with the scope chat. Nil means no restriction.
	Reach *Reach
	// Subscription is the only operation that the credential allows. Empty for everything that its scopes allow.
	Subscription SubscriptionField
	// Address is the address of the client, or of a proxy in front of the server.
	Address string
	// ExpiresAt is when the credential expires, or zero if it never does.
	ExpiresAt time.Time
}

// IsToken reports whether the credential is an access token.
func (p Principal) IsToken() bool { return p.TokenHash != nil }

// Reach restricts a credential with the scope chat. Other chats and agents do not exist for it.
type Reach struct {
	// Holder is the SHA-256 hash that identifies the credential's chats.
	Holder []byte
	// AgentIDs are the credential's agents. If there are none, it may use all agents of the company.
	AgentIDs []string
}

// HasAgent reports whether the agent is within reach. A nil Reach includes all agents.
func (r *Reach) HasAgent(id string) bool {
	return r == nil || len(r.AgentIDs) == 0 || slices.Contains(r.AgentIDs, id)
}

// KeyRef identifies an API key.
type KeyRef struct{ CompanyID, KeyID string }

// Key returns the API key of the principal.
func (p Principal) Key() KeyRef { return KeyRef{p.CompanyID, p.KeyID} }

// CredentialRef identifies an API key or one of its access tokens.
type CredentialRef struct {
	KeyRef
	// Token is the hash of an access token in hexadecimal, or empty for the key itself.
	Token string
}

// Credential identifies the principal's credential.
func (p Principal) Credential() CredentialRef {
	return CredentialRef{p.Key(), hex.EncodeToString(p.TokenHash)}
}

// Viewer is the information that a credential can read about itself.
type Viewer struct {
	KeyID         string
	Scopes        []APIKeyScope
	ExpiresAt     *time.Time
	IsAccessToken bool
}

// Viewer returns the information that the principal can read about its credential.
func (p Principal) Viewer() *Viewer {
	v := &Viewer{KeyID: p.KeyID, Scopes: p.Scopes, IsAccessToken: p.IsToken()}
	if !p.ExpiresAt.IsZero() {
		v.ExpiresAt = &p.ExpiresAt
	}
	return v
}

// includedScopes maps each scope to the scopes that it includes. The scope admin includes all scopes except mutate.
var includedScopes = map[APIKeyScope][]APIKeyScope{
	APIKeyScopeRead:        {APIKeyScopeBrowse, APIKeyScopePrompts, APIKeyScopeContacts, APIKeyScopeConsumption},
	APIKeyScopePrompts:     {APIKeyScopeBrowse},
	APIKeyScopeContacts:    {APIKeyScopeBrowse},
	APIKeyScopeConsumption: {APIKeyScopeBrowse},
	APIKeyScopeWrite:       {APIKeyScopeRead},
	APIKeyScopeSimulate:    {APIKeyScopeRead, APIKeyScopeChat},
}

// Can reports whether one of the principal's scopes is or includes the scope.
func (p Principal) Can(scope APIKeyScope) bool {
	return slices.ContainsFunc(p.Scopes, func(held APIKeyScope) bool { return held.includes(scope) })
}

func (s APIKeyScope) includes(scope APIKeyScope) bool {
	return s == scope || s == APIKeyScopeAdmin && scope != APIKeyScopeMutate ||
		slices.ContainsFunc(includedScopes[s], func(held APIKeyScope) bool { return held.includes(scope) })
}

type principalKey struct{}

// WithPrincipal returns a context that carries the principal.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalOf returns the principal of the request, or false if there is none.
func PrincipalOf(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}
