package db

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/agentgraph/agentgraph/model"
)

// sealer encrypts with AES-GCM; its zero value has no key and refuses.
type sealer struct{ aead cipher.AEAD }

func newSealer(key []byte) (sealer, error) {
	if len(key) == 0 {
		return sealer{}, nil
	}
	if len(key) != 32 {
		return sealer{}, fmt.Errorf("the secret key must have 32 bytes, not %d", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCM(block)
	return sealer{aead}, err
}

// seal returns a random nonce and the encrypted text, which opens for the same owner alone.
func (s sealer) seal(owner string, text []byte) ([]byte, error) {
	if s.aead == nil {
		return nil, model.Errorf(model.Unprocessable, "headers are kept encrypted, and this server has no secret key")
	}
	nonce := make([]byte, s.aead.NonceSize())
	_, _ = rand.Read(nonce)
	return s.aead.Seal(nonce, nonce, text, []byte(owner)), nil
}

// open decrypts what seal returned for the owner.
func (s sealer) open(owner string, sealed []byte) ([]byte, error) {
	if s.aead == nil {
		return nil, errors.New("this server has no secret key")
	}
	if len(sealed) < s.aead.NonceSize() {
		return nil, errors.New("what is stored is too short")
	}
	return s.aead.Open(nil, sealed[:s.aead.NonceSize()], sealed[s.aead.NonceSize():], []byte(owner))
}
