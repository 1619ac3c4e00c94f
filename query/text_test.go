package query

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTextsAreWrittenAsGqlgenDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("ab\"\\\n\t\r\x00\x1fü𝄞\u2028")), 0, 40,
			-1)).Draw(t, "text")
		var want bytes.Buffer
		graphql.MarshalString(text).MarshalGQL(&want)
		require.Equal(t, want.String(), string(appendText(nil, text)))
		require.Equal(t, want.String(), string(appendText(nil, []byte(text))))
		// encoding/json escapes special characters differently; the output must equal gqlgen's.
		stored, err := json.Marshal(text)
		require.NoError(t, err)
		if written, ok := storedText(nil, nil, stored); bytes.ContainsRune(stored, 92) {
			require.True(t, ok)
			var back string
			require.NoError(t, json.Unmarshal(stored, &back))
			require.Equal(t, string(appendText(nil, back)), string(written))
		}
	})
}

func TestFloatsAreWrittenAsGqlgenDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.Float64().Draw(t, "number")
		var want bytes.Buffer
		graphql.MarshalFloat(number).MarshalGQL(&want)
		require.Equal(t, want.String(), string(appendFloat(nil, number)))
	})
}
