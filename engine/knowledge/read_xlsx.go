package knowledge

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

type xlsx struct {
	sheetReader
	// shared has the shared strings, which cells refer to by number.
	shared []string
	styles []cellStyle
	// formats are the parsed formats, by their codes.
	formats map[string]*numberFormat
	// from1904 is set if the workbook counts days from 1904.
	from1904 bool
	// cell, cellType and style are the text, type and style of the open cell. isValue is set while its text is read.
	cell               strings.Builder
	column             int
	cellType, style    string
	isValue, isFormula bool
}

type cellStyle struct {
	format string
	isBold bool
}

type sheetPart struct{ name, part string }

// readXLSX reads the visible tables of a workbook as displayed.
func (d *document) readXLSX() error {
	x := &xlsx{sheetReader: sheetReader{document: d}, formats: map[string]*numberFormat{}}
	sheets, err := x.sheets()
	if err != nil {
		return err
	}
	if err := x.texts(); err != nil {
		return err
	}
	if err := x.readStyles(); err != nil {
		return err
	}
	for _, sheet := range sheets {
		if err := x.readSheet(sheet, len(sheets) > 1); err != nil {
			return err
		}
	}
	d.text.warn(x.left.warnings()...)
	return nil
}

// readSheet adds the tables of a sheet. Charts and empty sheets have none.
func (x *xlsx) readSheet(sheet sheetPart, isNamed bool) error {
	x.sheet, x.grid, x.hidden, x.row, x.isBlank = sheet.name, grid{}, nil, -1, false
	if err := x.visitTokens(sheet.part, x.visit); err != nil || x.text.isFull() {
		return err
	}
	level := 1
	if isNamed && len(x.rows) > 0 {
		x.text.addBlock(Block{Kind: Heading, Level: level, IsSheet: true, Text: sheet.name})
		level = 2
	}
	x.write(&x.text, level)
	return nil
}

// sheets returns the visible sheets, in order.
func (x *xlsx) sheets() ([]sheetPart, error) {
	parts, err := x.related("xl/workbook.xml")
	if err != nil {
		return nil, err
	}
	var sheets []sheetPart
	err = x.visitElements("xl/workbook.xml", func(element xml.StartElement) {
		switch {
		case len(sheets) > maxParts:
		case element.Name.Local == "workbookPr":
			x.from1904 = isOn(xmlAttr(element, "date1904"))
		case element.Name.Local == "sheet" && strings.HasSuffix(strings.ToLower(xmlAttr(element, "state")), "hidden"):
			x.left.sheet(xmlAttr(element, "name"))
		case element.Name.Local == "sheet":
			sheets = append(sheets, sheetPart{xmlAttr(element, "name"), parts[xmlAttr(element, "id")]})
		}
	})
	if len(sheets) > maxParts {
		return nil, x.tooMany("sheets")
	}
	return sheets, err
}

// isOn parses a boolean of Office documents.
func isOn(value string) bool { return value == "1" || value == "true" || value == "on" }

// texts reads the shared strings, without the pronunciation of Japanese.
func (x *xlsx) texts() error {
	var text strings.Builder
	inText, isPronunciation := false, false
	err := x.visitTokens("xl/sharedStrings.xml", func(token xml.Token) {
		switch t := token.(type) {
		case xml.StartElement:
			inText = t.Name.Local == "t"
			isPronunciation = isPronunciation || t.Name.Local == "rPh"
		case xml.EndElement:
			inText = false
			switch t.Name.Local {
			case "rPh":
				isPronunciation = false
			case "si":
				x.shared = append(x.shared, unescaped(text.String()))
				x.text.reserve(text.Len() + cellCost)
				text.Reset()
			}
		case xml.CharData:
			if inText && !isPronunciation {
				text.Write(t)
			}
		}
	})
	if !x.text.isFull() {
		x.text.pendingSize = 0
	}
	return err
}

var escaped = lazyregexp.New(`_x[0-9A-Fa-f]{4}_`)

// unescaped decodes Excel's escapes of characters that XML cannot contain, such as _x000D_.
func unescaped(text string) string {
	if !strings.Contains(text, "_x") {
		return text
	}
	return escaped().ReplaceAllStringFunc(text, func(code string) string {
		character, _ := strconv.ParseUint(code[2:6], 16, 16)
		return string(rune(character))
	})
}

// knownFormats has the codes of the built-in formats, which workbooks do not store. All date formats are alike here:
// only the kind counts.
var knownFormats = map[string]string{
	"1": "0", "2": "0.00", "3": "#,##0", "4": "#,##0.00", "5": `"$"#,##0`, "6": `"$"#,##0`, "7": `"$"#,##0.00`,
	"8": `"$"#,##0.00`,
	"9": "0%", "10": "0.00%", "11": "0.00E+00", "12": "# ?/?", "13": "# ??/??", "14": "yyyy-mm-dd", "15": "yyyy-mm-dd",
	"16": "yyyy-mm-dd", "17": "yyyy-mm-dd", "18": "h:mm", "19": "h:mm:ss", "20": "h:mm", "21": "h:mm:ss",
	"22": "yyyy-mm-dd h:mm",
	"37": "#,##0;(#,##0)", "38": "#,##0;(#,##0)", "39": "#,##0.00;(#,##0.00)", "40": "#,##0.00;(#,##0.00)",
	"41": "#,##0;(#,##0);-", "42": `"$"#,##0;("$"#,##0);"$"-`, "43": "#,##0.00;(#,##0.00);-",
	"44": `"$"#,##0.00;("$"#,##0.00);"$"-`,
	"45": "mm:ss", "46": "[h]:mm:ss", "47": "mm:ss", "48": "0.0E+0",
}

