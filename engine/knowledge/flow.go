package knowledge

import "strings"

// flow collects the running text of a document while it is read: paragraphs, and tables between them.
type flow struct {
	*document
	// A paragraph is open if depth is at least 1. A box within it has its own paragraphs.
	paragraph strings.Builder
	depth     int
	block     Block
	// tables counts the open tables. A table within a table becomes text of its cell.
	tables int
	table  runningTable
	cell   strings.Builder
	// isHiddenRow is set while a hidden row of the outermost table is read.
	isHiddenRow bool
}

func (f *flow) write(text string) {
	f.paragraph.WriteString(text)
	f.text.reserve(len(text))
}

func (f *flow) beginParagraph() {
	if f.depth++; f.depth == 1 {
		f.block = Block{}
	} else {
		f.paragraph.WriteByte('\n')
	}
}

// setHeading makes the open paragraph a heading, unless the level is 0.
func (f *flow) setHeading(level int) {
	if level > 0 && f.depth == 1 {
		f.block = Block{Kind: Heading, Level: level}
	}
}

func (f *flow) setListItem() {
	if f.block.Kind == Paragraph {
		f.block.Kind = Plain
	}
}

func (f *flow) endParagraph() {
	if f.depth > 1 {
		f.depth--
		f.paragraph.WriteByte('\n')
		return
	}
	f.depth = 0
	f.block.Text = f.paragraph.String()
	f.paragraph.Reset()
	if f.tables > 0 {
		f.cell.WriteString(f.block.Text + " ")
		f.text.reserve(1)
	} else {
		f.text.pendingSize = 0
		f.text.addBlock(f.block)
	}
}

// endCell ends a cell of the outermost table, and adds it to the row the given number of times.
func (f *flow) endCell(times int) {
	if f.tables != 1 {
		return
	}
	text := strings.Join(strings.Fields(f.cell.String()), " ")
	for range min(times, maxColumns-len(f.table.next.cells)) {
		f.table.add(&f.text, gridCell{text: text}, 1)
	}
	f.cell.Reset()
}

func (f *flow) endRow() {
	if f.tables == 1 {
		f.table.endRow(&f.text, f.isHiddenRow)
	}
}

// endTable adds a table. A table of a single column is only a frame around text.
func (f *flow) endTable() {
	if f.tables--; f.tables > 0 {
		return
	}
	f.table.write(&f.text, func(rows []gridRow) bool { return len(rows[0].cells) > 1 })
	f.table = runningTable{}
}
