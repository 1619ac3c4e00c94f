// Package seal encrypts secrets for the database. Each sealed secret belongs to one owner.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
)

// KeySize is the length of a key in bytes.
const KeySize = 32

var (
	// ErrNoKey is returned if the Sealer has no key.
	ErrNoKey = errors.New("no secret key is set")
	// ErrOtherKey is returned for a text that was sealed with another key, or for another owner.
	ErrOtherKey = errors.New("it was encrypted with another secret key")
	// ErrTooShort is returned for a sealed text that is shorter than a nonce.
	ErrTooShort = errors.New("the sealed text is too short")
)

// Sealer encrypts with AES-256-GCM. Its zero value has no key and returns ErrNoKey.
type Sealer struct{ aead cipher.AEAD }

// New returns a Sealer with a key of KeySize bytes. If the key is empty, the Sealer has none.
func New(key []byte) (Sealer, error) {
	if len(key) == 0 {
		return Sealer{}, nil
	}
	if len(key) != KeySize {
		return Sealer{}, fmt.Errorf("the secret key must have %d bytes, not %d", KeySize, len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return Sealer{}, err
	}
	aead, err := cipher.NewGCM(block)
	return Sealer{aead}, err
}

// Seal returns a random nonce and the encrypted text. Open needs the same owner.
func (s Sealer) Seal(owner string, text []byte) ([]byte, error) {
	if s.aead == nil {
		return nil, ErrNoKey
	}
	nonce := make([]byte, s.aead.NonceSize())
	_, _ = rand.Read(nonce)
	return s.aead.Seal(nonce, nonce, text, []byte(owner)), nil
}

// Open decrypts the result of Seal for the same owner.
func (s Sealer) Open(owner string, sealed []byte) ([]byte, error) {
	if s.aead == nil {
		return nil, ErrNoKey
	}
	if len(sealed) < s.aead.NonceSize() {
		return nil, ErrTooShort
	}
	text, err := s.aead.Open(nil, sealed[:s.aead.NonceSize()], sealed[s.aead.NonceSize():], []byte(owner))
	if err != nil {
		return nil, ErrOtherKey // the cipher's error says no more
	}
	return text, nil
}
