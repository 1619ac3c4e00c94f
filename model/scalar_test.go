package model

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDateTimesAreParsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-03-01T09:30:00Z":           `"2026-03-01T09:30:00.000Z"`,
		"2026-03-01T09:30:00.1234567Z":   `"2026-03-01T09:30:00.123Z"`,
		"2026-03-01T09:30:00.999+05:30":  `"2026-03-01T04:00:00.999Z"`,
		"2026-03-01T00:30:00-23:59":      `"2026-03-02T00:29:00.000Z"`,
		"2026-03-01T09:30":               `"2026-03-01T09:30:00.000Z"`,
		"2026-03-01T09:30:15":            `"2026-03-01T09:30:15.000Z"`,
		"2026-03-01t09:30:15.5z":         `"2026-03-01T09:30:15.500Z"`,
		"2026-03-01T09:30+01":            `"2026-03-01T08:30:00.000Z"`,
		"2026-03-01T09:30:00-0130":       `"2026-03-01T11:00:00.000Z"`,
		"0001-01-01T00:00:00Z":           `"0001-01-01T00:00:00.000Z"`,
		"9999-12-31T23:59:59.999999999Z": `"9999-12-31T23:59:59.999Z"`,
	} {
		at, err := UnmarshalDateTime(text)
		require.NoError(t, err, text)
		require.Equal(t, time.UTC, at.Location())
		var out bytes.Buffer
		MarshalDateTime(at).MarshalGQL(&out)
		require.Equal(t, want, out.String())
	}
	for _, bad := range []any{
		nil, 1, true, "", "2026-03-01", "2026-03-01 09:30", "2026-02-30T09:30:00Z", "2026-03-01T24:00:00Z",
		"0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "10000-01-01T00:00:00Z",
		"2026-03-01T09:30:00+1", "2026-03-01T09:30:00+010", "2026-03-01T09:30:00+25:00", "2026-03-01T09",
		"2026-03-01T09:30:00.Z",
	} {
		_, err := UnmarshalDateTime(bad)
		var known *Error
		require.ErrorAs(t, err, &known, "%v", bad)
		require.Equal(t, BadInput, known.Code)
	}
}

func TestJSONObjectsAreParsed(t *testing.T) {
	t.Parallel()
	var o JSONObject
	require.NoError(t, json.Unmarshal([]byte(` {"b": 1, "a": 2}`), &o))
	text, err := json.Marshal(o)
	require.NoError(t, err)
	require.Equal(t, `{"b":1,"a":2}`, string(text), "the order of keys is kept")
	for _, bad := range []string{`[]`, `1`, `"{}"`, `true`} {
		require.Error(t, json.Unmarshal([]byte(bad), &o))
		require.Error(t, o.UnmarshalGQL(bad))
	}
	text, err = json.Marshal(JSONObject(nil))
	require.NoError(t, err)
	require.Equal(t, `{}`, string(text))
	value, err := JSONObject(nil).Value()
	require.NoError(t, err)
	require.Equal(t, `{}`, value)
	require.NoError(t, o.UnmarshalGQL(map[string]any{"n": json.Number("12345678901234567890"), "z": nil}))
	require.JSONEq(t, `{"n":12345678901234567890,"z":null}`, string(o))
	require.Error(t, o.UnmarshalGQL(map[string]any{"f": func() {}}))
	require.Error(t, o.Scan(1))
	require.NoError(t, o.Scan(`{"x":1}`))
	require.Equal(t, `{"x":1}`, string(o))
}

func TestErrorsNameEveryField(t *testing.T) {
	t.Parallel()
	var f Fields
	require.NoError(t, f.Err())
	f.Add("a", "is %d", 1)
	require.EqualError(t, f.Err(), "a is 1")
	f.Add("b", "is wrong")
	f.Add("a", "is %d%% wrong", 100)
	require.EqualError(t, f.As(Unprocessable), "a is 1 and is 100% wrong; b is wrong")
	require.Equal(t, Missing("agent", "x").Error(), `agent "x" does not exist`)
}

func TestScopesIncludeOthers(t *testing.T) {
	t.Parallel()
	read := []APIKeyScope{APIKeyScopeRead, APIKeyScopeBrowse, APIKeyScopePrompts, APIKeyScopeContacts,
		APIKeyScopeConsumption}
	held := map[APIKeyScope][]APIKeyScope{
		APIKeyScopeRead:        read,
		APIKeyScopeBrowse:      {APIKeyScopeBrowse},
		APIKeyScopePrompts:     {APIKeyScopePrompts, APIKeyScopeBrowse},
		APIKeyScopeContacts:    {APIKeyScopeContacts, APIKeyScopeBrowse},
		APIKeyScopeConsumption: {APIKeyScopeConsumption, APIKeyScopeBrowse},
		APIKeyScopeWrite:       append([]APIKeyScope{APIKeyScopeWrite}, read...),
		APIKeyScopeSimulate:    append([]APIKeyScope{APIKeyScopeSimulate, APIKeyScopeChat}, read...),
		APIKeyScopeChat:        {APIKeyScopeChat},
		APIKeyScopeMutate:      {APIKeyScopeMutate},
		APIKeyScopeAdmin: slices.DeleteFunc(slices.Clone(AllAPIKeyScope),
			func(s APIKeyScope) bool { return s == APIKeyScopeMutate }),
	}
	require.Len(t, held, len(AllAPIKeyScope))
	for held, can := range held {
		for _, scope := range AllAPIKeyScope {
			require.Equal(t, slices.Contains(can, scope), Principal{Scopes: []APIKeyScope{held}}.Can(scope), "%s can %s", held,
				scope)
			require.False(t, Principal{}.Can(scope))
		}
	}
	_, ok := PrincipalOf(t.Context())
	require.False(t, ok)
	p, ok := PrincipalOf(WithPrincipal(t.Context(), Principal{CompanyID: "a"}))
	require.True(t, ok)
	require.Equal(t, "a", p.CompanyID)
}

func TestUnpairedSurrogatesAreRefused(t *testing.T) {
	t.Parallel()
	for text, isRefused := range map[string]bool{
		`{"a":"\ud83d\ude00 \\ud800 \u00e9"}`: false, `{"\uD83D\uDE00":[1]}`: false, `{"a":"😀"}`: false,
		`{"a":"\\\\"}`:   false,
		`{"a":"\ud800"}`: true, `{"a":"\ud800x"}`: true, `{"a":"\ude00\ud83d"}`: true, `{"\ud83d":1}`: true,
		`{"a":"\\\ud83d\\ude00"}`:    true,
		`{"a":"\ud83d\ud83d\ude00"}`: true,
	} {
		var object JSONObject
		err := object.UnmarshalGQL(json.RawMessage(text))
		require.Equal(t, isRefused, err != nil, text)
	}
}
