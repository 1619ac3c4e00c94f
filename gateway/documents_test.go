package gateway

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
)

func TestDocumentsAreBounded(t *testing.T) {
	t.Parallel()
	query := func(i, length int) string { return fmt.Sprintf("%0*d", length, i) }

	few := newDocuments(3, 1<<20)
	for i := range 5 {
		few.Add(t.Context(), query(i, 10), &ast.QueryDocument{})
	}
	for i := range 5 {
		_, found := few.Get(t.Context(), query(i, 10))
		require.Equal(t, i >= 2, found, i)
	}

	small := newDocuments(1000, 10*100*bytesPerByte)
	for i := range 50 {
		small.Add(t.Context(), query(i, 100), &ast.QueryDocument{})
		small.Add(t.Context(), query(i, 100), &ast.QueryDocument{})
		require.LessOrEqual(t, small.bytes, small.maxBytes)
	}
	require.Equal(t, 10, small.cache.Len())
	small.Add(t.Context(), strings.Repeat("x", 5000), &ast.QueryDocument{})
	require.Zero(t, small.cache.Len())
	require.Zero(t, small.bytes)
}
