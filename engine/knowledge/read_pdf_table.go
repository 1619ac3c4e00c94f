package knowledge

import "slices"

// tablePart is the role of a line in a table.
type tablePart int

const (
	notInTable tablePart = iota
	// tableRow is the first line of a row.
	tableRow
	// restOfRow is a further line of cells that are not in the first column.
	restOfRow
)

// isTable reports whether rows are a table. They must follow each other in the file, because most files have columns of
// text one after the other instead. Enough of them must have cells on both sides of the gap, which must be wider than
// the gaps in justified text.
func isTable(rows []pageRow, gap span) bool {
	n, last := 0, -1
	for _, row := range rows {
		if slices.Min(row.lines) < last {
			return false
		}
		last = slices.Max(row.lines)
		if row.isAround(gap.from) && gap.to-gap.from >= minTableGap*row.parts[0].size {
			n++
		}
	}
	return n >= minTable
}

// isAround reports whether the row has parts on both sides of a gutter.
func (r pageRow) isAround(gutter float32) bool {
	return r.parts[0].left < gutter && r.parts[len(r.parts)-1].left >= gutter
}

// tableRows returns a line for each row. A line that begins right of the first column continues the row above.
func tableRows(rows []pageRow, gutter float32) []line {
	edge := rows[0].parts[0].left
	for _, row := range rows {
		edge = min(edge, row.parts[0].left)
	}
	var lines []line
	for _, row := range rows {
		lines = beside(lines, row.parts)
		switch l := &lines[len(lines)-1]; {
		case row.isAround(gutter):
			l.table = tableRow
		case l.left >= edge+minTableGap*l.size:
			l.table = restOfRow
		}
	}
	return lines
}
