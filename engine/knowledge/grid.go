package knowledge

import (
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// gridCost is the memory of a spreadsheet cell without its text, in bytes.
	gridCost = 32
	// maxMerged bounds the merged ranges of a sheet.
	maxMerged = 10_000
)

// grid is a sheet of a spreadsheet: its visible rows that are not empty.
type grid struct {
	rows   []gridRow
	merged []mergedCells
	// byTop has the merged ranges by their first row, if they span several columns.
	byTop map[int][]mergedCells
}

type gridRow struct {
	// number is the row's number in the sheet, from 0.
	number int
	// isApart is set if the row comes after a blank row.
	isApart bool
	cells   []gridCell
}

type gridCell struct {
	text string
	// isNumber is set for numbers, dates and booleans, which are rarely column names.
	isNumber, isBold bool
}

// mergedCells is an inclusive range of cells that are displayed as one. Its first cell has the text.
type mergedCells struct{ top, left, bottom, right int }

// mergeAt records that the cell at a row and a column spans columns and rows.
func (g *grid) mergeAt(row, column, columns, rows int) {
	if (columns > 1 || rows > 1) && len(g.merged) < maxMerged {
		g.merged = append(g.merged, mergedCells{row, column, row + rows - 1, column + columns - 1})
	}
}

func (r gridRow) count() int {
	n := 0
	for _, c := range r.cells {
		if c.text != "" {
			n++
		}
	}
	return n
}

func (r gridRow) texts() []string {
	texts := make([]string, len(r.cells))
	for i, c := range r.cells {
		texts[i] = c.text
	}
	return texts
}

// all reports whether a condition holds for all non-empty cells of the row.
func (r gridRow) all(condition func(gridCell) bool) bool {
	return !slices.ContainsFunc(r.cells, func(c gridCell) bool { return c.text != "" && !condition(c) })
}

func (r gridRow) isText() bool { return r.all(func(c gridCell) bool { return !c.isNumber }) }
func (r gridRow) isBold() bool { return r.all(func(c gridCell) bool { return c.isBold }) }

// first returns the text and the column of the first non-empty cell.
func (r gridRow) first() (text string, column int) {
	for i, c := range r.cells {
		if c.text != "" {
			return c.text, i
		}
	}
	return "", 0
}

func (r gridRow) cellAt(column int) gridCell {
	if column < len(r.cells) {
		return r.cells[column]
	}
	return gridCell{}
}

type gridReader struct {
	*grid
	text *Text
	// level is the level of a table's title.
	level int
	// header is the current table's header, and headerRow the row of the header.
	header    []string
	headerRow gridRow
	hasRows   bool
}

// write adds the tables of the grid to a text. Blank rows separate tables, but rows without a header of their own
// continue the table above. The lines above a table are its title.
func (g *grid) write(text *Text, level int) {
	text.pendingSize = 0
	g.prepare()
	r := &gridReader{grid: g, text: text, level: level}
	for start := 0; start < len(g.rows) && !text.isFull(); {
		end := start + 1
		for end < len(g.rows) && !g.rows[end].isApart {
			end++
		}
		r.addGroup(g.rows[start:end], len(g.rows) == end-start)
		start = end
	}
	r.endTable()
}

// prepare fills the merged cells, and finds them by their first rows.
func (g *grid) prepare() {
	g.fillDown()
	g.byTop = map[int][]mergedCells{}
	for _, m := range g.merged {
		if m.right > m.left {
			g.byTop[m.top] = append(g.byTop[m.top], m)
		}
	}
}

// fillDown copies the text of merged cells to each of their rows.
func (g *grid) fillDown() {
	for _, m := range g.merged {
		from, _ := slices.BinarySearchFunc(g.rows, m.top, func(r gridRow, number int) int { return r.number - number })
		if from == len(g.rows) || g.rows[from].number != m.top || m.bottom == m.top {
			continue
		}
		merged := g.rows[from].cellAt(m.left)
		if merged.text == "" {
			continue
		}
		for i := from + 1; i < len(g.rows) && g.rows[i].number <= m.bottom; i++ {
			if m.left < len(g.rows[i].cells) && g.rows[i].cells[m.left].text == "" {
				g.rows[i].cells[m.left] = merged
			}
		}
	}
}

// spread returns the row with the text of merged cells in each of their columns.
func (g *grid) spread(row gridRow) gridRow {
	ranges := g.byTop[row.number]
	if len(ranges) == 0 {
		return row
	}
	cells := slices.Clone(row.cells)
	for _, m := range ranges {
		merged := row.cellAt(m.left)
		for column := m.left + 1; column <= m.right && column < maxColumns && merged.text != ""; column++ {
			if column == len(cells) {
				cells = append(cells, gridCell{})
			}
			if column < len(cells) && cells[column].text == "" {
				cells[column] = merged
			}
		}
	}
	row.cells = cells
	return row
}

// addGroup adds a group of rows without blank rows in it.
func (r *gridReader) addGroup(rows []gridRow, isWhole bool) {
	titles := r.titles(rows)
	table := rows[titles:]
	switch {
	case len(table) == 0, !isWhole && widest(table) == 1, isPairs(table):
		// These rows are notes, or names with their values.
		r.endTable()
		for _, row := range rows {
			r.text.addBlock(Block{Text: strings.Join(nonBlank(row.texts()), " ")})
		}
		return
	case r.header == nil || r.isHeader(table, titles > 0):
		r.endTable()
		r.title(rows[:titles])
		table = r.startTable(table)
	default:
		r.title(rows[:titles])
	}
	for _, row := range table {
		if r.text.isFull() {
			return
		}
		r.row(row)
	}
}

