package knowledge

import (
	"encoding/xml"
	"strconv"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

// xlsx is a workbook while it is read.
type xlsx struct {
	*document
	// shared are the texts that cells refer to by number.
	shared []string
	// dates says for each style of a cell whether its number is a date.
	dates []bool
	// from1904 says that the first day is that of 1904.
	from1904 bool

	// header is the first row of the sheet, and hasRows says that others follow.
	header, cells []string
	hasRows       bool
	// cell is the text of the open cell, in its form and style, and isValue says that the text read belongs to it.
	cell        strings.Builder
	form, style string
	isValue     bool
}

type sheet struct{ name, part string }

// readXLSX reads the sheets of a workbook that are not hidden. The first row of each is the header.
func (d *document) readXLSX() error {
	x := &xlsx{document: d}
	sheets, err := x.sheets()
	if err != nil {
		return err
	}
	if err := x.texts(); err != nil {
		return err
	}
	if err := x.styles(); err != nil {
		return err
	}
	for _, sheet := range sheets {
		if len(sheets) > 1 {
			d.text.add(Block{Kind: Heading, Level: 1, Text: sheet.name})
		}
		x.header, x.hasRows = nil, false
		if err := d.part(sheet.part, x.visit); err != nil {
			return err
		}
		if !x.hasRows && x.header != nil {
			d.text.addRow(nil, x.header)
		}
	}
	return nil
}

// sheets returns those that are shown, in order.
func (x *xlsx) sheets() ([]sheet, error) {
	parts, err := x.related("xl/workbook.xml")
	if err != nil {
		return nil, err
	}
	var sheets []sheet
	err = x.part("xl/workbook.xml", func(token xml.Token) {
		element, begins := token.(xml.StartElement)
		switch {
		case !begins:
		case element.Name.Local == "workbookPr":
			x.from1904 = val(element, "date1904") == "1" || val(element, "date1904") == "true"
		case element.Name.Local == "sheet" && val(element, "state") == "" && len(sheets) <= maxParts:
			sheets = append(sheets, sheet{val(element, "name"), parts[val(element, "id")]})
		}
	})
	if len(sheets) > maxParts {
		return nil, x.tooMany("sheets")
	}
	return sheets, err
}

// texts reads what cells refer to. How Japanese is pronounced is left out.
func (x *xlsx) texts() error {
	var text strings.Builder
	inText, isPronunciation := false, false
	err := x.part("xl/sharedStrings.xml", func(token xml.Token) {
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
				x.shared = append(x.shared, text.String())
				x.text.hold(text.Len() + cellCost)
				text.Reset()
			}
		case xml.CharData:
			if inText && !isPronunciation {
				text.Write(t)
			}
		}
	})
	if !x.text.full() {
		x.text.held = 0
	}
	return err
}

// dated finds the days, months and years of a number's format, of which texts in quotes and colours in brackets are no part.
var dated = lazyregexp.New(`^(?:"[^"]*"|\[[^\]]*\]|\\.|[^"\[\\dmyhs])*[dmyhs]`)

// styles finds the styles of dates, some by number, others by the letters of their format.
func (x *xlsx) styles() error {
	formats, inCells := map[string]bool{}, false
	for _, known := range []string{"14", "15", "16", "17", "18", "19", "20", "21", "22", "45", "46", "47"} {
		formats[known] = true
	}
	return x.part("xl/styles.xml", func(token xml.Token) {
		switch t := token.(type) {
		case xml.StartElement:
			switch {
			case t.Name.Local == "numFmt" && len(formats) < maxStyles:
				formats[val(t, "numFmtId")] = dated().MatchString(strings.ToLower(val(t, "formatCode")))
			case t.Name.Local == "cellXfs":
				inCells = true
			case t.Name.Local == "xf" && inCells && len(x.dates) < 10*maxStyles:
				x.dates = append(x.dates, formats[val(t, "numFmtId")])
			}
		case xml.EndElement:
			if t.Name.Local == "cellXfs" {
				inCells = false
			}
		}
	})
}

func (x *xlsx) visit(token xml.Token) {
	switch t := token.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "c":
			x.form, x.style = val(t, "t"), val(t, "s")
			x.cell.Reset()
			for column := columnOf(val(t, "r")); len(x.cells) < column; {
				x.cells = append(x.cells, "")
				x.text.hold(cellCost)
			}
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
			x.cells = append(x.cells, x.value())
			x.text.hold(cellCost)
		case "row":
			x.row()
		}
	}
}

// columnOf returns the column of a cell such as C7, from 0, at most maxColumns.
func columnOf(cell string) int {
	column := 0
	for _, letter := range cell {
		if letter < 'A' || letter > 'Z' || column > maxColumns {
			break
		}
		column = column*26 + int(letter-'A') + 1
	}
	return min(max(column-1, 0), maxColumns)
}

// value returns what the open cell shows.
func (x *xlsx) value() string {
	text := x.cell.String()
	switch x.form {
	case "s":
		if i, err := strconv.Atoi(text); err == nil && i >= 0 && i < len(x.shared) {
			return x.shared[i]
		}
		return ""
	case "b":
		return map[string]string{"1": "TRUE", "0": "FALSE"}[text]
	case "e":
		return ""
	case "", "n":
		number, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return ""
		}
		if style, _ := strconv.Atoi(x.style); style >= 0 && style < len(x.dates) && x.dates[style] {
			return x.date(number)
		}
		return strconv.FormatFloat(number, 'f', -1, 64)
	}
	return text
}

// date returns the day, the time of day, or both, of a number of days.
func (x *xlsx) date(days float64) string {
	first := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	if x.from1904 {
		first = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if days < 0 || days > 3e6 {
		return strconv.FormatFloat(days, 'f', -1, 64)
	}
	whole := int(days)
	at := first.AddDate(0, 0, whole).Add(time.Duration((days - float64(whole)) * float64(24*time.Hour))).Round(time.Second)
	switch {
	case days < 1:
		return at.Format("15:04:05")
	case at.Equal(at.Truncate(24 * time.Hour)):
		return at.Format(time.DateOnly)
	}
	return at.Format(time.DateTime)
}

// row keeps a row. The header is a row by itself when no other follows.
func (x *xlsx) row() {
	if x.text.full() {
		return
	}
	cells := x.cells
	x.cells, x.text.held = nil, 0
	if len(shown(cells)) == 0 {
		return
	}
	if x.header == nil {
		tidy(cells)
		x.header = cells
		return
	}
	x.hasRows = true
	x.text.addRow(x.header, cells)
}
