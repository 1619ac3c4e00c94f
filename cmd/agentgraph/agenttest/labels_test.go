package agenttest

import (
	"os"
	"path/filepath"
	"strings"
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

// importedLabels reads the labels of a file with the text.
func importedLabels(t *testing.T, text string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ann.csv")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	_, err := (&labelsImport{File: file}).readLabels(nil)
	return err
}

func TestUnknownColumnsOfLabelsAreRefused(t *testing.T) {
	t.Parallel()
	const columns = "run_id,criterion,holds"
	for header, fault := range map[string]string{
		columns + ",persn": `line 1: the column "persn" is not known; did you mean person?`,
		columns + ",zzzzzzzzz": `line 1: the column "zzzzzzzzz" is not known; known columns are run_id, criterion, holds, ` +
			"person, note, sampled",
		columns + ",note,Note": `line 1: the column "note" occurs twice`,
		"run_id,criterion":     "the first line must have the column holds",
	} {
		require.EqualError(t, importedLabels(t, header+"\n"), fault)
	}
	for _, more := range []string{"", ", Person ,SAMPLED,", ",,", ",updated_at", ",expected,verdict,rationale"} {
		require.NoError(t, importedLabels(t, columns+more+"\n"), more)
	}
	for _, separator := range []string{";", "\t"} {
		require.NoError(t, importedLabels(t, strings.ReplaceAll(columns+"\nrun_1,Is kind,yes\n", ",", separator)), separator)
	}
	require.NoError(t, importedLabels(t, "\ufeffsep=;\r\nrun_id;criterion;holds;note\nrun_1;Is kind;yes;\n"))
	require.ErrorContains(t, importedLabels(t, "sep=|\nrun_id|criterion|holds\nrun_1|a, b|maybe\n"), "line 3: ")
}
