package model

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func newKey(t require.TestingT, company string) (*APIKey, string) {
	key, secret, err := NewAPIKey(Signer{}, company, CreateAPIKeyInput{Name: "a", Scopes: []APIKeyScope{APIKeyScopeRead}},
		now)
	require.NoError(t, err)
	return key, secret
}

func TestSecretNamesItsCompany(t *testing.T) {
	t.Parallel()
	company := NewID("company")
	key, secret := newKey(t, company)
	require.Regexp(t, `^ag_[0-9a-z]{26}_[0-9a-z]{40}$`, secret)
	owner, prefix, ok := ParseAPIKey(secret)
	require.True(t, ok)
	require.Equal(t, company, owner)
	require.Equal(t, key.Prefix, prefix)
	require.True(t, strings.HasPrefix(secret, prefix))
	require.GreaterOrEqual(t, len(secret)-len(prefix), 26, "most of the secret is shown nowhere")
	require.True(t, key.Matches(secret))
	_, other := newKey(t, company)
	require.NotEqual(t, secret, other)
	require.False(t, key.Matches(other))
	require.False(t, (&APIKey{}).Matches(""))
}

func TestMistypedSecretsAreRefused(t *testing.T) {
	t.Parallel()
	_, secret := newKey(t, NewID("company"))
	rapid.Check(t, func(r *rapid.T) {
		at := rapid.IntRange(0, len(secret)-1).Draw(r, "at")
		wrong := rapid.ByteRange(' ', '~').Filter(func(b byte) bool { return b != secret[at] }).Draw(r, "wrong")
		for _, mistyped := range []string{
			secret[:at] + string(wrong) + secret[at+1:], secret[:at] + secret[at+1:], secret[:at] + string(wrong) + secret[at:],
			secret[:at],
		} {
			_, _, ok := ParseAPIKey(mistyped)
			require.False(r, ok, mistyped)
		}
	})
}

func TestParseAPIKeyNeverPanics(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		body := rapid.OneOf(
			rapid.String(), rapid.StringMatching(`ag_[a-z0-9_]{0,60}`), rapid.StringMatching(`(ag_)?_{0,3}[0-9a-z]{0,40}`),
			rapid.StringMatching(`_[0-9a-z]{32}|ag_[0-9a-z]{32}|ag__[0-9a-z]{32}|_{1,2}[0-9a-z]{31}`),
		).Draw(r, "body")
		for _, secret := range []string{body, body + checksum(body), checksum(body)} {
			company, prefix, ok := ParseAPIKey(secret)
			require.Equal(r, ok, company != "")
			require.Equal(r, ok, prefix != "")
			if ok {
				require.True(r, strings.HasPrefix(secret, "ag_"))
			}
		}
	})
	_, _, ok := ParseAPIKey(strings.Repeat("a", 1<<20))
	require.False(t, ok)
}

func TestAPIKeysAreBounded(t *testing.T) {
	t.Parallel()
	create := func(in CreateAPIKeyInput) error {
		in.Name = "a"
		_, _, err := NewAPIKey(Signer{}, "company_a", in, now)
		return err
	}
	read := []APIKeyScope{APIKeyScopeRead}
	faults(t, create(CreateAPIKeyInput{}), "scopes", "at least one")
	faults(t, create(CreateAPIKeyInput{Scopes: []APIKeyScope{"read", "root"}}), "scopes.1",
		"read, browse, prompts, contacts, consumption, write, simulate, mutate, chat, admin")
	for _, at := range []time.Time{now, now.Add(-time.Hour), now.Add(time.Nanosecond), {}} {
		faults(t, create(CreateAPIKeyInput{Scopes: read, ExpiresAt: &at}), "expiresAt", "future")
	}
	require.NoError(t, create(CreateAPIKeyInput{Scopes: read, ExpiresAt: new(now.Add(time.Microsecond))}))
}

func TestExpiredAndRevokedKeysAreUnusable(t *testing.T) {
	t.Parallel()
	require.True(t, (&APIKey{}).Usable(now))
	require.True(t, (&APIKey{ExpiresAt: new(now.Add(1))}).Usable(now))
	require.False(t, (&APIKey{ExpiresAt: &now}).Usable(now))
	require.False(t, (&APIKey{RevokedAt: new(now.Add(time.Hour))}).Usable(now))
}
