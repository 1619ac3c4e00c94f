package gateway

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
)

func TestDocumentsAreBounded(t *testing.T) {
	t.Parallel()
	query := func(i int) string { return fmt.Sprintf("%0*d", 100, i) }
	small := newDocuments(10 * (bytesPerDocument + 100*bytesPerByte))
	for i := range 50 {
		first := &ast.QueryDocument{}
		small.Add(t.Context(), query(i), first)
		small.Add(t.Context(), query(i), &ast.QueryDocument{})
		known, found := small.Get(t.Context(), query(i))
		require.True(t, found)
		require.Same(t, first, known, "plans are cached by the document's pointer")
	}
	for i := range 50 {
		_, found := small.Get(t.Context(), query(i))
		require.Equal(t, i >= 40, found, i)
	}
}
