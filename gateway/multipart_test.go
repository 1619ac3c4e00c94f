package gateway

import (
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
)

// A file replaces a null that the variables have, and nothing else.
func TestFilesReplaceNulls(t *testing.T) {
	t.Parallel()
	file := graphql.Upload{Filename: "a.txt"}
	for path, want := range map[string]bool{
		"variables.file": true, "variables.input.file": true, "variables.files.0": true, "variables.files.1": true,
		"variables": false, "variables.files": false, "variables.files.2": false, "variables.files.-1": false,
		"variables.files.a": false, "variables.text": false, "variables.text.file": false, "variables.other": false,
		"extensions.file": false, "variables.input": false, "variables.files.00x": false,
	} {
		variables := map[string]any{"file": nil, "text": "a", "files": []any{nil, nil}, "input": map[string]any{"file": nil}}
		require.Equal(t, want, setUpload(variables, path, file), path)
		require.Equal(t, "a", variables["text"])
	}
	variables := map[string]any{"files": []any{nil, nil}}
	require.True(t, setUpload(variables, "variables.files.1", file))
	require.Equal(t, []any{nil, file}, variables["files"])
}
