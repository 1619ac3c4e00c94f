package knowledge

import (
	"slices"
	"strings"
	"unicode"
)

// runningTable is a table in running text while it is read. Its cells can span columns and rows, as in spreadsheets.
type runningTable struct {
	grid
	next gridRow
	// below has, for each column, the number of the row below the merged cell that covers it.
	below []int
	// ended counts the merged cells that endRows has ended.
	ended int
	// width counts the columns of the widest row so far.
	width int
}

// minWidth is the number of blank columns that a cell fills at the end of a row, even if no other row has a text there.
const minWidth = 20

// merge records that the next cell spans columns and rows.
func (r *runningTable) merge(columns, rows int) {
	r.mergeAt(r.next.number, len(r.next.cells), columns, rows)
}

// add adds a cell, with a blank for each further column that it fills.
func (r *runningTable) add(text *Text, cell gridCell, columns int) {
	for range min(columns, maxColumns-len(r.next.cells)) {
		if text.isFull() {
			return
		}
		r.next.cells = append(r.next.cells, cell)
		text.reserve(gridCost + len(cell.text))
		cell.text = ""
	}
}

// addAround adds a cell beside the columns that merged cells of the rows above cover.
func (r *runningTable) addAround(text *Text, cell gridCell, columns, rows int) {
	r.skipCovered(text)
	from := len(r.next.cells)
	r.merge(columns, rows)
	r.add(text, cell, columns)
	if rows == 1 {
		return
	}
	for i := from; i < len(r.next.cells); i++ {
		for len(r.below) <= i {
			r.below = append(r.below, 0)
			text.reserve(cellCost)
		}
		r.below[i] = r.next.number + rows
	}
}

func (r *runningTable) skipCovered(text *Text) {
	for n := len(r.next.cells); n < len(r.below) && r.below[n] > r.next.number && !text.isFull(); n++ {
		r.add(text, gridCell{}, 1)
	}
}

// endRow ends the current row. Rows without cells and hidden rows are omitted.
func (r *runningTable) endRow(text *Text, isHidden bool) {
	filled := len(r.next.cells)
	for filled > max(r.width, minWidth) && r.next.cells[filled-1].text == "" {
		filled--
	}
	r.width = max(r.width, filled)
	if filled < len(r.next.cells) {
		text.reserve(gridCost * (filled - len(r.next.cells)))
		r.next.cells = slices.Clone(r.next.cells[:filled])
	}
	if filled > 0 && !isHidden {
		r.rows = append(r.rows, r.next)
		text.reserve(blockCost)
	}
	r.next = gridRow{number: r.next.number + 1}
}

// endRows ends all merged cells, as the end of a table's head or body does.
func (r *runningTable) endRows() {
	for i := range r.merged[r.ended:] {
		m := &r.merged[r.ended+i]
		m.bottom = min(m.bottom, r.next.number-1)
	}
	r.ended, r.below = len(r.merged), r.below[:0]
}

// write adds the table to a text. Rows of one merged cell at the beginning are the title of the table. The row after
// them is the header if the function isHeader says so. A header of merged cells has several rows, as in spreadsheets.
func (r *runningTable) write(text *Text, isHeader func(rows []gridRow) bool) {
	text.pendingSize = 0
	r.prepare()
	reader := gridReader{grid: &r.grid, text: text}
	rows := r.rows
	for len(rows) > 1 && r.isMergedRow(rows[0]) {
		first, _ := rows[0].first()
		text.addBlock(Block{Text: first})
		rows = rows[1:]
	}
	if len(rows) > 0 && !r.isMergedRow(rows[0]) && isHeader(rows) {
		r.markValues(rows)
		rows = reader.startTable(rows)
		if !slices.ContainsFunc(rows, func(row gridRow) bool { return row.count() > 0 && !r.isMergedRow(row) }) {
			text.addRow(nil, reader.header)
		}
	}
	for _, row := range rows {
		if text.isFull() {
			return
		}
		if r.isMergedRow(row) {
			text.addRow(nil, row.texts())
		} else {
			text.addRow(reader.header, row.texts())
		}
	}
}

// isMergedRow reports whether a row is one cell that spans several columns.
func (g *grid) isMergedRow(row gridRow) bool {
	return row.count() == 1 && slices.ContainsFunc(g.byTop[row.number], func(m mergedCells) bool {
		return m.left == 0 && m.right >= len(row.cells)-1
	})
}

// markValues marks cells that are not column names: numbers, texts below the name of a single column, and a single text
// that is not bold, which is often a title of the rows below.
func (r *runningTable) markValues(rows []gridRow) {
	for i := 1; i < min(len(rows), 5); i++ {
		above, isSingle := rows[i-1], rows[i].count() == 1
		for column := range rows[i].cells {
			name, cell := above.cellAt(column).text, &rows[i].cells[column]
			isWide := slices.ContainsFunc(r.byTop[above.number], func(m mergedCells) bool {
				return m.left <= column && column <= m.right
			})
			cell.isNumber = cell.isNumber || startsWithDigit(cell.text) || isSingle && !cell.isBold ||
				name != "" && name != cell.text && !isWide
		}
	}
}

// startsWithDigit reports whether a text is like a number, such as -5 or € 10.
func startsWithDigit(text string) bool {
	text = strings.TrimLeftFunc(text, func(r rune) bool { return unicode.In(r, unicode.Z, unicode.S, unicode.P) })
	return text != "" && text[0] >= '0' && text[0] <= '9'
}
