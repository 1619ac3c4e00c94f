// Package auth turns an API key into the principal that it stands for.
package auth

import (
	"context"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// touchEvery is how exactly the last use of a key is recorded.
const touchEvery = time.Minute

// Keys authenticates API keys against the database. A revoked key is refused by the next request,
// on every replica: nothing is cached.
type Keys struct{ Store *db.Store }

// nobody is compared with when no key has the prefix, so that a wrong key takes as long as a right one.
var nobody = model.APIKey{Hash: make([]byte, 32)}

// Authenticate returns whom the secret stands for, or UNAUTHENTICATED, whose text does not tell an
// unknown key from a revoked or an expired one.
func (k Keys) Authenticate(ctx context.Context, secret string) (model.Principal, error) {
	if secret == "" {
		return model.Principal{}, model.Errorf(model.Unauthenticated, "an API key is needed in the header X-Api-Key")
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
		if key.LastUsedAt == nil || now.Sub(*key.LastUsedAt) >= touchEvery {
			if err := tenant.TouchAPIKey(ctx, key.ID, now); err != nil {
				return model.Principal{}, err
			}
		}
		return model.Principal{CompanyID: companyID, KeyID: key.ID, Scopes: key.Scopes}, nil
	}
	return model.Principal{}, refused
}
