package agenttest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFormulasAreEscapedAndRestored(t *testing.T) {
	t.Parallel()
	for cell, escaped := range map[string]string{
		"": "", "a": "a", "'": "'", "'a": "'a", "=SUM(1)": "'=SUM(1)", "-1": "'-1", "'=SUM(1)": "''=SUM(1)", "''-1": "'''-1",
	} {
		require.Equal(t, escaped, escapeFormula(cell))
		require.Equal(t, cell, unescapeFormula(escaped))
	}
	require.Equal(t, "no", unescapeFormula("no"), "a person wrote this cell")
}
