package model

import (
	"context"
	"slices"
	"time"
)

// Principal is who a request acts for: one company, through one credential.
type Principal struct {
	CompanyID string
	// KeyID is the API key that was shown or whose access token was, for the record of who changed what.
	KeyID  string
	Scopes []APIKeyScope
	// IsToken says that an access token of the key was shown, not the key itself.
	IsToken bool
	// Address is where its requests come from, a proxy's where there is one.
	Address string
	// ExpiresAt is when the credential is good no more; zero for never.
	ExpiresAt time.Time
}

// KeyRef names an API key.
type KeyRef struct{ CompanyID, KeyID string }

// Key names the API key that the principal acts by.
func (p Principal) Key() KeyRef { return KeyRef{p.CompanyID, p.KeyID} }

// Can reports whether the principal holds the scope. admin holds every scope, and write and
// simulate hold read.
func (p Principal) Can(scope APIKeyScope) bool {
	if slices.Contains(p.Scopes, APIKeyScopeAdmin) || slices.Contains(p.Scopes, scope) {
		return true
	}
	return scope == APIKeyScopeRead && len(p.Scopes) > 0
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
