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
// lookup. The zero value has no key, and signs nothing.
type Signer struct{ key []byte }

// signerInfo tells the signer's key apart from others that are derived from the same one.
const signerInfo = "agentgraph: signatures of API keys and access tokens"

// NewSigner returns a Signer with a key that is derived from the secret key, or, for an empty one, without a key.
func NewSigner(secretKey []byte) Signer {
	if len(secretKey) == 0 {
		return Signer{}
	}
	// The only error is a length that SHA-256 cannot derive.
	key, _ := hkdf.Key(sha256.New, secretKey, nil, signerInfo, sha256.Size)
	return Signer{key}
}

// Lengths of the parts of a secret: random characters and those of a signature, 5 bits each, and of a checksum.
const (
	secretLength    = 32
	signatureLength = 16
	checksumLength  = 8
	prefixLength    = 6
)

// maxSecretLength is that of a secret of the longest company id.
const maxSecretLength = 200

// newSecret makes a secret of the kind, and returns it also without what follows its random characters.
//
// A secret is the kind, "_", the name of the company, "_", 32 random characters, 16 of signature, if the Signer has a
// key, and 8 of checksum. So a secret names its company, secret scanners can recognise it, and one that was mistyped or
// invented is refused without asking the database.
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

// importedCompany begins the names of companies with ids of another form. No other name begins with it: ids that were
// made here have no i.
const importedCompany = "i"

// nameOfCompany is what stands for a company in secrets: the part of its id behind the prefix, or, for an id
// of another form, importedCompany and the whole id in letters and digits.
func nameOfCompany(id string) string {
	if name, ok := strings.CutPrefix(id, companyPrefix); ok && !strings.Contains(name, "_") &&
		!strings.HasPrefix(name, importedCompany) {
		return name
	}
	return importedCompany + crockford.EncodeToString([]byte(id))
}

// companyOfName returns the id of the company that a name stands for.
func companyOfName(name string) (id string, ok bool) {
	encoded, isImported := strings.CutPrefix(name, importedCompany)
	if !isImported {
		return companyPrefix + name, true
	}
	text, err := crockford.DecodeString(encoded)
	// What is encoded otherwise than here stands for nothing.
	return string(text), err == nil && nameOfCompany(string(text)) == name
}

func (s Signer) signature(body string) string {
	mac := hmac.New(sha256.New, s.key)
	_, _ = mac.Write([]byte(body)) // which does not fail
	return crockford.EncodeToString(mac.Sum(nil)[:signatureLength*5/8])
}

// Doubts reports whether the text has the form of a secret but not the Signer's signature. It may be forged, or it
// was made without a key or with another one. A Signer without a key doubts nothing.
func (s Signer) Doubts(text string) bool {
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

// parseSecret parses a secret that newSecret made, without its signature.
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

// HashOfSecret is what is kept of a secret.
func HashOfSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
