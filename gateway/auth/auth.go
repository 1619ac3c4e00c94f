// Package auth authenticates API keys and access tokens. Start reading at Keys.Authenticate.
package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// touchEvery is the precision of the recorded last use of a key.
const touchEvery = time.Minute

// rememberFor is how long an authenticated credential is cached. If another replica revokes the credential and its
// signal is lost, this replica still accepts the credential for this time.
const rememberFor = 1500 * time.Millisecond

// maxRemembered bounds the cached credentials. The least recently used are dropped first.
const maxRemembered = 10_000

// Keys authenticates API keys and their access tokens against the database, and caches them briefly. A revoked key and
// its tokens are refused immediately on the replica that revoked it. Other replicas refuse it when the signal arrives,
// or within two seconds without the signal.
type Keys struct {
	store *db.Store
	// timeout bounds the database lookup of a credential.
	timeout time.Duration
	// cache caches credentials by the hashes of their texts. Refused ones are not cached.
	cache *lru.Cache[[sha256.Size]byte, cachedCredential]

	// hasImported caches whether there are keys from other servers, until importedUntil. While there are none, a
	// credential without agentgraph's form causes no lookup.
	hasImported   atomic.Bool
	importedMu    sync.Mutex
	importedUntil time.Time
}

type cachedCredential struct {
	principal model.Principal
	// until is the time when the credential is read again, or expires.
	until time.Time
	// revocations is the store's revocation counter before the credential was read.
	revocations uint64
}

// NewKeys returns Keys that authenticate against the store. timeout bounds each lookup.
func NewKeys(store *db.Store, timeout time.Duration) *Keys {
	// lru.New only fails for a size below one.
	known, _ := lru.New[[sha256.Size]byte, cachedCredential](maxRemembered)
	return &Keys{store: store, timeout: timeout, cache: known}
}

// The key dummyKey is compared if no real key matches, so that a wrong key takes as long as a right one.
var dummyKey = model.APIKey{Hash: make([]byte, 32)}

// Authenticate returns the principal of the secret, or UNAUTHENTICATED. The message is the same for unknown, revoked
// and expired credentials.
func (k *Keys) Authenticate(ctx context.Context, secret string) (model.Principal, error) {
	if secret == "" {
		return model.Principal{}, model.Errorf(model.Unauthenticated, "the request needs an API key or an access token")
	}
	hash, now, revocations := sha256.Sum256([]byte(secret)), time.Now().UTC(), k.store.Revocations()
	if known, ok := k.cache.Get(hash); ok && known.revocations == revocations && now.Before(known.until) {
		return known.principal, nil
	}
	ctx, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	authenticate := k.key
	if model.IsAccessToken(secret) {
		authenticate = k.token
	}
	principal, expires, err := authenticate(ctx, secret, now)
	if err != nil {
		k.cache.Remove(hash)
		return model.Principal{}, err
	}
	until := now.Add(rememberFor)
	if expires != nil {
		principal.ExpiresAt = *expires
		if expires.Before(until) {
			until = *expires
		}
	}
	k.cache.Add(hash, cachedCredential{principal, until, revocations})
	return principal, nil
}

// IsUnverified reports whether the credential may be a guess, whose lookups must be limited. Such a credential is not
// in the cache. It has either the form of an imported key, or agentgraph's form without the server's signature.
// IsUnverified runs no statement.
func (k *Keys) IsUnverified(secret string) bool {
	if k.cache.Contains(sha256.Sum256([]byte(secret))) {
		return false
	}
	return k.hasImported.Load() && model.IsForeignSecret(secret) || k.store.Signer().LacksSignature(secret)
}

// key returns the principal of an API key, and when the key expires.
func (k *Keys) key(ctx context.Context, secret string, now time.Time) (model.Principal, *time.Time, error) {
	refused := model.Errorf(model.Unauthenticated, "the API key is not valid")
	companyID, prefix, ok := model.ParseAPIKey(secret)
	if !ok && model.IsForeignSecret(secret) {
		return k.imported(ctx, secret, now, refused)
	}
	if !ok {
		return model.Principal{}, nil, refused
	}
	tenant := k.store.Tenant(companyID)
	keys, err := tenant.APIKeysByPrefix(ctx, prefix)
	if err != nil {
		return model.Principal{}, nil, err
	}
	for _, key := range append(keys, &dummyKey) {
		if !key.Matches(secret) {
			continue
		}
		if !key.Usable(now) {
			return model.Principal{}, nil, refused
		}
		return key.Principal(), key.ExpiresAt, touch(ctx, tenant, key, now)
	}
	return model.Principal{}, nil, refused
}

// imported does the same as key, for a key from another server.
func (k *Keys) imported(ctx context.Context, secret string, now time.Time,
	refused error) (model.Principal, *time.Time, error) {
	if isThere, err := k.anyImported(ctx, now); err != nil || !isThere {
		return model.Principal{}, nil, cmp.Or(err, refused)
	}
	tenant, key, err := k.store.ImportedKey(ctx, secret)
	if known, ok := errors.AsType[*model.Error](err); ok && known.Code == model.NotFound {
		return model.Principal{}, nil, refused
	}
	if err != nil {
		return model.Principal{}, nil, err
	}
	if !key.Matches(secret) || !key.Usable(now) {
		return model.Principal{}, nil, refused
	}
	return key.Principal(), key.ExpiresAt, touch(ctx, tenant, key, now)
}

// anyImported reports whether there are keys from other servers. It queries the database at most once per rememberFor.
func (k *Keys) anyImported(ctx context.Context, now time.Time) (bool, error) {
	k.importedMu.Lock()
	defer k.importedMu.Unlock()
	if now.Before(k.importedUntil) {
		return k.hasImported.Load(), nil
	}
	isThere, err := k.store.HasImportedKeys(ctx)
	if err != nil {
		return false, err
	}
	k.hasImported.Store(isThere)
	k.importedUntil = now.Add(rememberFor)
	return isThere, nil
}

// token does the same as key, for an access token.
func (k *Keys) token(ctx context.Context, text string, now time.Time) (model.Principal, *time.Time, error) {
	refused := model.Errorf(model.Unauthenticated, "the access token is invalid or has expired: create another one")
	companyID, hash, ok := model.ParseAccessToken(text)
	if !ok {
		return model.Principal{}, nil, refused
	}
	tenant := k.store.Tenant(companyID)
	token, err := tenant.AccessToken(ctx, hash)
	if known, ok := errors.AsType[*model.Error](err); ok && known.Code == model.NotFound {
		return model.Principal{}, nil, refused
	}
	if err != nil {
		return model.Principal{}, nil, err
	}
	if !token.Usable(now) {
		return model.Principal{}, nil, refused
	}
	expires := token.ExpiresAt
	if keyExpires := token.APIKey.ExpiresAt; keyExpires != nil && keyExpires.Before(expires) {
		expires = *keyExpires
	}
	return token.Principal(), &expires, touch(ctx, tenant, token.APIKey, now)
}

// touch records the use of a key, at most once per touchEvery.
func touch(ctx context.Context, tenant *db.Tenant, key *model.APIKey, now time.Time) error {
	if key.LastUsedAt != nil && now.Sub(*key.LastUsedAt) < touchEvery {
		return nil
	}
	return tenant.TouchAPIKey(ctx, key.ID, now)
}
