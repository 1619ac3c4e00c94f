package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestColumnsAreThoseOfTerminals(t *testing.T) {
	t.Parallel()
	for text, columns := range map[string]int{
		"": 0, "clinic": 6, "Café": 4, "Cafe\u0301": 4, "診療所": 6, "ｶﾞｲﾄﾞ": 5, "㊗〰": 4, "நாள்": 3,
	} {
		require.Equal(t, columns, Columns(text), text)
	}
	require.Equal(t, []string{"ｶﾞｲﾄﾞ", "ﾌﾞｯｸ"}, Wrap("ｶﾞｲﾄﾞ ﾌﾞｯｸ", 8), "both together have ten columns")
}
