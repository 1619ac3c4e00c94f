package model_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/model"
)

func TestCreditsAreParsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "12": "12", "12.500": "12.5", "0.000001": "0.000001", "-0.000001": "-0.000001", ".5": "0.5",
		"5.":  "5",
		"1e3": "1000", "1.5E-3": "0.0015", "1e-6": "0.000001", "10e-7": "0.000001", "0.1": "0.1", "0.30000000": "0.3",
		"007":                  "7",
		"9223372036854.775807": "9223372036854.775807", "-9223372036854.775808": "-9223372036854.775808",
	} {
		got, err := model.ParseCredits(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got.String(), text)
	}
	for text, want := range map[string]string{
		"": "must be a decimal", "-": "must be a decimal", ".": "must be a decimal", "+1": "must be a decimal", "--1": "must be a decimal",
		"1-":  "must be a decimal",
		"1,5": "must be a decimal", "1.2.3": "must be a decimal", "1\t": "must be a decimal", "0x1": "must be a decimal",
		"NaN": "must be a decimal", "Infinity": "must be a decimal",
		"١": "must be a decimal", "1e": "must be a decimal", "1e1.5": "must be a decimal", "1e99": "must be a decimal",
		"1e-99": "must be a decimal", "1_000": "must be a decimal",
		"0.0000001": "at most six decimals", "1e-7": "at most six decimals", "0.30000000000000004": "at most six decimals",
		"9223372036854.775808": "must be between", "-9223372036854.775809": "must be between", "1e32": "must be between",
		strings.Repeat("1", 65): "at most 64 characters",
	} {
		_, err := model.ParseCredits(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestCreditsAreNeverRounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := model.Credits(rapid.Int64().Draw(t, "micro"))
		exact := new(big.Rat).SetFrac(big.NewInt(int64(want)), big.NewInt(1_000_000))
		text, err := json.Marshal(want)
		require.NoError(t, err)
		written, ok := new(big.Rat).SetString(string(text))
		require.True(t, ok)
		require.Zero(t, exact.Cmp(written), "%s", text)
		var got model.Credits
		require.NoError(t, got.UnmarshalGQL(json.Number(text)))
		require.Equal(t, want, got)
		require.NoError(t, got.UnmarshalGQL(exact.FloatString(6)))
		require.Equal(t, want, got)
	})
}

func TestCreditsAreParsedFromGraphQLValues(t *testing.T) {
	t.Parallel()
	var c model.Credits
	require.NoError(t, c.UnmarshalGQL(int64(3)))
	require.Equal(t, 3*model.Credit, c)
	for _, v := range []any{nil, true, 0.1, []any{}} {
		require.Error(t, c.UnmarshalGQL(v))
	}
	for v, nearest := range map[any]model.Credits{int64(math.MaxInt64): math.MaxInt64, "-1e30": math.MinInt64} {
		require.NoError(t, c.UnmarshalGQL(v), "the field has a bound of its own")
		require.Equal(t, nearest, c)
	}
}

func TestPricesAreAddedAndRoundedOnce(t *testing.T) {
	t.Parallel()
	p := model.Prices{Message: 10_000, InputTokens: 2_000, OutputTokens: 8_000}
	for _, test := range []struct {
		messages, input, output int64
		want                    string
	}{
		{0, 0, 0, "0"}, {1, 0, 0, "0.01"}, {2, 1_000, 1_000, "0.03"}, {0, 1, 0, "0.000002"}, {0, 123, 45, "0.000606"},
		{math.MaxInt64, math.MaxInt64, math.MaxInt64, "1000000"}, {-1, -1, -1, "0"},
	} {
		require.Equal(t, test.want, p.Of(test.messages, test.input, 0, test.output).String())
	}
	// Prices per thousand tokens are added up first and rounded once, to the nearest.
	small := model.Prices{InputTokens: 1, OutputTokens: 1}
	require.EqualValues(t, 0, small.Of(0, 249, 0, 250))
	require.EqualValues(t, 1, small.Of(0, 250, 0, 250))
	require.EqualValues(t, 1, small.Of(0, 499, 0, 1_000))
	dear := model.Prices{Message: model.MaxEntryCredits, InputTokens: model.MaxEntryCredits,
		OutputTokens: model.MaxEntryCredits}
	require.Equal(t, model.MaxEntryCredits, dear.Of(1, 0, 0, 0))
	require.Equal(t, model.MaxEntryCredits/1_000*999, dear.Of(0, 499, 0, 500))
	require.Equal(t, model.MaxEntryCredits, dear.Of(math.MaxInt64, math.MaxInt64, 0, math.MaxInt64),
		"the sum does not overflow")
	beyond := model.Prices{Message: math.MaxInt64, InputTokens: math.MaxInt64, OutputTokens: math.MaxInt64}
	require.Equal(t, model.MaxEntryCredits, beyond.Of(1, 1, 0, 1))
}
