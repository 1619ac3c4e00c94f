package knowledge

import (
	"cmp"
	"encoding/xml"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

// maxStyles bounds the known styles, and maxStyleDepth a chain of styles that are each based on the next.
const maxStyles, maxStyleDepth = 10_000, 20

// readDOCX reads the paragraphs, headings, lists and tables of a Word document. It leaves out hidden and deleted text,
// headers, footers and notes.
func (d *document) readDOCX() error {
	word := docx{
		flow: flow{document: d}, styles: map[string]docxStyle{}, tall: map[int]int{},
	}
	if err := word.readStyles(); err != nil {
		return err
	}
	return word.readBody()
}

type docx struct {
	flow
	styles map[string]docxStyle
	// skipped is the depth of open elements within one that is left out, including it.
	skipped int
	// inRun is set within a run, isHidden within a hidden run, and isHiddenStyle if the paragraph's style hides its
	// text.
	inRun, isHidden, isHiddenStyle bool
	// columns counts the columns of the open cell. vertical is "restart" if the cell begins a vertically merged cell,
	// "continue" if it continues one, and otherwise empty. tall has, for each column, the index in table.merged of
	// the last vertically merged cell.
	columns  int
	vertical string
	tall     map[int]int
}

type docxStyle struct {
	// level is the level of a heading style, or 0.
	level int
	// parent is the style that it is based on. hides says whether it hides its text; nil means as the parent.
	parent string
	hides  *bool
}

var headingName = lazyregexp.New(`(?i)^heading ([1-9])$`)

// readStyles reads the styles. Styles of headings have the same names in every language, or an outline level.
func (d *docx) readStyles() error {
	id := ""
	return d.visitElements("word/styles.xml", func(element xml.StartElement) {
		style := d.styles[id]
		switch value := xmlAttr(element, "val"); element.Name.Local {
		case "style":
			id = xmlAttr(element, "styleId")
			return
		case "name":
			if found := headingName().FindStringSubmatch(value); found != nil {
				style.level = min(int(found[1][0]-'0'), 6)
			} else if strings.EqualFold(value, "title") {
				style.level = 1
			}
		case "outlineLvl":
			style.level = cmp.Or(outline(value), style.level)
		case "basedOn":
			style.parent = value
		case "vanish":
			style.hides = new(value == "" || isOn(value))
		}
		// Word itself writes at most about four thousand styles.
		if len(d.styles) < maxStyles {
			d.styles[id] = style
		}
	})
}

// isHiddenBy reports whether a style, or one that it is based on, hides its text.
func (d *docx) isHiddenBy(id string) bool {
	for range maxStyleDepth {
		style := d.styles[id]
		if style.hides != nil || id == "" {
			return style.hides != nil && *style.hides
		}
		id = style.parent
	}
	return false
}

// outline returns the heading level of an outline level. An outline level of 9 is body text.
func outline(value string) int {
	if level, err := strconv.Atoi(value); err == nil && level >= 0 && level < 9 {
		return min(level+1, 6)
	}
	return 0
}

func (d *docx) readBody() error {
	inText := false
	return d.visitTokens("word/document.xml", func(token xml.Token) {
		switch t := token.(type) {
		case xml.StartElement:
			if d.skipped > 0 || isLeftOut(t.Name.Local) {
				d.skipped++
				return
			}
			if strings.Contains(t.Name.Space, "wordprocessingml") {
				inText = t.Name.Local == "t"
				d.begin(t)
			} else if strings.HasSuffix(t.Name.Space, "/math") {
				// An equation is read without its layout, apart from the lines of fractions.
				if inText = t.Name.Local == "t"; t.Name.Local == "den" {
					d.write("/")
				}
			}
		case xml.EndElement:
			inText = false
			if d.skipped > 0 {
				d.skipped--
				return
			}
			if strings.Contains(t.Name.Space, "wordprocessingml") {
				d.endElement(t.Name.Local)
			}
		case xml.CharData:
			if inText && d.skipped == 0 && !d.isHidden {
				d.write(string(t))
			}
		}
	})
}

func isLeftOut(name string) bool {
	return name == "Fallback" || name == "moveFrom" || name == "del" || name == "tcPrChange" || name == "trPrChange"
}

func (d *docx) begin(element xml.StartElement) {
	switch value := xmlAttr(element, "val"); element.Name.Local {
	case "p":
		d.beginParagraph()
		d.isHiddenStyle = false
	case "pStyle":
		d.setHeading(d.styles[value].level)
		d.isHiddenStyle = d.isHiddenBy(value)
	case "outlineLvl":
		d.setHeading(outline(value))
	case "numPr":
		d.setListItem()
	case "r":
		d.inRun, d.isHidden = true, d.isHiddenStyle
	case "rStyle":
		d.isHidden = d.isHidden || d.inRun && d.isHiddenBy(value)
	case "vanish":
		// Outside of a run, the element belongs to the paragraph mark.
		if d.inRun {
			d.isHidden = value == "" || isOn(value)
		}
	case "hidden":
		// The element is in the properties of a row, before its cells.
		d.isHiddenRow = d.isHiddenRow || d.tables == 1 && (value == "" || isOn(value))
	case "tr":
		d.isHiddenRow = d.isHiddenRow && d.tables > 1
	case "tbl":
		if d.tables++; d.tables == 1 {
			clear(d.tall)
		}
	case "tc", "gridSpan", "vMerge", "gridBefore":
		if d.tables == 1 {
			d.cellProperty(element.Name.Local, value)
		}
	}
	if d.isHidden {
		return
	}
	switch element.Name.Local {
	case "tab":
		d.write("\t")
	case "br", "cr":
		d.write("\n")
	case "noBreakHyphen":
		d.write("-")
	}
}

func (d *docx) endElement(name string) {
	switch name {
	case "r":
		d.inRun, d.isHidden = false, false
	case "p":
		d.endParagraph()
	case "tc":
		d.endCell()
	case "tr":
		d.endRow()
	case "tbl":
		d.endTable()
	}
}

// cellProperty reads the beginning of a cell, or how many columns and rows it spans.
func (d *docx) cellProperty(name, value string) {
	count, _ := strconv.Atoi(value)
	switch name {
	case "tc":
		d.columns, d.vertical = 1, ""
	case "gridSpan":
		d.columns = max(count, 1)
	case "vMerge":
		d.vertical = cmp.Or(value, "continue")
	case "gridBefore":
		d.table.add(&d.text, gridCell{}, count)
	}
}

func (d *docx) endCell() {
	if d.tables != 1 {
		return
	}
	t := &d.table
	column, number := len(t.next.cells), t.next.number
	above, isBelow := d.tall[column]
	switch {
	case d.vertical == "continue":
		if isBelow && t.merged[above].bottom == number-1 {
			t.merged[above].bottom = number
		}
	case d.vertical != "" && len(t.merged) < maxMerged:
		d.tall[column] = len(t.merged)
		t.merged = append(t.merged, mergedCells{number, column, number, column + d.columns - 1})
	default:
		t.merge(d.columns, 1)
	}
	d.flow.endCell(1)
	t.add(&d.text, gridCell{}, d.columns-1)
}
