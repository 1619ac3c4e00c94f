package model

import (
	"strings"
	"time"
)

// Bounds of an imported secret. Only its hash is stored, so the secret's length and variety alone protect it against
// guessing. A random text of hexadecimal digits with the minimum length has 96 bits.
const (
	minImportedSecret    = 24
	maxImportedSecret    = maxSecretLength
	minImportedVariety   = 10
	importedPrefixLength = 4
)

// ImportAPIKeyInput describes an existing key.
type ImportAPIKeyInput struct {
	Name      string
	Scopes    []APIKeyScope
	ExpiresAt *time.Time
	// Secret is what clients send as the key.
	Secret string
}

// ImportAPIKey returns a key of the company for an existing secret. isForeign is true for a secret of another server.
// It is false for a secret of this program, which must name the company. It returns BAD_INPUT with every bound that the
// input breaks.
func ImportAPIKey(companyID string, in ImportAPIKeyInput, now time.Time) (key *APIKey, isForeign bool, err error) {
	var faults Fields
	key, _, err = NewAPIKey(Signer{}, companyID, CreateAPIKeyInput{Name: in.Name, Scopes: in.Scopes,
		ExpiresAt: in.ExpiresAt}, now)
	owner, prefix, isOwn := ParseAPIKey(in.Secret)
	switch {
	case isOwn && owner != companyID:
		faults.Add("secret", "must be a key of this company, but names another company")
	case isOwn:
		key.Prefix = prefix
	case hasOwnForm(in.Secret):
		faults.Add("secret", "must be complete: it begins like a key of agentgraph, but is not valid")
	case !IsForeignSecret(in.Secret):
		faults.Add("secret", "must have %d to %d ASCII characters without spaces, at least %d of them different",
			minImportedSecret, maxImportedSecret, minImportedVariety)
	default:
		key.Prefix = in.Secret[:importedPrefixLength]
	}
	key.Hash = HashOfSecret(in.Secret)
	return key, !isOwn, JoinFaults(err, faults.Err())
}

// hasOwnForm reports whether the text begins like a credential of this program.
func hasOwnForm(text string) bool {
	return strings.HasPrefix(text, keyKind+"_") || strings.HasPrefix(text, tokenKind+"_")
}

// IsForeignSecret reports whether the text may be an imported secret, without a lookup.
func IsForeignSecret(text string) bool {
	if len(text) < minImportedSecret || len(text) > maxImportedSecret || hasOwnForm(text) {
		return false
	}
	var seen [128]bool
	variety := 0
	for _, c := range []byte(text) {
		if c <= ' ' || c >= 0x7f {
			return false
		}
		if !seen[c] {
			seen[c] = true
			variety++
		}
	}
	return variety >= minImportedVariety
}
