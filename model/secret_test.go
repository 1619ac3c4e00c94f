package model

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSignedSecretsAreVerified(t *testing.T) {
	t.Parallel()
	signer := NewSigner(bytes.Repeat([]byte{7}, 32))
	company := NewID("company")
	in := CreateAPIKeyInput{Name: "a", Scopes: []APIKeyScope{APIKeyScopeRead}}
	key, secret, err := NewAPIKey(signer, company, in, now)
	require.NoError(t, err)
	require.Regexp(t, `^ag_[0-9a-z]{26}_[0-9a-z]{56}$`, secret)
	owner, prefix, ok := ParseAPIKey(secret)
	require.True(t, ok)
	require.Equal(t, company, owner)
	require.Equal(t, key.Prefix, prefix)
	require.True(t, key.Matches(secret))
	require.False(t, signer.LacksSignature(secret))
	_, token, err := NewAccessToken(signer, &APIKey{Owned: Owned{CompanyID: company}, Scopes: in.Scopes},
		CreateAccessTokenInput{Scopes: in.Scopes, TTLSeconds: 60}, now)
	require.NoError(t, err)
	require.Regexp(t, `^agt_[0-9a-z]{26}_[0-9a-z]{56}$`, token)
	require.False(t, signer.LacksSignature(token))
	_, _, ok = ParseAccessToken(token)
	require.True(t, ok)

	// Other signers can parse the secret, but do not accept it as theirs.
	another := NewSigner(bytes.Repeat([]byte{8}, 32))
	require.True(t, another.LacksSignature(secret))
	require.True(t, another.LacksSignature(token))
	require.False(t, Signer{}.LacksSignature(secret), "a signer without a key accepts any signature")
	_, unsigned := newKey(t, company)
	require.True(t, signer.LacksSignature(unsigned))
	require.False(t, Signer{}.LacksSignature(unsigned))

	// Text that is not a secret is refused with another error.
	for _, text := range []string{"", "x", secret[:len(secret)-1], strings.ToUpper(secret)} {
		require.False(t, signer.LacksSignature(text))
		_, _, ok = ParseAPIKey(text)
		require.False(t, ok)
	}
	// The kind and the company are signed as well, and a key's signature does not make a token.
	body := secret[:len(secret)-checksumLength]
	for _, forged := range []string{
		strings.Replace(body, "ag_", "agt_", 1), strings.Replace(body, strings.TrimPrefix(company, "company_"), "01", 1),
		body[:len(body)-signatureLength] + strings.Repeat("0", signatureLength), body[:len(body)-signatureLength],
	} {
		require.True(t, signer.LacksSignature(forged+checksum(forged)), forged)
	}
}

func TestSignerNeedsAKey(t *testing.T) {
	t.Parallel()
	require.Equal(t, Signer{}, NewSigner(nil))
	require.Equal(t, Signer{}, NewSigner([]byte{}))
	require.NotEqual(t, NewSigner(bytes.Repeat([]byte{1}, 32)), NewSigner(bytes.Repeat([]byte{2}, 32)))
}
