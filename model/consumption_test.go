package model_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestDateBoundsAreParsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-03-01": `"2026-03-01"`, "2024-02-29": `"2024-02-29"`, "0001-01-01": `"0001-01-01"`,
		"9999-12-31":       `"9999-12-31"`,
		"2026-03-01T09:30": `"2026-03-01T09:30:00.000Z"`, "2026-03-01T09:30:01": `"2026-03-01T09:30:01.000Z"`,
		"2026-03-01T09:30Z": `"2026-03-01T09:30:00.000Z"`, "2026-03-01T00:30:00+02:00": `"2026-02-28T22:30:00.000Z"`,
		"2026-03-01T09:30:00.123456789-01:30": `"2026-03-01T11:00:00.123Z"`,
		"2026-03-01T09:30:00.9999Z":           `"2026-03-01T09:30:00.999Z"`,
	} {
		got, err := model.ParseDateBound(text)
		require.NoError(t, err, text)
		var written strings.Builder
		got.MarshalGQL(&written)
		require.Equal(t, want, written.String(), text)
	}
	for _, text := range []string{
		"", "2026", "2026-3-1", "20260301", "2026-02-30", "2026-13-01", "0000-01-01", "2026-03-01T", "2026-03-01T9:30",
		"2026-03-01T24:00:00Z", "2026-03-01 09:30:00Z",
		"2026-03-01T09:30:00 02:00", "2026-03-01T09:30:61Z", "2026-03-01T09:30:00+25:00", "2026-03-01T09:30:00,5Z",
		"2026-03-01Z",
		"0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "1772355600", "2026-03-01\x00", "yesterday",
		"2026-03-01T09:30:00.1234567890Z",
	} {
		_, err := model.ParseDateBound(text)
		require.ErrorContains(t, err, "must be an existing ISO date", text)
	}
	var b model.DateBound
	require.ErrorContains(t, b.UnmarshalGQL(5), "must be an existing ISO date")
	require.ErrorContains(t, b.UnmarshalGQL("x"), "must be an existing ISO date")
}

func TestRangesContainWholeDays(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ from, to, first, end string }{
		{"2026-03-01", "2026-03-02", "2026-03-01", "2026-03-03"},
		{"2024-01-01", "2025-01-01", "2024-01-01", "2025-01-02"},
		{"2026-03-01T00:00:00.001Z", "2026-03-02", "2026-03-02", "2026-03-03"},
		{"2026-03-01T12:00Z", "2026-03-01T13:00Z", "2026-03-02", "2026-03-01"},
		{"2026-03-01T12:00Z", "2026-03-02T13:00Z", "2026-03-02", "2026-03-02"},
		{"2026-03-01T00:00Z", "2026-03-01T23:59:59.999Z", "2026-03-01", "2026-03-02"},
	} {
		from, err := model.ParseDateBound(test.from)
		require.NoError(t, err)
		to, err := model.ParseDateBound(test.to)
		require.NoError(t, err)
		r, err := model.NewConsumptionRange(from, to)
		require.NoError(t, err)
		first, end := r.Days()
		require.Equal(t, []string{test.first, test.end}, []string{first.Format(time.DateOnly), end.Format(time.DateOnly)},
			"%s to %s", test.from, test.to)
	}
}
