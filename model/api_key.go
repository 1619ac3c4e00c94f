package model

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// MaxAPIKeys is how many API keys a company may have that are neither revoked nor expired.
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

// IsNode lets loaders follow the key; it is no Node of the schema.
func (*APIKey) IsNode() {}

// Cursor is its place among the company's keys.
func (k *APIKey) Cursor() Cursor { return Cursor{k.CreatedAt, k.ID} }

// Usable reports whether the key is neither revoked nor expired at the time.
func (k *APIKey) Usable(at time.Time) bool {
	return k.RevokedAt == nil && (k.ExpiresAt == nil || at.Before(*k.ExpiresAt))
}

// secretLength is the number of random characters of a secret, 5 bits each.
const (
	secretLength = 32
	prefixLength = 6
)

const keyKind = "ag"

// NewAPIKey makes a key of the company and returns it with its secret, or BAD_INPUT with every bound
// that the input breaks.
//
// A secret is "ag_", the part of the company's id behind its prefix, "_", 32 random characters and 8
// of checksum. So a secret names its company, secret scanners can recognise it, and one that was
// mistyped is refused without asking the database.
func NewAPIKey(companyID string, in CreateAPIKeyInput, now time.Time) (*APIKey, string, error) {
	var faults Fields
	faults.name("name", in.Name, 100)
	faults.scopes(in.Scopes)
	expiresAt := in.ExpiresAt
	if expiresAt != nil {
		// As exact as it is stored.
		expiresAt = new(expiresAt.UTC().Truncate(time.Microsecond))
		if !expiresAt.After(now) {
			faults.Add("expiresAt", "must lie in the future")
		}
	}
	body, secret := newSecret(keyKind, companyID)
	return &APIKey{
		ID: NewID("key"), Name: in.Name, Prefix: prefixOf(body), Hash: hashOf(secret),
		Scopes: unique(in.Scopes), CreatedAt: now, ExpiresAt: expiresAt,
	}, secret, faults.Err()
}

// scopes checks those that a credential is to have.
func (f *Fields) scopes(scopes []APIKeyScope) {
	if len(scopes) == 0 {
		f.Add("scopes", "must hold at least one scope")
	}
	for i, scope := range scopes {
		if !scope.IsValid() {
			f.Add(fmt.Sprintf("scopes.%d", i), "must be one of read, write, simulate, admin")
		}
	}
}

// newSecret makes a secret of the kind, and returns it also without its checksum.
func newSecret(kind, companyID string) (body, secret string) {
	var random [secretLength * 5 / 8]byte
	_, _ = rand.Read(random[:])
	body = kind + "_" + strings.TrimPrefix(companyID, "company_") + "_" + crockford.EncodeToString(random[:])
	return body, body + checksum(body)
}

// ParseAPIKey reads which company a secret names and the prefix of its key; false when it is not a
// secret of ours.
func ParseAPIKey(secret string) (companyID, prefix string, ok bool) {
	companyID, body, ok := parseSecret(keyKind, secret)
	if !ok {
		return "", "", false
	}
	return companyID, prefixOf(body), true
}

// parseSecret reads a secret of the kind as newSecret makes it.
func parseSecret(kind, secret string) (companyID, body string, ok bool) {
	if len(secret) > 200 || len(secret) < 8 || !strings.HasPrefix(secret, kind+"_") {
		return "", "", false
	}
	body = secret[:len(secret)-8]
	company, random, ok := strings.Cut(strings.TrimPrefix(body, kind+"_"), "_")
	if !ok || len(random) != secretLength || checksum(body) != secret[len(body):] {
		return "", "", false
	}
	return "company_" + company, body, true
}

// Matches reports, in constant time, whether the secret is the key's.
func (k *APIKey) Matches(secret string) bool {
	return subtle.ConstantTimeCompare(k.Hash, hashOf(secret)) == 1
}

func checksum(body string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body))) }

func prefixOf(body string) string { return body[:len(body)-secretLength+prefixLength] }

func hashOf(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
