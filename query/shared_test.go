package query

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// A plan reads on shared connections unless it has many reads or has recently read much.
func TestLargePlansAreNotShared(t *testing.T) {
	t.Parallel()
	p := &queryPlan{}
	require.True(t, p.isShared())
	p.recordRead(maxShared)
	require.True(t, p.isShared())
	p.recordRead(maxShared + 1)
	for range runsAfterLargeRead {
		require.False(t, p.isShared())
		p.recordRead(0)
	}
	require.True(t, p.isShared())
	for len(p.reads) <= pg.MaxPipelinedReads {
		p.reads = append(p.reads, &read{})
	}
	require.False(t, p.isShared())
}

func TestPlansEstimateTheirRows(t *testing.T) {
	t.Parallel()
	one, many, pages := &relation{shape: toOne}, &relation{shape: toMany}, &relation{shape: toPage}
	agent := &read{relation: one}
	estimate := func(part pg.Part, reads ...*read) int {
		a := &response{plan: &queryPlan{reads: reads}}
		for i, r := range reads {
			r.index = i
			a.lookups = append(a.lookups, lookup{})
			if r.relation.shape == toPage {
				a.lookups[i].part = part
			}
		}
		return a.rows()
	}
	firstPage := func(first int32) pg.Part { return pg.Part{PageArgs: model.PageArgs{First: first}} }
	tools := &read{relation: many, parent: agent}
	require.Equal(t, 1, estimate(pg.Part{}, agent))
	require.Equal(t, 1+rowsOfMany+rowsOfMany, estimate(pg.Part{}, agent, tools, &read{relation: one, parent: tools}))
	require.Equal(t, 1+11, estimate(firstPage(10), agent, &read{relation: pages, parent: agent}))
	agents := &read{relation: pages}
	require.Equal(t, 11+11*rowsOfMany, estimate(firstPage(10), agents, &read{relation: many, parent: agents}))
	require.Equal(t, 200, estimate(firstPage(199), agents))
	for why, rows := range map[string]int{
		"a long page":        estimate(firstPage(maxRows), agents),
		"lists of many rows": estimate(firstPage(50), agents, &read{relation: many, parent: agents}),
		"a total":            estimate(firstPage(1), &read{relation: pages, wantsTotal: true}),
		"a number":           estimate(firstPage(1), agent, &read{relation: &relation{shape: toTotal}, parent: agent}),
		"a filter":           estimate(pg.Part{PageArgs: model.PageArgs{First: 1}, Filter: make(pg.Filter, 1)}, agents),
		"an offset":          estimate(pg.Part{PageArgs: model.PageArgs{First: 1, Offset: new(int32(5))}}, agents),
	} {
		require.Greater(t, rows, maxRows, why)
	}
}