func widest(rows []gridRow) int {
	most := 0
	for _, row := range rows {
		most = max(most, row.count())
	}
	return most
}

// titles counts the rows above a table. They fill at most half of its columns, have the same text in each cell, or come
// before a full row of texts above numbers. A row that fills half of the columns can still be a header. It is one if it
// omits the first of two columns, or if it has only texts and the row below does not. A merged cell that omits the
// first column is also a header.
func (r *gridReader) titles(rows []gridRow) int {
	start := maxColumns
	for _, row := range rows {
		_, column := row.first()
		start = min(start, column)
	}
	// most has, for each row, the maximum width of that row and of the rows below it.
	most := make([]int, len(rows)+1)
	for i := len(rows) - 1; i >= 0; i-- {
		most[i] = max(most[i+1], rows[i].count())
	}
	for i, row := range rows {
		n, width := row.count(), most[i+1]
		first, column := row.first()
		spread := r.spread(row).count()
		isWide := (n > 1 || column > start) && 2*spread > width || n == 1 && column > start && 2*spread == width ||
			n > 1 && 2*spread == width && row.isText() && !rows[i+1].isText()
		switch {
		case n > 1 && len(rows) > i+1 && row.all(func(c gridCell) bool { return c.text == first }):
		case n >= width:
			return i
		case isWide && !strings.HasSuffix(first, ":") && (spread > n || !isAboveHeader(rows[i+1:], width)):
			return i
		}
	}
	return len(rows)
}

// isAboveHeader reports whether the rows begin with the header of a table of this width.
func isAboveHeader(rows []gridRow, width int) bool {
	return len(rows) > 1 && rows[0].count() == width && rows[0].isText() && !rows[1].isText()
}

// isPairs reports whether the rows are names that end with colons, each with at most one value.
func isPairs(rows []gridRow) bool {
	return !slices.ContainsFunc(rows, func(row gridRow) bool {
		first, _ := row.first()
		return row.count() > 2 || !strings.HasSuffix(first, ":")
	})
}

// isHeader reports whether the first row is the header of a new table.
func (r *gridReader) isHeader(rows []gridRow, hasTitle bool) bool {
	first := rows[0]
	if first.count() < 2 || !first.isText() || len(rows) == 1 {
		return false
	}
	_, column := first.first()
	if _, current := r.headerRow.first(); column != current || slices.Equal(first.texts(), r.headerRow.texts()) {
		return true
	}
	for i, c := range first.cells {
		if c.text != "" && (i >= len(r.header) || r.header[i] == "" || rows[1].cellAt(i).isNumber) {
			return true
		}
	}
	return first.isBold() && !rows[1].isBold() || hasTitle && !r.headerRow.isBold()
}

func (r *gridReader) title(rows []gridRow) {
	for i, row := range rows {
		block := Block{Text: strings.Join(slices.Compact(nonBlank(row.texts())), " ")}
		if i == 0 && utf8.RuneCountInString(block.Text) <= maxHeading && !strings.Contains(block.Text, "\n") {
			block.Kind, block.Level = Heading, min(r.level, 6)
		}
		r.text.addBlock(block)
	}
}

// startTable reads the header, which has several rows if its cells are merged, and returns the rows after it.
func (r *gridReader) startTable(rows []gridRow) []gridRow {
	r.headerRow, r.hasRows = rows[0], false
	header := r.spread(rows[0])
	n := 1
	for last := rows[0]; n < min(len(rows), 4) && rows[n].count() > 1 && rows[n].isText(); n++ {
		if r.spread(last).count() == last.count() {
			break
		}
		last = rows[n]
		header.cells = slices.Clone(header.cells)
		for i, c := range r.spread(last).cells {
			switch {
			case i == len(header.cells):
				header.cells = append(header.cells, c)
			case c.text != "" && c.text != header.cells[i].text:
				header.cells[i].text = strings.TrimSpace(header.cells[i].text + " " + c.text)
			}
		}
	}
	// Some programs, such as pandas, write the name of the index column in a row of its own.
	if n < len(rows)-1 && rows[n].count() == 1 && rows[n].isText() && !r.isMergedRow(rows[n]) {
		if name, column := rows[n].first(); column < len(header.cells) && header.cells[column].text == "" {
			header.cells = slices.Clone(header.cells)
			header.cells[column].text = name
			n++
		}
	}
	r.header = header.texts()
	tidy(r.header)
	return rows[n:]
}

// row adds a row of the current table. A merged text over at least half of the columns is a title for the rows below.
func (r *gridReader) row(row gridRow) {
	r.hasRows = true
	if text, column := row.first(); row.count() == 1 && len(r.header) > 1 {
		isWide := func(m mergedCells) bool { return m.left == column && 2*(m.right-m.left+1) >= len(r.header) }
		if slices.ContainsFunc(r.byTop[row.number], isWide) && utf8.RuneCountInString(text) <= maxHeading {
			r.text.addBlock(Block{Kind: Heading, Level: min(r.level+1, 6), Text: text})
			return
		}
	}
	r.text.addRow(r.header, row.texts())
}

// endTable ends the current table. A header without rows becomes a row.
func (r *gridReader) endTable() {
	if r.header != nil && !r.hasRows {
		r.text.addRow(nil, r.header)
	}
	r.header = nil
}
