package query

import (
	"encoding/binary"
	"math"

	"github.com/agentgraph/agentgraph/model"
)

// rows are the results of a read: Postgres's values in one buffer.
type rows struct {
	width int
	data  []byte
	// ends has the end of each value in data, row by row. isNull marks NULL values. isLarge marks values in large, for
	// which data has only the index.
	ends  []uint32
	large [][]byte
}

const (
	isNull  = 1 << 31
	isLarge = 1 << 30
	marks   = isNull | isLarge
)

// minLarge is the length in bytes from which a value has its own memory. A slice that grows copies its contents, and
// both copies take memory until the old one is collected.
const minLarge = 16 << 10

// maxData bounds the bytes in data. Larger offsets would overlap the bits of the marks.
const maxData = math.MaxUint32 &^ marks

// appendRow appends a row. It returns model.ErrTooLarge if data is full.
func (r *rows) appendRow(values [][]byte) error {
	for _, v := range values {
		mark := uint32(0)
		switch {
		case v == nil:
			mark = isNull
		case len(v) >= minLarge:
			mark = isLarge
			r.data = binary.NativeEndian.AppendUint32(r.data, uint32(len(r.large)))
			r.large = append(r.large, append(make([]byte, 0, len(v)), v...))
		default:
			r.data = append(r.data, v...)
		}
		if len(r.data) > maxData {
			return model.ErrTooLarge
		}
		r.ends = append(r.ends, uint32(len(r.data))|mark)
	}
	return nil
}

// value returns the value of a row's column, nil for NULL.
func (r *rows) value(row, column int) []byte {
	at := row*r.width + column
	end := r.ends[at]
	if end&isNull != 0 {
		return nil
	}
	start := uint32(0)
	if at > 0 {
		start = r.ends[at-1] &^ marks
	}
	if end&isLarge != 0 {
		return r.large[binary.NativeEndian.Uint32(r.data[start:])]
	}
	// An empty text is not NULL.
	return r.data[start:end:end]
}

// size returns the number of bytes of all values.
func (r *rows) size() int {
	size := len(r.data)
	for _, value := range r.large {
		size += len(value)
	}
	return size
}

// reset removes the rows and keeps their memory, except the memory of large values.
func (r *rows) reset(width int) {
	if r.data == nil {
		r.data = []byte{} // a slice of nil would be nil, which means NULL
	}
	r.width, r.data, r.ends, r.large = width, r.data[:0], r.ends[:0], nil
}
