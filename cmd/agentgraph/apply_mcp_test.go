package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// shopFile describes the shop and two of its tools.
const shopFile = `
mcpServers: [{name: Shop, endpoint: {url: %s, headers: {Authorization: "${TEST_SHOP_TOKEN}"}}}]
tools:
  - {name: Find, technicalName: shop_find, mcpServerId: Shop, mcpName: find, description: Finds what we sell.}
  - {name: Pay, technicalName: shop_pay, mcpServerId: Shop, mcpName: pay, approval: Ask}
`

// shop serves an MCP server with two tools to clients that send the token, and returns its URL.
func shop(t *testing.T, token string) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	for _, name := range []string{"pay", "find"} {
		server.AddTool(&mcp.Tool{Name: name, Description: "Does " + name, InputSchema: map[string]any{"type": "object"}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, nil
			})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true})
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(served.Close)
	return served.URL
}

func TestMcpServersArePulledAndApplied(t *testing.T) {
	t.Setenv("TEST_SHOP_TOKEN", "Bearer swordfish")
	c := newApplyServer(t, "--tool-allow", "127.0.0.1")
	_, key := newCompany(t, c.store, "First")
	address := shop(t, "Bearer swordfish")
	file := write(t, fmt.Sprintf(shopFile, address))
	created := "+ MCP server \"Shop\"\n    ${TEST_SHOP_TOKEN} is sent to " + address + " as the header Authorization\n" +
		"+ tool \"Find\"\n+ tool \"Pay\"\n3 created, 0 changed, 0 deleted\n"
	require.Equal(t, created, c.good(t, key, "apply", "-f", file))
	require.Equal(t, "Nothing differs.\n", c.good(t, key, "diff", "-f", file))

	for _, flags := range [][]string{{"--no-ids"}, nil} {
		dir := t.TempDir()
		c.good(t, key, append([]string{"pull", dir}, flags...)...)
		require.Equal(t, "Nothing differs.\n", c.good(t, key, "diff", "-f", dir))
		require.Equal(t, "Nothing differs.\n", c.good(t, key, "apply", "-f", dir, "--prune"))
		require.Empty(t, c.mutations)
		pulled := filesIn(t, dir)
		require.Contains(t, pulled["tools.yaml"], "approval: Ask")
		require.Contains(t, pulled["tools.yaml"], "Finds what we sell.")
		require.NotContains(t, pulled["tools.yaml"], "Does pay", "the tool follows the server's description")
		for name, text := range pulled {
			require.NotContains(t, text, "swordfish", name)
		}

		_, fresh := newCompany(t, c.store, "Second")
		t.Setenv("TOOL_SHOP_AUTHORIZATION", "Bearer swordfish")
		require.Contains(t, c.good(t, fresh, "apply", "-f", dir),
			strings.Replace(created, "TEST_SHOP_TOKEN", "TOOL_SHOP_AUTHORIZATION", 1))
		require.Contains(t, c.good(t, fresh, "apply", "-f", dir, "--prune"), "Nothing differs.\n")
		again := t.TempDir()
		c.good(t, fresh, append([]string{"pull", again}, flags...)...)
		if flags != nil {
			require.Equal(t, pulled, filesIn(t, again))
		}

		edit(t, filepath.Join(again, "tools.yaml"), "approval: Ask", "approval: Deny")
		o := c.run(t, fresh, "diff", "-f", again)
		require.Equal(t, 6, o.code, o.log)
		require.Contains(t, o.out, `~ change tool "Pay"`)
		c.good(t, fresh, "apply", "-f", again)
		require.Equal(t, []string{"updateTool"}, c.mutations)
		require.Equal(t, "Nothing differs.\n", c.good(t, fresh, "diff", "-f", again))
	}
}

func TestAnOfferOfAToolIsChangedAlone(t *testing.T) {
	t.Setenv("TEST_SHOP_TOKEN", "Bearer swordfish")
	c := newApplyServer(t, "--tool-allow", "127.0.0.1")
	_, key := newCompany(t, c.store, "First")
	file := write(t, fmt.Sprintf(shopFile, shop(t, "Bearer swordfish"))+
		"  - {name: Look, technicalName: shop_look, mcpServerId: Shop, mcpName: find}\n")
	edit(t, file, "mcpServers: [", `mcpServers: [{name: Branch, endpoint: {url: `+shop(t, "")+"}}, ")
	c.good(t, key, "apply", "-f", file)
	const look = "shop_look, mcpServerId: "
	for _, changed := range [][2]string{{"Shop, mcpName: find", "Shop, mcpName: pay"}, {"Shop, mcpName: pay",
		"Branch, mcpName: pay"}, {"Branch, mcpName: pay", "Shop, mcpName: find"}} {
		edit(t, file, look+changed[0], look+changed[1])
		require.Contains(t, c.good(t, key, "apply", "-f", file), "0 created, 1 changed, 0 deleted")
		require.Equal(t, "Nothing differs.\n", c.good(t, key, "diff", "-f", file))
	}
}
