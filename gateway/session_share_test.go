package gateway

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// A token may use only a share of its key's sessions, so that one page cannot use up all of them. The key itself may
// use all.
func TestTokenGetsAShareOfItsKeysSessions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		principal model.Principal
		most      int
	}{
		"a page's token": {model.Principal{KeyID: "key", TokenHash: []byte("hash"), Reach: &model.Reach{}}, 2},
		"a page's key":   {model.Principal{KeyID: "key", Reach: &model.Reach{}}, 20},
		"another token":  {model.Principal{KeyID: "key", TokenHash: []byte("hash")}, 20},
	} {
		s := newSessions(nil, 20, nil)
		for n := range c.most {
			_, err := s.begin(c.principal, func() {})
			require.NoError(t, err, "%s, the %d.", name, n+1)
		}
		_, err := s.begin(c.principal, func() {})
		require.ErrorContains(t, err, "the maximum: close some first", name)
	}
}
