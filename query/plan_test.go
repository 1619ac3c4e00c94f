package query

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// A plan must not answer a caller who may not read all of its fields: the generated executor reports that.
func TestPlansPermitWhoMayHaveAllFields(t *testing.T) {
	t.Parallel()
	reader := model.Principal{Scopes: []model.APIKeyScope{model.APIKeyScopeRead}}
	admin := model.Principal{Scopes: []model.APIKeyScope{model.APIKeyScopeAdmin}}
	token := model.Principal{Scopes: admin.Scopes, TokenHash: []byte{1}}
	read := &plan{needs: []need{{scope: model.APIKeyScopeRead}}}
	both := &plan{needs: []need{{scope: model.APIKeyScopeRead}, {scope: model.APIKeyScopeAdmin}}}
	keyOnly := &plan{needs: []need{{scope: model.APIKeyScopeRead, keyOnly: true}}}
	require.True(t, read.permits(reader))
	require.False(t, read.permits(model.Principal{}))
	require.False(t, both.permits(reader))
	require.True(t, both.permits(admin))
	require.True(t, keyOnly.permits(admin))
	require.False(t, keyOnly.permits(token))
}
