package knowledge

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

type table struct {
	runningTable
	open, inRow, inCell bool
	// isTitle is set if the open cell is a header cell, and hasTitles if the table has one. wide and tall count the
	// columns and rows that the open cell spans.
	isTitle, hasTitles bool
	wide, tall         int
}

func (p *page) startCell(tag html.Token) {
	p.endCell()
	if !p.open {
		p.flush()
		return
	}
	p.flush()
	p.inCell, p.isTitle = true, tag.DataAtom == atom.Th
	p.hasTitles = p.hasTitles || p.isTitle
	p.wide, p.tall = min(max(spanOf(tag, "colspan"), 1), 1_000), min(spanOf(tag, "rowspan"), maxRowSpan)
	if p.tall < 1 {
		// The cell spans all rows below it.
		p.tall = maxRowSpan
	}
}

// maxRowSpan is the number of rows that browsers let a cell span at most.
const maxRowSpan = 65_534

func spanOf(tag html.Token, name string) int {
	n, err := strconv.Atoi(strings.TrimSpace(attribute(tag, name)))
	if err != nil || n < 0 {
		return 1
	}
	return n
}

func (p *page) endCell() {
	if p.inCell {
		text := strings.Join(strings.Fields(p.line.String()), " ")
		p.addAround(&p.text, gridCell{text: text, isBold: p.isTitle, isNumber: !p.isTitle}, p.wide, p.tall)
		p.inCell, p.mark = false, ""
		p.line.Reset()
	}
}

func (p *page) endRow() {
	p.endCell()
	switch {
	case len(p.next.cells) > 0:
		p.skipCovered(&p.text)
	case !p.inRow:
		return
	}
	p.inRow = false
	p.runningTable.endRow(&p.text, false)
}

// endTable adds the current table. A table that contains another is layout, and is added in parts. A first row of
// header cells is the header. In a table without header cells, the first row is the header, as in a spreadsheet.
func (p *page) endTable() {
	if !p.open {
		return
	}
	p.endRow()
	hasTitles := p.hasTitles
	p.runningTable.write(&p.text, func(rows []gridRow) bool {
		if len(rows[0].cells) < 2 {
			return false
		}
		if hasTitles {
			return !slices.ContainsFunc(rows[0].cells, func(c gridCell) bool { return !c.isBold })
		}
		for _, row := range rows {
			for i := range row.cells {
				row.cells[i].isNumber = false
			}
		}
		return len(rows) > 1
	})
	p.table = table{}
}
