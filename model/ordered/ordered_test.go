package ordered_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model/ordered"
)

func TestMembersKeepTheirOrder(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"b":1.50,"a":[true,null,{"z":"<é>","y":{}}],"c":1e400}`:           `{"b":1.50,"a":[true,null,{"z":"<é>","y":{}}],"c":1e400}`,
		` { "b" : 1.50 , "a" : [ true , { "z" : "<é>" , "y" : 1e300 } ] } `: `{"b":1.50,"a":[true,{"z":"<é>","y":1e300}]}`,
		`{"a":1,"b":2,"a":3}`: `{"a":3,"b":2}`,
		`[]`:                  `[]`,
		`7 8`:                 "",
		`{"a":}`:              "",
		`[1`:                  "",
		strings.Repeat("[", 1002) + strings.Repeat("]", 1002): "",
	} {
		value, err := ordered.Decode([]byte(text), ordered.AsSpelled)
		if want == "" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		if object, isObject := value.(ordered.Object); isObject {
			written, err := object.MarshalJSON()
			require.NoError(t, err)
			require.Equal(t, want, string(written))
			continue
		}
		written, err := json.Marshal(value)
		require.NoError(t, err)
		require.Equal(t, want, string(written))
	}
}

func TestMembersKeepTheirSpelling(t *testing.T) {
	t.Parallel()
	members, err := ordered.Members([]byte(` {"b": {"x":1.0}, "a": 1e999, "b": null}`))
	require.NoError(t, err)
	require.Equal(t, ordered.Object{{Name: "b", Value: json.RawMessage("null")},
		{Name: "a", Value: json.RawMessage("1e999")}}, members)
	for _, text := range []string{`[]`, `{"a":1`, ``, `null`} {
		_, err := ordered.Members([]byte(text))
		require.Error(t, err, text)
	}
}
