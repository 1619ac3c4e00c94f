package evaluation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
)

// A company compares the prompts of one request at a time.
func TestBlamesWaitForASlot(t *testing.T) {
	t.Parallel()
	v := New(engine.New(offline.New(), engine.Options{}), Options{})
	tenant := dbtest.New(t).Tenant("company_own")
	require.NoError(t, v.blames.Enter(t.Context(), tenant.CompanyID()))
	require.False(t, v.blames.TryEnter(tenant.CompanyID()), "a company has one slot")
	waiting, giveUp := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer giveUp()
	_, err := v.BlamesOfTests(waiting, tenant, []string{"test_1"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	v.blames.Leave(tenant.CompanyID())
	for range 2 {
		_, err = v.BlamesOfTests(t.Context(), tenant, []string{"test_1"})
		require.NoError(t, err, "each request frees its slot")
	}
}
