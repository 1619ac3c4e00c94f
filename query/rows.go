package query

import (
	"encoding/binary"
	"math"

	"github.com/agentgraph/agentgraph/model"
)

// rows are what a read found: Postgres's values, one after another.
type rows struct {
	width int
	data  []byte
	// ends holds where each value ends in data, row by row. isNull marks those that are NULL, and isLarge those that data
	// holds only the place of, in large.
	ends  []uint32
	large [][]byte
}

const (
	isNull  = 1 << 31
	isLarge = 1 << 30
	marks   = isNull | isLarge
)

// leastLarge is the length from which a value has memory of its own, in bytes: what grows by doubling copies all that
// it holds, and for a while has it twice.
const leastLarge = 16 << 10

// mostData is how many bytes data can hold, so that the marks are not part of a place.
const mostData = math.MaxUint32 &^ marks

// add keeps a row. The error is model.ErrTooLarge.
func (r *rows) add(values [][]byte) error {
	for _, v := range values {
		mark := uint32(0)
		switch {
		case v == nil:
			mark = isNull
		case len(v) >= leastLarge:
			mark = isLarge
			r.data = binary.NativeEndian.AppendUint32(r.data, uint32(len(r.large)))
			r.large = append(r.large, append(make([]byte, 0, len(v)), v...))
		default:
			r.data = append(r.data, v...)
		}
		if len(r.data) > mostData {
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
	// A text may be empty, and is not NULL.
	return r.data[start:end:end]
}

// size is how many bytes the values take.
func (r *rows) size() int {
	size := len(r.data)
	for _, value := range r.large {
		size += len(value)
	}
	return size
}

// reset forgets the rows but keeps their memory, other than that of large values.
func (r *rows) reset(width int) {
	if r.data == nil {
		r.data = []byte{} // a part of nil, which is NULL, would be nil
	}
	r.width, r.data, r.ends, r.large = width, r.data[:0], r.ends[:0], nil
}
