package gateway

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestAddressesThatGuessHaveToWait(t *testing.T) {
	t.Parallel()
	f := newFailures()
	for range failedPerMinute {
		require.NoError(t, f.check("203.0.113.7:1"))
		f.count("203.0.113.7:1")
		f.count("10.1.2.3:1")
		f.count("[2001:db8::1]:1")
	}
	var fault *model.Error
	require.ErrorAs(t, f.check("203.0.113.7:2"), &fault)
	require.Equal(t, model.RateLimited, fault.Code)
	require.Error(t, f.check("[2001:db8::2]:1"), "of the same network")
	require.NoError(t, f.check("203.0.113.8:2"))
	require.NoError(t, f.check("10.1.2.3:1"), "a proxy")
}
