package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNoticedRateDependsOnRepeats(t *testing.T) {
	t.Parallel()
	for repeats, want := range map[int32]float64{4: 0, 5: 0.1, 10: 0.3, 20: 0.6} {
		rate, ok := NoticedRate(repeats, repeats, nil)
		require.True(t, ok, repeats)
		require.InDelta(t, want, rate, 1e-9, repeats)
	}
	for _, repeats := range []int32{1, 2, 3} {
		_, ok := NoticedRate(repeats, repeats, nil)
		require.False(t, ok, repeats)
	}
}

// If a gate stops good tests early, it detects a lower pass rate nearly as well as with all 20 runs of each test.
func TestStoppedTestsDetectDrops(t *testing.T) {
	t.Parallel()
	stop := &StopRepeating{new(0.9), new(0.5)}
	rate, ok := NoticedRate(20, 20, stop)
	require.True(t, ok)
	require.InDelta(t, 0.5, rate, 1e-9)
	require.InDelta(t, 0.87, noticedAt(0.6, 20, 20, stop), 0.01)
	require.InDelta(t, 0.95, noticedAt(0.6, 20, 20, nil), 0.01)
	rate, ok = NoticedRate(6, 20, stop)
	require.True(t, ok)
	require.InDelta(t, 0.3, rate, 1e-9)
	require.Equal(t, int32(6), stop.RunsIfPassing(20))
	require.Equal(t, int32(3), stop.RunsIfPassing(3))
	require.Equal(t, int32(20), (&StopRepeating{}).RunsIfPassing(20))
	require.Equal(t, int32(20), (*StopRepeating)(nil).RunsIfPassing(20))
}
