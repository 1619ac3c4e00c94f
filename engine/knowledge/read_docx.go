package knowledge

import (
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

// maxStyles bounds the styles that are headings.
const maxStyles = 10_000

// readDOCX reads the paragraphs, headings, lists and tables of a Word document. It leaves out deleted text, headers,
// footers and notes.
func (d *document) readDOCX() error {
	word := docx{document: d, headings: map[string]int{}}
	if err := word.styles(); err != nil {
		return err
	}
	return word.read()
}

type docx struct {
	*document
	// headings are the levels of heading styles.
	headings map[string]int

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

var headingName = lazyregexp.New(`(?i)^heading ([1-9])$`)

// styles finds the styles of headings. Word gives them the same names in every language, or an outline level.
func (d *docx) styles() error {
	style := ""
	return d.part("word/styles.xml", func(token xml.Token) {
		element, begins := token.(xml.StartElement)
		if !begins {
			return
		}
		switch value := val(element, "val"); element.Name.Local {
		case "style":
			style = val(element, "styleId")
		case "name":
			if found := headingName().FindStringSubmatch(value); found != nil {
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

func (d *docx) read() error {
	inText := false
	return d.part("word/document.xml", func(token xml.Token) {
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
