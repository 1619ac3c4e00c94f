package query

// rows are what a read found: Postgres's values, one after another.
type rows struct {
	width int
	data  []byte
	// ends holds where each value ends in data, row by row; isNull marks those that are NULL.
	ends []uint32
}

const isNull = 1 << 31

// add keeps a row.
func (r *rows) add(values [][]byte) {
	for _, v := range values {
		r.data = append(r.data, v...)
		end := uint32(len(r.data))
		if v == nil {
			end |= isNull
		}
		r.ends = append(r.ends, end)
	}
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
		start = r.ends[at-1] &^ isNull
	}
	// A text may be empty, and is not NULL.
	return r.data[start:end:end]
}

// reset forgets the rows but keeps their memory.
func (r *rows) reset(width int) {
	if r.data == nil {
		r.data = []byte{} // a part of nil, which is NULL, would be nil
	}
	r.width, r.data, r.ends = width, r.data[:0], r.ends[:0]
}
