package knowledge

import (
	"strings"
	"unicode"
)

// Text is what was read of a document: its blocks in reading order.
type Text struct {
	Blocks []Block
	size   int
}

// Block is a piece of a document that its form sets apart.
type Block struct {
	Kind Kind
	// Level is 1 to 6 for a heading, 1 the outermost; else 0.
	Level int
	// Text is the words of every kind but Row.
	Text string
	// Header and Cells are a Row's columns. Header is empty where the table has none, and is never longer than Cells.
	Header, Cells []string
}

// Kind is the form of a block.
type Kind int

const (
	// Paragraph is running text. Its lines may be headings of a kind that only their words show ("Article 5").
	Paragraph Kind = iota
	// Heading is a title of what follows.
	Heading
	// Row is one row of a table, beside the table's header.
	Row
	// Plain is text that is never a heading: an entry of a list, code.
	Plain
)

// maxText bounds what is kept of one document, in bytes, so that a small file cannot unpack into a huge one.
const maxText = 64 << 20

// cellCost is what a cell takes beside its letters.
const cellCost = 16

// add appends a block that shows something, unless the text is full.
func (t *Text) add(b Block) {
	b.Text = strings.TrimSpace(clean(b.Text))
	t.size += len(b.Text)
	shown := b.Text != ""
	for i, cell := range b.Cells {
		b.Cells[i] = strings.TrimSpace(clean(cell))
		t.size += len(b.Cells[i]) + cellCost
		shown = shown || b.Cells[i] != ""
	}
	if shown && !t.full() {
		t.Blocks = append(t.Blocks, b)
	}
}

func (t *Text) full() bool { return t.size > maxText }

// addTable appends the rows of a table under its header. A header without rows is a row itself.
func (t *Text) addTable(header []string, rows [][]string) {
	if len(rows) == 0 && len(header) > 0 {
		header, rows = nil, [][]string{header}
	}
	for i, name := range header {
		header[i] = strings.TrimSpace(clean(name))
	}
	for _, cells := range rows {
		t.add(Block{Kind: Row, Header: header[:min(len(header), len(cells))], Cells: cells})
	}
}

// String is the text with a line for each block.
func (t Text) String() string {
	var b strings.Builder
	for _, block := range t.Blocks {
		b.WriteString(block.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// String is a block's text; a row is "Header: value; Header: value", or "value | value" where there is no header.
func (b Block) String() string {
	if b.Kind != Row {
		return b.Text
	}
	if len(b.Header) == 0 {
		return strings.Join(shown(b.Cells), " | ")
	}
	var parts []string
	for i, cell := range b.Cells {
		switch {
		case cell == "":
		case i < len(b.Header) && b.Header[i] != "":
			parts = append(parts, b.Header[i]+": "+cell)
		default:
			parts = append(parts, cell)
		}
	}
	return strings.Join(parts, "; ")
}

// shown are the texts that are not empty.
func shown(texts []string) []string {
	var out []string
	for _, text := range texts {
		if text != "" {
			out = append(out, text)
		}
	}
	return out
}

// clean is a text without what nobody sees and Postgres cannot keep, its lines ended by \n.
func clean(text string) string {
	if !strings.ContainsFunc(text, isNoise) {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u2028", "\n", "\u2029", "\n").Replace(text)
	return strings.Map(func(r rune) rune {
		if isNoise(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// isNoise reports control characters, soft hyphens, byte order marks, and the line ends that clean makes one of.
func isNoise(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || r == '\u00AD' || r == '\uFEFF' || r == '\u2028' || r == '\u2029'
}
