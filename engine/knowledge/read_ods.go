package knowledge

import (
	"encoding/xml"
	"strconv"
	"strings"
)

type ods struct {
	sheetReader
	odfStyles
	// sheets counts the visible sheets. first has the first sheet until there is a second one, because only then does the
	// first one need a title.
	sheets    int
	first     *grid
	firstName string

	isTable bool
	// columns counts the declared columns.
	columns     int
	repeatedRow int
	// blanks counts blank cells, which matter only before a non-empty cell.
	blanks int
	// cell is the open cell, and line its text. hasText is set if it displays a text, even an empty one.
	cell            xml.StartElement
	inCell, hasText bool
	line            strings.Builder
}

// readODS reads the visible tables of a spreadsheet as displayed.
func (d *document) readODS() error {
	o := &ods{sheetReader: sheetReader{document: d}, odfStyles: odfStyles{styles: map[string]odfStyle{}}}
	if err := d.readBodyOfODF(&o.odfStyles, o); err != nil || d.text.isFull() {
		return err
	}
	if o.first != nil {
		o.first.write(&d.text, 1)
	}
	d.text.warn(o.left.warnings()...)
	return nil
}

func (o *ods) takesText() bool { return o.inCell }

func (o *ods) write(text string) {
	o.line.WriteString(text)
	o.text.reserve(len(text))
}

func (o *ods) isLeftOut(t xml.StartElement) bool {
	switch t.Name.Local {
	case "annotation", "shapes", "frame", "forms", "tracked-changes", "named-expressions", "dde-links", "ruby-text",
		"scenario", "table-source":
		return true
	case "table":
		// A sheet within a sheet belongs to a chart or a form.
		if o.isTable {
			return true
		}
		if o.find("table", xmlAttr(t, "style-name"), isHiddenODF) {
			o.left.sheet(xmlAttr(t, "name"))
			return true
		}
	}
	return o.inCell && strings.Contains(t.Name.Space, "drawing")
}

func (o *ods) begin(t xml.StartElement) {
	switch t.Name.Local {
	case "table":
		o.isTable, o.sheet, o.grid, o.hidden = true, xmlAttr(t, "name"), grid{}, nil
		o.columns, o.row, o.isBlank = 0, 0, false
		if o.sheets++; o.first != nil {
			o.writeSheet(o.firstName, o.first)
			o.first = nil
		}
	case "table-column":
		n := repeated(t, "number-columns-repeated")
		if isCollapsed(t) && len(o.hidden) < 1_000 {
			o.hidden = append(o.hidden, [2]int{o.columns, o.columns + min(n, maxColumns) - 1})
		}
		o.columns = min(o.columns+min(n, maxColumns), maxColumns)
	case "table-row":
		o.isHiddenRow, o.repeatedRow, o.blanks = isCollapsed(t), repeated(t, "number-rows-repeated"), 0
		o.next = gridRow{number: o.row}
	case "table-cell", "covered-table-cell":
		o.cell, o.inCell, o.hasText = t, o.isTable, false
		o.line.Reset()
	case "p":
		o.hasText = true
		if o.line.Len() > 0 {
			o.write("\n")
		}
	case "s":
		if o.inCell {
			n, _ := strconv.Atoi(xmlAttr(t, "c"))
			o.write(strings.Repeat(" ", min(max(n, 1), maxHeading)))
		}
	case "tab", "line-break":
		if o.inCell {
			o.write("\n")
		}
	}
}

func isCollapsed(t xml.StartElement) bool {
	visibility := xmlAttr(t, "visibility")
	return visibility == "collapse" || visibility == "filter"
}

func (o *ods) endElement(name string) {
	switch name {
	case "table-cell", "covered-table-cell":
		o.endCell()
	case "table-row":
		o.endRow()
	case "table":
		if o.isTable = false; o.text.isFull() {
			return
		}
		if sheet := o.grid; o.sheets == 1 {
			o.first, o.firstName = &sheet, o.sheet
		} else {
			o.writeSheet(o.sheet, &sheet)
		}
	}
}

func (o *ods) writeSheet(name string, sheet *grid) {
	if len(sheet.rows) > 0 {
		o.text.addBlock(Block{Kind: Heading, Level: 1, IsSheet: true, Text: name})
	}
	sheet.write(&o.text, 2)
}

// endCell adds a cell, as often as it repeats.
func (o *ods) endCell() {
	o.inCell = false
	n := min(repeated(o.cell, "number-columns-repeated"), maxColumns)
	column := len(o.next.cells) + o.blanks
	cell := o.visible(o.value(column), column)
	if cell.text == "" {
		o.blanks = min(o.blanks+n, maxColumns)
		return
	}
	o.mergeAt(o.row, column, repeated(o.cell, "number-columns-spanned"), repeated(o.cell, "number-rows-spanned"))
	n = min(n, maxColumns-column)
	for range o.blanks {
		o.next.cells = append(o.next.cells, gridCell{})
		o.text.reserve(gridCost)
	}
	o.blanks = 0
	for i := 0; i < n && !o.text.isFull(); i++ {
		o.next.cells = append(o.next.cells, cell)
		o.text.reserve(gridCost + len(cell.text))
	}
}

// value returns the displayed value of the open cell. Dates are spelled as in other spreadsheets.
func (o *ods) value(column int) gridCell {
	kind := ""
	for _, a := range o.cell.Attr {
		// In a later version of the format, the type can also be "error".
		if a.Name.Local == "value-type" && (kind == "" || a.Value == "error") {
			kind = a.Value
		}
	}
	cell := gridCell{
		text: o.line.String(), isNumber: kind != "" && kind != "string",
		isBold: o.find("table-cell", xmlAttr(o.cell, "style-name"), isBoldODF),
	}
	switch {
	case kind == "error", isFault(cell.text) && xmlAttr(o.cell, "formula") != "":
		o.left.fault(o.sheet, o.row, column, cell.text)
		cell.text = ""
	case kind == "" && cell.text == "" && xmlAttr(o.cell, "formula") != "":
		o.left.formula(o.sheet, o.row, column)
	case kind == "date":
		cell.text = strings.Replace(strings.TrimSuffix(xmlAttr(o.cell, "date-value"), "T00:00:00"), "T", " ", 1)
	case cell.isNumber && !o.hasText:
		cell.text = xmlAttr(o.cell, "value") + xmlAttr(o.cell, "boolean-value")
	case kind == "float" && strings.Contains(cell.text, "E+"):
		if number, err := strconv.ParseFloat(xmlAttr(o.cell, "value"), 64); err == nil {
			cell.text = general(number)
		}
	case cell.isNumber:
		cell.text = strings.Join(strings.Fields(cell.text), " ")
	}
	return cell
}

// isFault reports whether a text is the error of a formula.
func isFault(text string) bool {
	return strings.HasPrefix(text, "Err:") || len(text) > 2 && text[0] == '#' && strings.HasSuffix(text, "!") ||
		text == "#N/A" || text == "#NAME?"
}

// endRow adds a row, as often as it repeats.
func (o *ods) endRow() {
	for i := 0; i < o.repeatedRow && o.appendRow(o.next); i++ {
		for _, c := range o.next.cells {
			if i > 0 {
				o.text.reserve(gridCost + len(c.text))
			}
		}
		o.next.number++
	}
	o.next = gridRow{}
	o.row += min(o.repeatedRow, 1<<21)
}
