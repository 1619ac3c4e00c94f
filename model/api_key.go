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

// Usable reports whether the key is neither revoked nor expired at the time.
func (k *APIKey) Usable(at time.Time) bool {
	return k.RevokedAt == nil && (k.ExpiresAt == nil || at.Before(*k.ExpiresAt))
}

// secretLength is the number of random characters of a secret, 5 bits each.
const (
	secretLength = 32
	prefixLength = 6
)

// NewAPIKey makes a key of the company and returns it with its secret, or BAD_INPUT with every bound
// that the input breaks.
//
// A secret is "ag_", the part of the company's id behind its prefix, "_", 32 random characters and 8
// of checksum. So a secret names its company, secret scanners can recognise it, and one that was
// mistyped is refused without asking the database.
func NewAPIKey(companyID string, in CreateAPIKeyInput, now time.Time) (*APIKey, string, error) {
	var faults Fields
	faults.name("name", in.Name, 100)
	if len(in.Scopes) == 0 {
		faults.Add("scopes", "must hold at least one scope")
	}
	for i, scope := range in.Scopes {
		if !scope.IsValid() {
			faults.Add(fmt.Sprintf("scopes.%d", i), "must be one of read, write, simulate, admin")
		}
	}
	expiresAt := in.ExpiresAt
	if expiresAt != nil {
		// As exact as it is stored.
		expiresAt = new(expiresAt.UTC().Truncate(time.Microsecond))
		if !expiresAt.After(now) {
			faults.Add("expiresAt", "must lie in the future")
		}
	}
	var random [secretLength * 5 / 8]byte
	_, _ = rand.Read(random[:])
	body := "ag_" + strings.TrimPrefix(companyID, "company_") + "_" + crockford.EncodeToString(random[:])
	secret := body + checksum(body)
	return &APIKey{
		ID: NewID("key"), Name: in.Name, Prefix: prefixOf(body), Hash: hashOf(secret),
		Scopes: unique(in.Scopes), CreatedAt: now, ExpiresAt: expiresAt,
	}, secret, faults.Err()
}

// ParseAPIKey reads which company a secret names and the prefix of its key; false when it is not a
// secret of ours.
func ParseAPIKey(secret string) (companyID, prefix string, ok bool) {
	if len(secret) > 200 || len(secret) < 8 || !strings.HasPrefix(secret, "ag_") {
		return "", "", false
	}
	body := secret[:len(secret)-8]
	company, random, ok := strings.Cut(strings.TrimPrefix(body, "ag_"), "_")
	if !ok || len(random) != secretLength || checksum(body) != secret[len(body):] {
		return "", "", false
	}
	return "company_" + company, prefixOf(body), true
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
