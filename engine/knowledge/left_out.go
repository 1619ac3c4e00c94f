package knowledge

import (
	"fmt"
	"strings"
)

const maxNamed = 5

// leftOut is the content of a spreadsheet that a reader leaves out.
type leftOut struct {
	sheets, formulas, faults nameList
	rows, columns            int
	// hiddenRow is the hidden row that was counted last. hiddenColumns has all hidden columns that were counted.
	hiddenRow     string
	hiddenColumns map[string]bool
}

// nameList counts names, and keeps the first few of them.
type nameList struct {
	names []string
	count int
}

func (n *nameList) addName(name string) {
	if n.count++; len(n.names) < maxNamed {
		n.names = append(n.names, name)
	}
}

func (n *nameList) String() string {
	text := strings.Join(n.names, ", ")
	if more := n.count - len(n.names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (l *leftOut) sheet(name string) { l.sheets.addName(clip(name, maxPath)) }

func cellName(sheet string, row, column int) string {
	return clip(sheet, maxPath) + "!" + nameOf(row, column)
}

func (l *leftOut) formula(sheet string, row, column int) {
	l.formulas.addName(cellName(sheet, row, column))
}

// fault counts a cell that shows an error, such as #REF!.
func (l *leftOut) fault(sheet string, row, column int, shown string) {
	l.faults.addName(cellName(sheet, row, column) + " (" + clip(shown, 20) + ")")
}

// hide counts the row or the column of a hidden cell.
func (l *leftOut) hide(isRow bool, sheet string, row, column int) {
	if isRow {
		if key := fmt.Sprint(sheet, "!", row); key != l.hiddenRow {
			l.hiddenRow = key
			l.rows++
		}
		return
	}
	if l.hiddenColumns == nil {
		l.hiddenColumns = map[string]bool{}
	}
	if key := fmt.Sprint(sheet, "!", column); !l.hiddenColumns[key] && len(l.hiddenColumns) < maxColumns {
		l.hiddenColumns[key] = true
		l.columns++
	}
}

func (l *leftOut) warnings() []string {
	var sentences, hidden []string
	if l.formulas.count > 0 {
		sentences = append(sentences, "these formulas have no stored result: "+l.formulas.String()+
			"; open the file in a spreadsheet program and save it")
	}
	if l.faults.count > 0 {
		sentences = append(sentences, "these cells show an error and were left out: "+l.faults.String())
	}
	if l.sheets.count > 0 {
		hidden = append(hidden, "sheets: "+l.sheets.String())
	}
	if l.rows > 0 {
		hidden = append(hidden, fmt.Sprint("rows: ", l.rows))
	}
	if l.columns > 0 {
		hidden = append(hidden, fmt.Sprint("columns: ", l.columns))
	}
	if len(hidden) > 0 {
		sentences = append(sentences, "hidden parts were left out ("+strings.Join(hidden, "; ")+")")
	}
	return sentences
}