func (x *xlsx) readStyles() error {
	formats, bold := map[string]string{}, []bool{}
	inCells, inFonts := false, false
	return x.visitTokens("xl/styles.xml", func(token xml.Token) {
		switch t := token.(type) {
		case xml.StartElement:
			switch name := t.Name.Local; {
			case name == "numFmt" && len(formats) < maxStyles && len(xmlAttr(t, "formatCode")) <= maxFormat:
				formats[xmlAttr(t, "numFmtId")] = xmlAttr(t, "formatCode")
			case name == "fonts":
				inFonts = true
			case name == "font" && inFonts && len(bold) < 10*maxStyles:
				bold = append(bold, false)
			case name == "b" && inFonts && len(bold) > 0:
				bold[len(bold)-1] = xmlAttr(t, "val") == "" || isOn(xmlAttr(t, "val"))
			case name == "cellXfs":
				inCells = true
			case name == "xf" && inCells && len(x.styles) < 10*maxStyles:
				id := xmlAttr(t, "numFmtId")
				format, ok := formats[id]
				if !ok {
					format = knownFormats[id]
				}
				font, err := strconv.Atoi(xmlAttr(t, "fontId"))
				x.styles = append(x.styles, cellStyle{format, err == nil && font >= 0 && font < len(bold) && bold[font]})
			}
		case xml.EndElement:
			switch t.Name.Local {
			case "cellXfs":
				inCells = false
			case "fonts":
				inFonts = false
			}
		}
	})
}

func (x *xlsx) visit(token xml.Token) {
	switch t := token.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "col":
			x.hideColumns(t)
		case "mergeCell":
			if from, to, ok := strings.Cut(xmlAttr(t, "ref"), ":"); ok && len(x.merged) < maxMerged {
				x.merged = append(x.merged, mergedCells{rowOf(from), columnOf(from), rowOf(to), columnOf(to)})
			}
		case "row":
			x.startRow(t)
		case "c":
			x.startCell(t)
		case "f":
			x.isFormula = true
		case "v", "t":
			x.isValue = true
		case "rPh":
			x.isValue = false
		}
	case xml.CharData:
		if x.isValue {
			x.cell.Write(t)
		}
	case xml.EndElement:
		switch t.Name.Local {
		case "v", "t":
			x.isValue = false
		case "c":
			x.endCell()
		case "row":
			x.appendRow(x.next)
			x.next = gridRow{}
		}
	}
}

func (x *xlsx) hideColumns(col xml.StartElement) {
	first, _ := strconv.Atoi(xmlAttr(col, "min"))
	last, _ := strconv.Atoi(xmlAttr(col, "max"))
	if isOn(xmlAttr(col, "hidden")) && first > 0 && last >= first && len(x.hidden) < 1_000 {
		x.hidden = append(x.hidden, [2]int{first - 1, last - 1})
	}
}

func (x *xlsx) startRow(row xml.StartElement) {
	number := x.row + 1
	if given, err := strconv.Atoi(xmlAttr(row, "r")); err == nil && given-1 > number {
		number, x.isBlank = given-1, true
	}
	x.row, x.isHiddenRow, x.next = number, isOn(xmlAttr(row, "hidden")), gridRow{number: number}
}

func (x *xlsx) startCell(cell xml.StartElement) {
	x.cellType, x.style, x.isFormula = xmlAttr(cell, "t"), xmlAttr(cell, "s"), false
	x.cell.Reset()
	x.column = len(x.next.cells)
	if place := xmlAttr(cell, "r"); place != "" {
		x.column = columnOf(place)
	}
	for len(x.next.cells) < x.column {
		x.next.cells = append(x.next.cells, gridCell{})
		x.text.reserve(gridCost)
	}
}

func (x *xlsx) endCell() {
	cell := x.visible(x.value(), x.column)
	x.next.cells = append(x.next.cells, cell)
	x.text.reserve(gridCost + len(cell.text))
}

// columnOf returns the column of a cell such as C7, from 0, at most maxColumns.
func columnOf(cell string) int {
	column := 0
	for _, letter := range cell {
		if letter == '$' {
			continue
		}
		if letter < 'A' || letter > 'Z' || column > maxColumns {
			break
		}
		column = column*26 + int(letter-'A') + 1
	}
	return min(max(column-1, 0), maxColumns)
}

func rowOf(cell string) int {
	row, _ := strconv.Atoi(strings.TrimLeft(cell, "ABCDEFGHIJKLMNOPQRSTUVWXYZ$"))
	return row - 1
}

func nameOf(row, column int) string {
	name := ""
	for n := column + 1; n > 0; n = (n - 1) / 26 {
		name = string(rune('A'+(n-1)%26)) + name
	}
	return fmt.Sprint(name, row+1)
}
