package model

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCursorRoundTrips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		at := time.UnixMicro(rapid.Int64Range(-62_135_596_800_000_000, 253_402_300_799_999_999).Draw(r, "at")).UTC()
		id := rapid.StringOfN(rapid.Rune().Filter(func(r rune) bool { return r != 0 }), 1, 64, -1).Draw(r, "id")
		cursor, err := ParseCursor(Cursor{at, id}.String())
		require.NoError(r, err)
		require.Equal(r, Cursor{at, id}, cursor)
	})
}

func TestInvalidCursorsAreRefused(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.String(), func(s string) string {
			return base64.RawURLEncoding.EncodeToString([]byte("2026-03-01T09:30:00Z" + s))
		}), rapid.StringMatching(`[A-Za-z0-9_=-]{0,80}`)).Draw(r, "text")
		cursor, err := ParseCursor(text)
		if err == nil {
			require.Equal(r, text, cursor.String())
			require.NotEmpty(r, cursor.ID)
		}
	})
	for _, text := range []string{
		"2026-03-01T09:30:00Z a", "2026-03-01T09:30:00Z", "2026-03-01T09:30:00.0Z a", "2026-03-01T10:30:00+01:00 a",
		"0000-03-01T09:30:00Z a",
		"2026-03-01 a", " a", "2026-03-01T09:30:00Z ", "2026-03-01T09:30:00Z \x00", "2026-03-01T09:30:00Z \xff",
	} {
		_, err := ParseCursor(base64.RawURLEncoding.EncodeToString([]byte(text)))
		require.Equal(t, text == "2026-03-01T09:30:00Z a", err == nil, "%q", text)
	}
}

func TestIDsAreTypeIDsInOrderOfCreation(t *testing.T) {
	t.Parallel()
	last := ""
	for range 1_000 {
		id := NewID("agent")
		require.Regexp(t, `^agent_[0-7][0-9a-hjkmnp-tv-z]{25}$`, id)
		require.Greater(t, id, last)
		last = id
	}
}
