package rest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestPageNumbersBecomeOffsets(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]struct{ first, offset, number int64 }{
		"":                                  {50, 0, 1},
		"?pageNumber=2":                     {50, 50, 2},
		"?PAGENUMBER=2&pagesize=100":        {100, 100, 2},
		"?pageSize=1":                       {1, 0, 1},
		"?pageNumber=21474837":              {50, 1073741800, 21474837},
		"?pageNumber=2147483647":            {50, 2147483647, 2147483647},
		"?pageNumber=21474838&pageSize=100": {100, 2147483647, 21474838},
	} {
		b, server := newServer(t)
		b.gives(`{"datasets":{"data":[],"total":3}}`)
		w := call(server, "GET", "/Dataset"+query, "")
		require.Equal(t, 200, w.Code, query)
		require.Equal(t, fmt.Sprintf(`{"data":[],"total":3,"pageNumber":%d,"pageSize":%d}`, want.number, want.first),
			w.Body.String())
		require.Equal(t, map[string]any{"first": want.first, "offset": want.offset}, b.variables, query)
	}
}

func TestInvalidPagesAreRefused(t *testing.T) {
	t.Parallel()
	const (
		wrongNumber = "must be a whole number between 1 and 2147483647"
		wrongSize   = "must be a whole number between 1 and 100"
	)
	for query, want := range map[string]model.Fields{
		"pageNumber=0":              {"pageNumber": {wrongNumber}},
		"pageNumber=-1&pageSize=0":  {"pageNumber": {wrongNumber}, "pageSize": {wrongSize}},
		"pageSize=101":              {"pageSize": {wrongSize}},
		"pageNumber=2147483648":     {"pageNumber": {wrongNumber}},
		"pageNumber=1.0":            {"pageNumber": {wrongNumber}},
		"pageNumber=":               {"pageNumber": {wrongNumber}},
		"pagesize=ten":              {"pageSize": {wrongSize}},
		"pageSize=10&PageSize=10":   {"pageSize": {"must be given once"}},
		"pageNumber=1&pageNumber=2": {"pageNumber": {"must be given once"}},
		"pageNumber=%zz":            {"query": {"is not a well-formed query string"}},
	} {
		b, server := newServer(t)
		w := call(server, "GET", "/KnowledgeBaseChat?"+query, "")
		require.Equal(t, 400, w.Code, query)
		p := problemOf(t, w)
		require.Equal(t, want, p.Errors, query)
		require.Equal(t, "/KnowledgeBaseChat", p.Instance)
		require.Zero(t, b.calls)
	}
}
