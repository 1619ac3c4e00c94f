package model

import (
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// MaxAPIKeys bounds the valid API keys of a company: neither revoked nor expired.
const MaxAPIKeys = 100

// APIKey is a credential of a company. The secret itself is never stored.
type APIKey struct {
	bun.BaseModel `bun:"table:api_keys,alias:api_key"`
	Owned

	ID     string `bun:",pk"`
	Name   string
	Prefix string
	// Hash is the SHA-256 of the secret.
	Hash       []byte
	Scopes     []APIKeyScope `bun:",array"`
	CreatedAt  time.Time
	LastUsedAt *time.Time
	ExpiresAt  *time.Time
	RevokedAt  *time.Time
}

// Cursor returns the position of this object among the company's keys.
func (k *APIKey) Cursor() Cursor { return Cursor{k.CreatedAt, k.ID} }

// Usable reports whether the key is neither revoked nor expired at the time.
func (k *APIKey) Usable(at time.Time) bool {
	return k.RevokedAt == nil && (k.ExpiresAt == nil || at.Before(*k.ExpiresAt))
}

const keyKind = "ag"

// NewAPIKey returns a new key of the company with its secret. It returns BAD_INPUT with every bound that the input
// breaks. The secret begins with "ag_"; see Signer.newSecret for its format.
func NewAPIKey(signer Signer, companyID string, in CreateAPIKeyInput, now time.Time) (*APIKey, string, error) {
	var faults Fields
	faults.name("name", in.Name, 100)
	faults.scopes(in.Scopes)
	expiresAt := in.ExpiresAt
	if expiresAt != nil {
		// The time is truncated to the precision of the database.
		expiresAt = new(expiresAt.UTC().Truncate(time.Microsecond))
		if !expiresAt.After(now) {
			faults.Add("expiresAt", "must be in the future")
		}
	}
	body, secret := signer.newSecret(keyKind, companyID)
	return &APIKey{
		ID: NewID("key"), Name: in.Name, Prefix: prefixOf(body), Hash: HashOfSecret(secret),
		Scopes: Unique(in.Scopes), CreatedAt: now, ExpiresAt: expiresAt,
	}, secret, faults.Err()
}

// scopes validates the scopes of a new credential.
func (f *Fields) scopes(scopes []APIKeyScope) {
	if len(scopes) == 0 {
		f.Add("scopes", "must have at least one scope")
	}
	for i, scope := range scopes {
		if !scope.IsValid() {
			f.Add(fmt.Sprintf("scopes.%d", i), "must be one of %s", scopeNames())
		}
	}
	if slices.Contains(scopes, APIKeyScopeChat) && len(Unique(scopes)) > 1 {
		f.Add("scopes", "must not combine chat with other scopes")
	}
}

// scopeNames lists all scopes.
func scopeNames() string {
	names := Map(AllAPIKeyScope, func(scope APIKeyScope) string { return string(scope) })
	return strings.Join(names, ", ")
}

// ParseAPIKey returns the company of a secret and the prefix of its key, or false when the text is not one of our
// secrets.
func ParseAPIKey(secret string) (companyID, prefix string, ok bool) {
	companyID, body, ok := parseSecret(keyKind, secret)
	if !ok {
		return "", "", false
	}
	return companyID, prefixOf(body), true
}

// Matches reports, in constant time, whether the secret belongs to the key.
func (k *APIKey) Matches(secret string) bool {
	return subtle.ConstantTimeCompare(k.Hash, HashOfSecret(secret)) == 1
}

// Principal returns the principal of the key. A key with the scope chat reaches only the chats that it started.
func (k *APIKey) Principal() Principal {
	p := Principal{CompanyID: k.CompanyID, KeyID: k.ID, Scopes: k.Scopes}
	if isChat(k.Scopes) {
		p.Reach = &Reach{Holder: k.Hash}
	}
	return p
}
