package knowledge

import "slices"

// sheetReader reads a sheet row by row.
type sheetReader struct {
	*document
	left  leftOut
	sheet string
	grid
	// hidden has the ranges of hidden columns.
	hidden [][2]int
	// next has the current row, and row its number. isBlank is set if a blank row came before it.
	next                 gridRow
	row                  int
	isHiddenRow, isBlank bool
}

// visible returns a cell, without its content if it is hidden.
func (r *sheetReader) visible(cell gridCell, column int) gridCell {
	isIn := func(span [2]int) bool { return span[0] <= column && column <= span[1] }
	if !r.isHiddenRow && !slices.ContainsFunc(r.hidden, isIn) {
		return cell
	}
	if cell.text != "" {
		r.left.hide(r.isHiddenRow, r.sheet, r.row, column)
	}
	return gridCell{}
}

// appendRow adds a row that is neither empty nor hidden, unless the text is full, and reports whether it did. Hidden
// rows do not separate tables.
func (r *sheetReader) appendRow(row gridRow) bool {
	if r.text.isFull() || r.isHiddenRow {
		return false
	}
	if row.count() == 0 {
		r.isBlank = true
		return false
	}
	row.isApart = r.isBlank && len(r.rows) > 0
	r.isBlank = false
	r.rows = append(r.rows, row)
	r.text.reserve(blockCost)
	return true
}
