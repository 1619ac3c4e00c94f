package admin

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSizeIsEstimated(t *testing.T) {
	t.Parallel()
	small := (&planSize{Turns: 6, Days: 1}).estimate()
	require.Equal(t, sizeEstimate{CPUs: 2, Replicas: 2, Connections: 93}, small)

	large := (&planSize{Chats: 4_000_000, Turns: 6, Days: 30}).estimate()
	require.InDelta(t, 1000, large.Turns, 1e-9, "15 % of the turns of a day are in one hour")
	require.Equal(t, 10, large.CPUs)
	require.Equal(t, 3, large.Replicas)
	require.Equal(t, 136, large.Connections)
	require.InDelta(t, 1.3*4_000_000*13*1_140/1e9, large.GrowthGB, 1e-9)
	require.InDelta(t, 30*large.GrowthGB, large.StorageGB, 1e-9)
	require.Equal(t, 12, large.OnePostgresDays)

	require.ErrorContains(t, (&planSize{Turns: 1}).Validate(), "--days must be 1 to 1,000,000,000")
	require.ErrorContains(t, (&planSize{Turns: 1, Days: 1, Chats: -1}).Validate(), "--chats-per-day must be 0 to")
}
