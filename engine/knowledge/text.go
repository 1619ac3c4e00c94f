package knowledge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Text is the content of a document: its blocks in reading order.
type Text struct {
	Blocks []Block
	// Warning says what was guessed or left out, if anything.
	Warning string
	// unevenRow is the number of the first row of a CSV that has more or fewer cells than the header, or 0.
	unevenRow int
	// size is the memory of the blocks, and pendingSize the memory of text that is not a block yet. headerSize is the size
	// of column names, counted again for each row with a cell under them. No block is added once size and pendingSize
	// together, or headerSize, exceed limit. A limit of zero means none. All are in bytes.
	size, pendingSize, headerSize, limit int
}

// newText returns the empty text of a file. Its limit keeps a small file from expanding into a huge text.
func newText(content []byte) Text {
	return Text{limit: min(minText+8*len(content), maxText)}
}

// Block is a part of a document with its form.
type Block struct {
	Kind Kind
	// Level is 1 to 6 for a heading, where 1 is the outermost, and 0 for other kinds.
	Level int
	// IsSheet is set for a heading that names a sheet of a workbook.
	IsSheet bool
	// Text is the text of every kind except Row.
	Text string
	// Header and Cells are the columns of a Row. Header may be empty, and is never longer than Cells.
	Header, Cells []string
}

// Kind is the form of a block.
type Kind int

const (
	// Paragraph is running text. Some lines may be headings by their words ("Article 5").
	Paragraph Kind = iota
	// Heading is the title of the blocks after it.
	Heading
	// Row is one row of a table, with the table's header.
	Row
	// Plain is text that is never a heading, such as an item of a list, or code.
	Plain
)

const (
	// maxText bounds the text of a document, in bytes. minText is the lowest limit of any document.
	maxText, minText = 48 << 20, 4 << 20
	// blockCost and cellCost are the memory of a block and a cell without their text, in bytes.
	blockCost, cellCost = 80, 16
)

// addBlock appends a block, unless it is blank or the text is full.
func (t *Text) addBlock(b Block) {
	b.Text = strings.TrimSpace(clean(b.Text))
	size, shown := blockCost+len(b.Text), b.Text != ""
	for i, cell := range b.Cells {
		b.Cells[i] = strings.TrimSpace(clean(cell))
		size += len(b.Cells[i]) + cellCost
		if b.Cells[i] != "" {
			shown = true
			if i < len(b.Header) {
				t.headerSize += len(b.Header[i])
			}
		}
	}
	if !shown {
		return
	}
	if t.size += size; !t.isFull() {
		t.Blocks = append(t.Blocks, b)
	}
}

// append adds the blocks of another text.
func (t *Text) append(other Text) {
	t.Blocks = append(t.Blocks, other.Blocks...)
	t.size += other.size
	t.headerSize += other.headerSize
	t.Warning = cmp.Or(t.Warning, other.Warning)
}

// warn adds sentences to the warning.
func (t *Text) warn(sentences ...string) {
	t.Warning = strings.Join(nonBlank(append([]string{t.Warning}, sentences...)), "; ")
}

func (t *Text) isFull() bool { return t.limit > 0 && max(t.size+t.pendingSize, t.headerSize) > t.limit }

// reserve counts text that is not a block yet, so that paragraphs and tables are bounded. A negative size releases it
// before it becomes a block.
func (t *Text) reserve(size int) { t.pendingSize += size }

// fault returns the error for a document whose text is full.
func (t *Text) fault() error {
	return unreadable(fmt.Sprintf("the file contains more than %d MiB of text, too much for a file of its size",
		t.limit>>20))
}

// addRow appends a row. tidy must have cleaned the header.
func (t *Text) addRow(header, cells []string) {
	t.addBlock(Block{Kind: Row, Header: header[:min(len(header), len(cells))], Cells: cells})
}

// tidy cleans the names of columns in place.
func tidy(header []string) {
	for i, name := range header {
		header[i] = strings.TrimSpace(clean(name))
	}
}

// String returns the text with a line for each block.
func (t Text) String() string {
	var b strings.Builder
	for _, block := range t.Blocks {
		b.WriteString(block.String())
		b.WriteByte('\n')
	}
	return b.String()
}

// String returns a block's text. A row is "Header: value; Header: value", or "value | value" without a header.
func (b Block) String() string {
	if b.Kind != Row {
		return b.Text
	}
	if len(b.Header) == 0 {
		return strings.Join(nonBlank(b.Cells), " | ")
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

func nonBlank(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text == "" })
}

// clean removes control characters, soft hyphens and byte order marks, replaces invalid UTF-8, and ends lines with \n.
func clean(text string) string {
	if !strings.ContainsFunc(text, isNoise) {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u2028", "\n", "\u2029", "\n").
		Replace(text)
	return strings.Map(func(r rune) rune {
		if isNoise(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// isNoise reports whether clean removes or replaces a character: control characters, soft hyphens, byte order marks,
// and some line ends.
func isNoise(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) || r == '\u00AD' || r == '\uFEFF' || r == '\u2028' ||
		r == '\u2029'
}
