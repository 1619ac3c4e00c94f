package knowledge

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
)

const (
	// maxPart bounds an unpacked part of a DOCX file, in bytes.
	maxPart = 64 << 20
	// maxMarkup bounds a tag with its attributes, or the text between two tags, in bytes.
	maxMarkup = 1 << 20
	// maxDepth bounds the open elements. Word writes some thirty, and ten more for each table in a table.
	maxDepth = 1_000
	// maxStyles bounds the styles that are headings.
	maxStyles = 10_000
)

// readDOCX reads the paragraphs, headings, lists and tables of a Word document. It leaves out deleted text, headers,
// footers and notes.
func readDOCX(ctx context.Context, content []byte) (Text, error) {
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return Text{}, unreadable("the file is damaged")
	}
	d := docx{ctx: ctx, headings: map[string]int{}, text: newText(content)}
	if styles, err := archive.Open("word/styles.xml"); err == nil {
		err = d.styles(styles)
		_ = styles.Close()
		if err != nil {
			return Text{}, err
		}
	}
	body, err := archive.Open("word/document.xml")
	if err != nil {
		return Text{}, unreadable("the file is an archive that holds no Word document")
	}
	defer func() { _ = body.Close() }()
	return d.text, d.read(body)
}

type docx struct {
	ctx context.Context
	// headings are the levels of heading styles.
	headings map[string]int
	text     Text

	// paragraph is open if depth is 1 or more. A box within it has paragraphs of its own.
	paragraph strings.Builder
	depth     int
	block     Block
	// skipped counts the open elements of one that is left out, itself included.
	skipped int
	// tables counts the open tables. A table within another is read as text of its cell.
	tables int
	rows   [][]string
	cells  []string
	cell   strings.Builder
}

// each calls visit with every token of a part.
func (d *docx) each(part io.Reader, visit func(element xml.Token)) error {
	source := &markup{ctx: d.ctx, part: part}
	decoder := xml.NewDecoder(source)
	for depth := 0; !d.text.full(); {
		source.token = 0
		token, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case source.err != nil:
			return source.err
		case err != nil:
			return unreadable("the Word document is damaged")
		}
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
		if depth > maxDepth {
			return unreadable("the Word document is nested more than 1,000 elements deep")
		}
		visit(token)
	}
	return nil
}

// markup bounds what an XML decoder reads, because the decoder itself has no bounds.
type markup struct {
	ctx  context.Context
	part io.Reader
	// size counts all bytes read, and token those since the last token.
	size, token int
	// err says why reading stopped early.
	err error
}

func (m *markup) Read(p []byte) (int, error) {
	switch {
	case m.ctx.Err() != nil:
		m.err = m.ctx.Err()
	case m.size >= maxPart:
		m.err = unreadable("the Word document takes more than 64 MiB when it is unpacked")
	case m.token >= maxMarkup:
		m.err = unreadable("the Word document holds a tag or a text of more than 1 MiB")
	}
	if m.err != nil {
		return 0, m.err
	}
	n, err := m.part.Read(p)
	m.size += n
	m.token += n
	return n, err
}

var headingName = regexp.MustCompile(`(?i)^heading ([1-9])$`)

// styles finds the styles of headings. Word gives them the same names in every language, or an outline level.
func (d *docx) styles(part io.Reader) error {
	style := ""
	return d.each(part, func(token xml.Token) {
		element, begins := token.(xml.StartElement)
		if !begins {
			return
		}
		switch value := val(element, "val"); element.Name.Local {
		case "style":
			style = val(element, "styleId")
		case "name":
			if found := headingName.FindStringSubmatch(value); found != nil {
				d.heading(style, min(int(found[1][0]-'0'), 6))
			} else if strings.EqualFold(value, "title") {
				d.heading(style, 1)
			}
		case "outlineLvl":
			if level := outline(value); level > 0 {
				d.heading(style, level)
			}
		}
	})
}

// heading records a heading style. Word itself writes some four thousand styles at most.
func (d *docx) heading(style string, level int) {
	if len(d.headings) < maxStyles {
		d.headings[style] = level
	}
}

// outline returns the heading level of an outline level, which is 9 for body text.
func outline(value string) int {
	if level, err := strconv.Atoi(value); err == nil && level >= 0 && level < 9 {
		return min(level+1, 6)
	}
	return 0
}

func val(element xml.StartElement, name string) string {
	for _, attribute := range element.Attr {
		if attribute.Name.Local == name {
			return attribute.Value
		}
	}
	return ""
}

func (d *docx) read(part io.Reader) error {
	inText := false
	return d.each(part, func(token xml.Token) {
		switch t := token.(type) {
		case xml.StartElement:
			if d.skipped > 0 || isLeftOut(t.Name.Local) {
				d.skipped++
				return
			}
			if strings.Contains(t.Name.Space, "wordprocessingml") {
				inText = t.Name.Local == "t"
				d.begin(t)
			}
		case xml.EndElement:
			inText = false
			if d.skipped > 0 {
				d.skipped--
				return
			}
			if strings.Contains(t.Name.Space, "wordprocessingml") {
				d.end(t.Name.Local)
			}
		case xml.CharData:
			if inText && d.skipped == 0 {
				d.paragraph.Write(t)
				d.text.hold(len(t))
			}
		}
	})
}

func isLeftOut(name string) bool { return name == "Fallback" || name == "moveFrom" || name == "del" }

func (d *docx) begin(element xml.StartElement) {
	switch element.Name.Local {
	case "p":
		if d.depth++; d.depth == 1 {
			d.block = Block{}
		} else {
			d.paragraph.WriteByte('\n')
		}
	case "pStyle":
		d.level(d.headings[val(element, "val")])
	case "outlineLvl":
		d.level(outline(val(element, "val")))
	case "numPr":
		if d.block.Kind == Paragraph {
			d.block.Kind = Plain
		}
	case "tab":
		d.paragraph.WriteByte('\t')
	case "br", "cr":
		d.paragraph.WriteByte('\n')
	case "noBreakHyphen":
		d.paragraph.WriteByte('-')
	case "tbl":
		d.tables++
	}
}

func (d *docx) level(level int) {
	if level > 0 && d.depth == 1 {
		d.block = Block{Kind: Heading, Level: level}
	}
}

func (d *docx) end(name string) {
	switch {
	case name == "p" && d.depth > 1:
		d.depth--
		d.paragraph.WriteByte('\n')
	case name == "p":
		d.depth = 0
		d.block.Text = d.paragraph.String()
		d.paragraph.Reset()
		if d.tables > 0 {
			d.cell.WriteString(d.block.Text + " ")
			d.text.hold(1)
		} else {
			d.text.held = 0
			d.text.add(d.block)
		}
	case name == "tc" && d.tables == 1:
		d.cells = append(d.cells, strings.Join(strings.Fields(d.cell.String()), " "))
		d.cell.Reset()
		d.text.hold(cellCost)
	case name == "tr" && d.tables == 1:
		if len(d.cells) > 0 {
			d.rows = append(d.rows, d.cells)
			d.text.hold(blockCost)
		}
		d.cells = nil
	case name == "tbl":
		d.tables--
		if d.tables == 0 && len(d.rows) > 0 {
			d.table()
		}
	}
}

// table keeps a table. A table of a single column only frames text.
func (d *docx) table() {
	d.text.held = 0
	if len(d.rows[0]) > 1 {
		d.text.addTable(d.rows[0], d.rows[1:])
	} else {
		d.text.addTable(nil, d.rows)
	}
	d.rows = nil
}
