// Package auth turns an API key or an access token into the principal that it stands for.
package auth

import (
	"context"
	"errors"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// touchEvery is how exactly the last use of a key is recorded.
const touchEvery = time.Minute

// Keys authenticates API keys and their access tokens against the database. A revoked key is refused by the next
// request, on every replica, and so are its tokens: nothing is cached.
type Keys struct{ Store *db.Store }

// nobody is compared with when no key has the prefix, so that a wrong key takes as long as a right one.
var nobody = model.APIKey{Hash: make([]byte, 32)}

// Authenticate returns whom the secret stands for, or UNAUTHENTICATED, whose text does not tell an
// unknown key or token from a revoked or an expired one.
func (k Keys) Authenticate(ctx context.Context, secret string) (model.Principal, error) {
	if secret == "" {
		return model.Principal{}, model.Errorf(model.Unauthenticated, "an API key or an access token is needed")
	}
	if model.IsAccessToken(secret) {
		return k.token(ctx, secret)
	}
	refused := model.Errorf(model.Unauthenticated, "the API key is not valid")
	companyID, prefix, ok := model.ParseAPIKey(secret)
	if !ok {
		return model.Principal{}, refused
	}
	tenant := k.Store.Tenant(companyID)
	keys, err := tenant.APIKeysByPrefix(ctx, prefix)
	if err != nil {
		return model.Principal{}, err
	}
	now := time.Now().UTC()
	for _, key := range append(keys, &nobody) {
		if !key.Matches(secret) {
			continue
		}
		if !key.Usable(now) {
			return model.Principal{}, refused
		}
		return model.Principal{CompanyID: companyID, KeyID: key.ID, Scopes: key.Scopes}, touch(ctx, tenant, key, now)
	}
	return model.Principal{}, refused
}

// token is Authenticate for access tokens.
func (k Keys) token(ctx context.Context, text string) (model.Principal, error) {
	refused := model.Errorf(model.Unauthenticated, "the access token is not valid, or not any more")
	companyID, hash, ok := model.ParseAccessToken(text)
	if !ok {
		return model.Principal{}, refused
	}
	tenant := k.Store.Tenant(companyID)
	token, err := tenant.AccessToken(ctx, hash)
	var known *model.Error
	if errors.As(err, &known) && known.Code == model.NotFound {
		return model.Principal{}, refused
	}
	if err != nil {
		return model.Principal{}, err
	}
	now := time.Now().UTC()
	if !token.Usable(now) {
		return model.Principal{}, refused
	}
	principal := model.Principal{CompanyID: companyID, KeyID: token.APIKeyID, Scopes: token.Scopes, IsToken: true}
	return principal, touch(ctx, tenant, token.APIKey, now)
}

// touch records that a key was used, now and then.
func touch(ctx context.Context, tenant *db.Tenant, key *model.APIKey, now time.Time) error {
	if key.LastUsedAt != nil && now.Sub(*key.LastUsedAt) < touchEvery {
		return nil
	}
	return tenant.TouchAPIKey(ctx, key.ID, now)
}
