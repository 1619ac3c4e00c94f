package query

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// A page reads one additional row to know whether another page follows. The relations of this row are not read.
func TestOnlyRowsOfThePageReadRelations(t *testing.T) {
	t.Parallel()
	pages, children := &read{relation: &relation{shape: toPage}}, &read{index: 1, relation: &relation{shape: toMany}}
	for name, c := range map[string]struct {
		andNext bool
		rows    []string
		want    []string
	}{
		"another page follows": {true, []string{"a", "b", "c"}, []string{"a", "b"}},
		"it is the last one":   {true, []string{"a", "b"}, []string{"a", "b"}},
		"no extra row is read": {false, []string{"a", "b"}, []string{"a", "b"}},
	} {
		a := &response{lookups: make([]lookup, 2)}
		parent := &a.lookups[0]
		parent.rows.reset(1)
		parent.part = pg.Part{PageArgs: model.PageArgs{First: 2}, AndNext: c.andNext}
		parent.open(pages)
		for _, id := range c.rows {
			require.NoError(t, a.takeRows(parent, pages, [][]byte{[]byte(id)}), name)
		}
		a.lookups[1].collect(children, parent)
		require.Equal(t, c.want, a.lookups[1].keys, name)
		require.Len(t, a.lookups[1].parentRowKeys, len(c.rows), name)
	}
}
