package model

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"strings"
)

// Signer signs the secrets of API keys and access tokens, so that forged ones can be rejected without a database
// lookup. The zero value has no key, and does not sign.
type Signer struct{ key []byte }

// signerInfo distinguishes the signer's key from others derived from the same secret key.
const signerInfo = "agentgraph: signatures of API keys and access tokens"

// NewSigner returns a Signer whose key is derived from the secret key. If that is empty, the Signer has no key.
func NewSigner(secretKey []byte) Signer {
	if len(secretKey) == 0 {
		return Signer{}
	}
	// The only error is an invalid length.
	key, _ := hkdf.Key(sha256.New, secretKey, nil, signerInfo, sha256.Size)
	return Signer{key}
}

// Lengths of the parts of a secret, in characters: random and signature with 5 bits each, and checksum.
const (
	secretLength    = 32
	signatureLength = 16
	checksumLength  = 8
	prefixLength    = 6
)

// maxSecretLength is the length of a secret of the longest company id, in characters.
const maxSecretLength = 200

// newSecret returns a new secret of the kind. body is the secret up to the end of its random characters.
//
// A secret is the kind, "_", the name of the company, "_", 32 random characters, 16 of signature if the Signer has a
// key, and 8 of checksum. So a secret names its company, and secret scanners can recognize it. A mistyped or invented
// secret is refused without a database lookup.
func (s Signer) newSecret(kind, companyID string) (body, secret string) {
	var random [secretLength * 5 / 8]byte
	_, _ = rand.Read(random[:])
	body = kind + "_" + nameOfCompany(companyID) + "_" + crockford.EncodeToString(random[:])
	secret = body
	if s.key != nil {
		secret += s.signature(body)
	}
	return body, secret + checksum(secret)
}

const companyPrefix = "company_"

// importedCompany begins the names of companies with imported ids. No other name begins with it, because generated ids
// contain no i.
const importedCompany = "i"

// nameOfCompany returns the name of a company in secrets. It is the part of a generated id after the prefix. For any
// other id, it is importedCompany and the encoded id.
func nameOfCompany(id string) string {
	if name, ok := strings.CutPrefix(id, companyPrefix); ok && !strings.Contains(name, "_") &&
		!strings.HasPrefix(name, importedCompany) {
		return name
	}
	return importedCompany + crockford.EncodeToString([]byte(id))
}

// companyOfName returns the id of the company with this name in secrets.
func companyOfName(name string) (id string, ok bool) {
	encoded, isImported := strings.CutPrefix(name, importedCompany)
	if !isImported {
		return companyPrefix + name, true
	}
	text, err := crockford.DecodeString(encoded)
	// A name in any other encoding is invalid.
	return string(text), err == nil && nameOfCompany(string(text)) == name
}

func (s Signer) signature(body string) string {
	mac := hmac.New(sha256.New, s.key)
	_, _ = mac.Write([]byte(body)) // never fails
	return crockford.EncodeToString(mac.Sum(nil)[:signatureLength*5/8])
}

// LacksSignature reports whether the text has the form of a secret, but not the Signer's signature. Such a secret is
// forged, or it was created without a key or with another one. A Signer without a key returns false.
func (s Signer) LacksSignature(text string) bool {
	if s.key == nil {
		return false
	}
	for _, kind := range []string{keyKind, tokenKind} {
		if _, body, ok := parseSecret(kind, text); ok {
			return !hmac.Equal([]byte(text[len(body):len(text)-checksumLength]), []byte(s.signature(body)))
		}
	}
	return false
}

// parseSecret parses a secret of newSecret, and checks the checksum but not the signature.
func parseSecret(kind, secret string) (companyID, body string, ok bool) {
	if len(secret) > maxSecretLength || len(secret) < checksumLength || !strings.HasPrefix(secret, kind+"_") {
		return "", "", false
	}
	summed := secret[:len(secret)-checksumLength]
	name, random, ok := strings.Cut(strings.TrimPrefix(summed, kind+"_"), "_")
	if !ok || checksum(summed) != secret[len(summed):] {
		return "", "", false
	}
	if companyID, ok = companyOfName(name); !ok {
		return "", "", false
	}
	switch len(random) {
	case secretLength:
		return companyID, summed, true
	case secretLength + signatureLength:
		return companyID, summed[:len(summed)-signatureLength], true
	}
	return "", "", false
}

func checksum(text string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(text))) }

func prefixOf(body string) string { return body[:len(body)-secretLength+prefixLength] }

// HashOfSecret returns the hash under which a secret is stored.
func HashOfSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
