package app_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

// A list accepts the cursors of its own pages, also those of earlier versions, and refuses the cursors of other lists.
func TestCursorsOfOtherListsAreRefused(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	key, _ := g.demo(t)
	resolved := &gatewayUnderTest{url: servePlanned(t, g.store, gateway.DefaultSettings(), false), store: g.store}
	page := func(server *gatewayUnderTest, list, after string) (cursor string, a answer) {
		variables := map[string]any{}
		if after != "" {
			variables["after"] = after
		}
		a = server.query(t, key, fmt.Sprintf(`query($after: String) { %s(first: 1, after: $after) {
			edges { cursor } pageInfo { endCursor } } }`, list), variables)
		var data map[string]struct {
			Edges    []struct{ Cursor string }
			PageInfo struct{ EndCursor string }
		}
		if len(a.Errors) == 0 {
			require.NoError(t, json.Unmarshal(a.Data, &data))
			if edges := data[list].Edges; len(edges) > 0 {
				require.Equal(t, edges[0].Cursor, data[list].PageInfo.EndCursor)
			}
		}
		return data[list].PageInfo.EndCursor, a
	}
	lists := []string{"agents", "tools", "datasets", "campaigns", "knowledgeBaseChats", "agentTests",
		"auditEvents"}
	for _, server := range []*gatewayUnderTest{g, resolved} {
		cursors := map[string]string{}
		for _, list := range lists {
			cursor, a := page(server, list, "")
			require.Empty(t, a.Errors)
			require.NotEmpty(t, cursor, list)
			cursors[list] = cursor
		}
		for _, list := range lists {
			next, a := page(server, list, cursors[list])
			require.Empty(t, a.Errors)
			parsed, err := model.ParseCursor(cursors[list])
			require.NoError(t, err)
			earlier := model.Cursor{CreatedAt: parsed.CreatedAt.Truncate(time.Microsecond), ID: parsed.ID}
			again, a := page(server, list, earlier.String())
			require.Empty(t, a.Errors)
			require.Equal(t, next, again, list)
			for other, cursor := range cursors {
				if other == list {
					continue
				}
				_, a := page(server, list, cursor)
				require.Len(t, a.Errors, 1, "%s after %s", list, other)
				require.Equal(t, "BAD_INPUT", a.Errors[0].Extensions.Code)
				require.Equal(t, map[string][]string{"after": {"is not a cursor of this list"}}, a.Errors[0].Extensions.Fields)
			}
		}
	}
}
