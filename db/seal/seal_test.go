package seal_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/seal"
)

func TestSealedSecretsOpenForTheirOwner(t *testing.T) {
	t.Parallel()
	sealer, err := seal.New(bytes.Repeat([]byte{7}, seal.KeySize))
	require.NoError(t, err)
	sealed, err := sealer.Seal("company/tool", []byte("secret"))
	require.NoError(t, err)
	require.NotContains(t, string(sealed), "secret")
	again, err := sealer.Seal("company/tool", []byte("secret"))
	require.NoError(t, err)
	require.NotEqual(t, sealed, again, "the nonce is random")

	opened, err := sealer.Open("company/tool", sealed)
	require.NoError(t, err)
	require.Equal(t, "secret", string(opened))
	_, err = sealer.Open("company/another", sealed)
	require.Error(t, err, "another owner cannot open it")
	_, err = sealer.Open("company/tool", sealed[:5])
	require.ErrorIs(t, err, seal.ErrTooShort)
	other, err := seal.New(bytes.Repeat([]byte{8}, seal.KeySize))
	require.NoError(t, err)
	_, err = other.Open("company/tool", sealed)
	require.ErrorIs(t, err, seal.ErrOtherKey)
}

func TestSealingNeedsAKey(t *testing.T) {
	t.Parallel()
	_, err := seal.New([]byte("short"))
	require.EqualError(t, err, "the secret key must have 32 bytes, not 5")
	sealer, err := seal.New(nil)
	require.NoError(t, err)
	_, err = sealer.Seal("owner", []byte("secret"))
	require.ErrorIs(t, err, seal.ErrNoKey)
	_, err = sealer.Open("owner", []byte("anything at all"))
	require.ErrorIs(t, err, seal.ErrNoKey)
}
