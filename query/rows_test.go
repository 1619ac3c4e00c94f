package query

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestRowsReturnWhatWasAdded(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte("l"), minLarge)
	var r rows
	r.reset(3)
	for range 2 { // the second round reuses the memory
		added := [][][]byte{
			{[]byte("a"), nil, {}}, {large, []byte("b"), large[1:]}, {nil, large, nil}, {{}, []byte("c"), []byte("d")},
		}
		size := 0
		for _, row := range added {
			require.NoError(t, r.appendRow(row))
			for _, value := range row {
				size += len(value)
			}
		}
		for i, row := range added {
			for j, value := range row {
				require.Equal(t, value, r.value(i, j), "row %d, column %d", i, j)
			}
		}
		const place = 4
		require.Equal(t, size, r.size()-2*place)
		r.reset(3)
	}
}

// Large values take only their own length in memory. Adding more values does not copy them.
func TestLargeRowValuesAreNotMoved(t *testing.T) {
	t.Parallel()
	var r rows
	r.reset(1)
	value := make([]byte, 1<<20)
	const count = 32
	places := make([]*byte, count)
	for i := range places {
		require.NoError(t, r.appendRow([][]byte{value}))
		places[i] = unsafe.SliceData(r.value(i, 0))
	}
	taken := cap(r.data)
	for i, place := range places {
		require.Same(t, place, unsafe.SliceData(r.value(i, 0)))
		taken += cap(r.large[i])
	}
	require.Less(t, taken, (count+1)<<20)
}
