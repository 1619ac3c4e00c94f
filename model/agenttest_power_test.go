package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNoticedRates(t *testing.T) {
	t.Parallel()
	for repeats, want := range map[int32]float64{4: 0, 5: 0.1, 10: 0.3, 20: 0.6} {
		rate, ok := NoticedRate(repeats)
		require.True(t, ok, repeats)
		require.InDelta(t, want, rate, 1e-9, repeats)
	}
	for _, repeats := range []int32{1, 2, 3} {
		_, ok := NoticedRate(repeats)
		require.False(t, ok, repeats)
	}
}
