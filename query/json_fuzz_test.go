package query

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/stretchr/testify/require"
)

// FuzzStoredDecoding compares the reader of stored JSON with encoding/json. The reader must find the same members and
// elements in the same order, and write each text like gqlgen.
func FuzzStoredDecoding(f *testing.F) {
	for _, seed := range []string{
		`{"a":"b","c":[1,2.50,{"d":null}],"e":{"f":"}\"]"}}`, ` [ "a" , true , [ ] , { } ] `,
		`{"\\":"\\\\\"","a\u0041":"\ud83d\ude00\ud83d"}`, `"\u001f\/\b\f\n\r\t"`,
		`[]`, `{}`, `0`, `{"a" : 1e5 , "a" : -0.0}`, `"\ud800\ud83d\ude00"`, `"\ud83d\u0041"`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if !json.Valid(src) || !utf8.Valid(src) {
			return // Postgres cannot store this text.
		}
		requireAsStored(t, bytes.TrimSpace(src))
	})
}

func requireAsStored(t *testing.T, src []byte) {
	t.Helper()
	require.Equal(t, len(src), skipValue(src, 0), "%s", src)
	var r reader
	switch src[0] {
	case '{':
		require.True(t, r.open(src, '{'))
		decoder := json.NewDecoder(bytes.NewReader(src))
		_, err := decoder.Token()
		require.NoError(t, err)
		for decoder.More() {
			name, err := decoder.Token()
			require.NoError(t, err)
			var value json.RawMessage
			require.NoError(t, decoder.Decode(&value))
			require.True(t, r.member())
			require.Equal(t, name, string(unescape(r.name)))
			require.Equal(t, string(value), string(r.value))
			requireAsStored(t, r.value)
		}
		require.False(t, r.member())
	case '[':
		require.True(t, r.open(src, '['))
		var elements []json.RawMessage
		require.NoError(t, json.Unmarshal(src, &elements))
		for _, element := range elements {
			require.True(t, r.element())
			require.Equal(t, string(bytes.TrimSpace(element)), string(r.value))
			requireAsStored(t, r.value)
		}
		require.False(t, r.element())
	case '"':
		var text string
		require.NoError(t, json.Unmarshal(src, &text))
		written, ok := storedText(nil, nil, src)
		require.True(t, ok)
		if strings.ContainsRune(string(src), '\\') {
			var want bytes.Buffer
			graphql.MarshalString(text).MarshalGQL(&want)
			require.Equal(t, want.String(), string(written))
		} else {
			require.Equal(t, string(src), string(written))
		}
	}
}
