package model

import (
	"context"
	"encoding/hex"
	"slices"
	"time"
)

// Principal is who a request acts for: one company, through one credential.
type Principal struct {
	CompanyID string
	// KeyID is the API key that was shown or whose access token was, for the record of who changed what.
	KeyID  string
	Scopes []APIKeyScope
	// TokenHash is the hash of the access token that was shown; nil for the key itself.
	TokenHash []byte
	// Origins are those of the pages that may show the credential; none stands for requests from anywhere.
	Origins []string
	// Reach is what the credential is narrowed to; nil for all of the company that its scopes give.
	Reach *Reach
	// Subscription is all that the credential is good for; empty for whatever its scopes give.
	Subscription SubscriptionField
	// Address is where its requests come from, a proxy's where there is one.
	Address string
	// ExpiresAt is when the credential is good no more; zero for never.
	ExpiresAt time.Time
}

// IsToken reports whether an access token of the key was shown, not the key itself.
func (p Principal) IsToken() bool { return p.TokenHash != nil }

// Reach is what a credential with the scope chat is narrowed to. To it, other chats and agents do not exist.
type Reach struct {
	// Holder is the SHA-256 that its chats have.
	Holder []byte
	// AgentIDs are its agents; none stands for all of the company.
	AgentIDs []string
}

// HasAgent reports whether the agent is within reach, which everything is of a nil one.
func (r *Reach) HasAgent(id string) bool {
	return r == nil || len(r.AgentIDs) == 0 || slices.Contains(r.AgentIDs, id)
}

// KeyRef names an API key.
type KeyRef struct{ CompanyID, KeyID string }

// Key names the API key that the principal acts by.
func (p Principal) Key() KeyRef { return KeyRef{p.CompanyID, p.KeyID} }

// CredentialRef names an API key or one of its access tokens.
type CredentialRef struct {
	KeyRef
	// Token is the hash of an access token, in hexadecimal digits; empty for the key itself.
	Token string
}

// Credential names what the principal has shown.
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

// holds are the scopes that a scope holds, beside itself. admin holds all.
var holds = map[APIKeyScope][]APIKeyScope{
	APIKeyScopeRead:        {APIKeyScopeBrowse, APIKeyScopePrompts, APIKeyScopeContacts, APIKeyScopeConsumption},
	APIKeyScopePrompts:     {APIKeyScopeBrowse},
	APIKeyScopeContacts:    {APIKeyScopeBrowse},
	APIKeyScopeConsumption: {APIKeyScopeBrowse},
	APIKeyScopeWrite:       {APIKeyScopeRead},
	APIKeyScopeSimulate:    {APIKeyScopeRead, APIKeyScopeChat},
}

// Can reports whether the principal holds the scope, itself or by another one.
func (p Principal) Can(scope APIKeyScope) bool {
	return slices.ContainsFunc(p.Scopes, func(held APIKeyScope) bool { return held.holds(scope) })
}

func (s APIKeyScope) holds(scope APIKeyScope) bool {
	return s == scope || s == APIKeyScopeAdmin ||
		slices.ContainsFunc(holds[s], func(held APIKeyScope) bool { return held.holds(scope) })
}

type principalKey struct{}

// WithPrincipal returns a context that carries the principal.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalOf returns the principal of the request, and false when there is none.
func PrincipalOf(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}
