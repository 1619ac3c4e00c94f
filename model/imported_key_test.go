package model

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestForeignSecretsAreImported(t *testing.T) {
	t.Parallel()
	company := NewID("company")
	take := func(secret string) (*APIKey, bool, error) {
		return ImportAPIKey(company, ImportAPIKeyInput{Name: "v1", Scopes: []APIKeyScope{APIKeyScopeRead}, Secret: secret},
			now)
	}
	for _, secret := range []string{"0123456789abcdef01234567", "3F2504E0-4F89-41D3-9A0C-0305E82C3301", "sk-live-" +
		strings.Repeat("aB3", 64)} {
		key, isForeign, err := take(secret)
		require.NoError(t, err, secret)
		require.True(t, isForeign)
		require.True(t, IsForeignSecret(secret))
		require.Equal(t, secret[:4], key.Prefix)
		require.True(t, key.Matches(secret))
		require.False(t, key.Matches(secret+"x"))
	}
	for secret, says := range map[string]string{
		"0123456789abcdef0123456":              "24 to 200 ASCII characters",
		strings.Repeat("0123456789", 20) + "x": "24 to 200 ASCII characters",
		strings.Repeat("012345678", 5):         "at least 10 of them different",
		"0123456789abcdef 01234567":            "without spaces",
		"0123456789abcdef\n01234567":           "without spaces",
		"0123456789abcdéf01234567":             "ASCII",
		"0123456789abcdef\x7f01234567":         "ASCII",
		"ag_0123456789abcdef01234567":          "begins like a key of agentgraph",
		"agt_0123456789abcdef01234567":         "begins like a key of agentgraph",
	} {
		_, _, err := take(secret)
		require.ErrorContains(t, err, says, secret)
		require.False(t, IsForeignSecret(secret), secret)
	}
	_, _, err := ImportAPIKey(company, ImportAPIKeyInput{Secret: "short"}, now)
	require.ErrorContains(t, err, "name")
	require.ErrorContains(t, err, "scopes")
	require.ErrorContains(t, err, "secret")

	// A secret of this program belongs to its company only.
	made, secret := newKey(t, company)
	key, isForeign, err := take(secret)
	require.NoError(t, err)
	require.False(t, isForeign)
	require.Equal(t, made.Hash, key.Hash)
	require.Equal(t, made.Prefix, key.Prefix)
	_, secret = newKey(t, NewID("company"))
	_, _, err = take(secret)
	require.ErrorContains(t, err, "names another company")
}

// Secrets also name companies with imported ids.
func TestSecretsNameCompaniesWithOtherIDs(t *testing.T) {
	t.Parallel()
	for _, company := range []string{"acme", "42", "a_b_c", "company_a_b", "company_i", "company_",
		"3F2504E0-4F89-41D3-9A0C-0305E82C3301", strings.Repeat("z", 64)} {
		key, secret := newKey(t, company)
		owner, prefix, ok := ParseAPIKey(secret)
		require.True(t, ok, company)
		require.Equal(t, company, owner)
		require.Equal(t, key.Prefix, prefix)
		_, token := Signer{}.newSecret(tokenKind, company)
		owner, _, ok = ParseAccessToken(token)
		require.True(t, ok)
		require.Equal(t, company, owner)
	}
	require.Equal(t, "company_01abc", func() string { id, _ := companyOfName("01abc"); return id }())
	for _, name := range []string{"i!", "i", "iACME", nameOfCompany("acme") + "\n", importedCompany +
		crockford.EncodeToString([]byte("company_01abc"))} {
		if id, ok := companyOfName(name); ok {
			require.Equal(t, name, nameOfCompany(id))
		}
	}
	_, ok := companyOfName(importedCompany + crockford.EncodeToString([]byte("company_01abc")))
	require.False(t, ok, "a generated id has another form in secrets")
}

func TestIDsAreValidated(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"1", "agent_01h2x", "3F2504E0-4F89-41D3-9A0C-0305E82C3301", "a.b~c:d@e-f_g",
		strings.Repeat("9", MaxIDLength), NewID("agent")} {
		require.True(t, IsID(id), id)
	}
	for _, id := range []string{"", ".", "..", "a/b", "a b", "a\n", "é", "-a", "a%2Fb", "a?b", "a#b",
		strings.Repeat("9", MaxIDLength+1), "a\x00"} {
		require.False(t, IsID(id), "%q", id)
	}
}
