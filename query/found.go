package query

import (
	"unsafe"

	"github.com/99designs/gqlgen/graphql"

	"github.com/agentgraph/agentgraph/db/pg"
)

type lookup struct {
	rows rows
	part pg.Part
	// keys are the keys that the rows are read by.
	keys []string
	// isKeyed is set when the keys are known, isSent when the statement was sent, isRead when the rows have arrived.
	isKeyed, isSent, isRead bool
	keyIndexes              map[string]int32
	// parentRowKeys has the index of the key for each row of the parent, -1 for none. It is filled only by collect.
	parentRowKeys []int32
	// heads and tails are the first and the last row of each key, -1 for none. counts are the numbers of rows.
	heads, tails, counts []int32
	// nextRows has, for each row, the next row with the same key, -1 for none. rowKeys has the key of each row.
	nextRows, rowKeys []int32
	totals            []int64
}

func (f *lookup) first(key int) int {
	if key >= len(f.heads) {
		return -1
	}
	return int(f.heads[key])
}

func (f *lookup) next(row int) int { return int(f.nextRows[row]) }

// last returns the last row of a page.
func (f *lookup) last(key int) int {
	if !f.hasNext(key) {
		if key >= len(f.tails) {
			return -1
		}
		return int(f.tails[key])
	}
	row := f.first(key)
	for range f.part.First - 1 {
		row = f.next(row)
	}
	return row
}

// isNext reports whether a row is the extra row after its page. An extra row only shows that another page follows.
func (f *lookup) isNext(row int) bool {
	key := f.rowKeys[row]
	return f.part.AndNext && f.hasNext(int(key)) && f.tails[key] == int32(row)
}

func (f *lookup) hasNext(key int) bool { return key < len(f.counts) && f.counts[key] > f.part.First }

func (f *lookup) total(key int) int64 {
	if key >= len(f.totals) {
		return 0
	}
	return f.totals[key]
}

// keyOf returns the index of the key that a row of the parent leads to, -1 for none.
func (f *lookup) keyOf(a *response, r *read, row int) int {
	switch parent := &a.lookups[r.parent.index]; {
	case r.shares:
		return int(parent.rowKeys[row])
	case r.isLookup && parent.rows.value(row, r.keyColumn) == nil:
		return -1
	case r.isLookup:
		return 0
	}
	return int(f.parentRowKeys[row])
}

// open allocates space for the rows of the keys.
func (f *lookup) open(r *read) {
	keys := max(len(f.keys), 1)
	for range keys {
		f.heads, f.tails, f.counts = append(f.heads, -1), append(f.tails, -1), append(f.counts, 0)
		if r.wantsTotal {
			f.totals = append(f.totals, 0)
		}
	}
	if r.relation.shape == toPage || r.relation.shape == toTotal || len(f.keys) <= 1 {
		return // the rows contain the index of their key, or there is only one key
	}
	if f.keyIndexes == nil {
		f.keyIndexes = make(map[string]int32, keys)
	}
	if len(f.keyIndexes) == 0 {
		for i, key := range f.keys {
			f.keyIndexes[key] = int32(i)
		}
	}
}

// collect collects the distinct keys from the rows of the parent.
func (f *lookup) collect(r *read, parent *lookup) {
	f.isKeyed = true
	if f.keyIndexes == nil {
		f.keyIndexes = map[string]int32{}
	}
	for row := range parent.rowKeys {
		value := parent.rows.value(row, r.keyColumn)
		if value == nil || parent.isNext(row) || r.kinds != nil && !r.kinds[string(parent.rows.value(row, r.kindColumn))] {
			f.parentRowKeys = append(f.parentRowKeys, -1)
			continue
		}
		place, known := f.keyIndexes[string(value)]
		if !known {
			place = int32(len(f.keys))
			// The values do not move until the response is written.
			key := unsafe.String(unsafe.SliceData(value), len(value))
			f.keyIndexes[key] = place
			f.keys = append(f.keys, key)
		}
		f.parentRowKeys = append(f.parentRowKeys, place)
	}
}

func (a *response) takeRows(f *lookup, r *read, values [][]byte) error {
	key := int32(0)
	switch {
	case len(f.keys) <= 1: // the read has only one key
	case r.relation.shape == toPage:
		key, values = int32(integerOf(values[0]))-1, values[1:]
	default:
		place, known := f.keyIndexes[string(values[0])]
		if !known {
			return errUnplanned
		}
		key = place
		if r.relation.shape == toMany {
			values = values[1:]
		}
	}
	row := int32(len(f.rowKeys))
	const perRow = 64
	bytes := perRow + 4*len(values)
	for _, v := range values {
		bytes += len(v)
	}
	if err := a.reserveRead(bytes); err != nil {
		return err
	}
	if err := f.rows.appendRow(values); err != nil {
		return err
	}
	f.rowKeys, f.nextRows = append(f.rowKeys, key), append(f.nextRows, -1)
	if tail := f.tails[key]; tail >= 0 {
		f.nextRows[tail] = row
	} else {
		f.heads[key] = row
	}
	f.tails[key] = row
	f.counts[key]++
	return nil
}

// bind parses the operation's arguments.
func (f *lookup) bind(r *read, variables map[string]any) error {
	if r.field == nil {
		return nil
	}
	if r.constantPage != nil {
		f.part = *r.constantPage
		return nil
	}
	if r.argument != "" {
		f.isKeyed = true
		given := argument(r.field, r.argument, variables)
		if given == nil {
			return nil
		}
		key, err := graphql.UnmarshalID(given)
		f.keys = append(f.keys, key)
		return err
	}
	given := arguments(r.field.ArgumentMap(variables))
	page, err := given.page(r.relation.list.Table())
	if err != nil {
		return err
	}
	f.part.PageArgs = page
	if r.relation.filter != nil {
		f.part.Filter, err = r.relation.filter.parse(given)
	}
	if r.relation.hasResolverTotal && r.wantsTotal && len(f.part.Filter) == 0 {
		return errUnplanned
	}
	return err
}
