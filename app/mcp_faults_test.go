package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMCPRefusesCursorsOfNoList(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Cursors")
	for _, method := range []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list"} {
		_, text := postMCP(t, g.url, key, `{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":{"cursor":"bad"}}`, nil)
		require.Contains(t, text, `"id":7`, method)
		require.Contains(t, text, `"code":-32602`, method)
		require.NotContains(t, text, "after", method)
	}
}
