package knowledge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/knowledge"
)

// readFile reads a file that another program wrote. testdata/make.sh describes these files.
func readFile(t *testing.T, name string) knowledge.Text {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return read(t, name, string(content))
}

func TestReadWorkbookOfOpenpyxl(t *testing.T) {
	t.Parallel()
	text := readFile(t, "openpyxl.xlsx")
	prices, days := []string{"Category", "Article", "Price", "VAT", ""}, []string{"Day", "From", "To"}
	requireBlocks(t, []knowledge.Block{
		sheet("Prices"), heading(2, "Price list 2026"), para("Valid from March"),
		row(prices, "Kitchen", "Kettle", "49.90 €", "19%", ""), row(prices, "Kitchen", "Lamp", "1,234.50 €", "7%", ""),
		heading(2, "Opening hours"), row(days, "Monday", "09:00", "17:30"), para("Closed on public holidays."),
		sheet("Totals"), row([]string{"Article", "Net", "Gross"}, "Kettle", "10", ""),
	}, text)
	require.Equal(t, "these formulas have no stored result: Totals!C2; open the file in a spreadsheet program and save "+
		"it; "+
		"hidden parts were left out (sheets: Internal, Archive; rows: 1; columns: 1)", text.Warning)
}

func TestReadWorkbookOfPandas(t *testing.T) {
	t.Parallel()
	members, rates := []string{"Name", "Since", "Rate", "Active"}, []string{"Name", "Rate min", "Rate max"}
	requireBlocks(t, []knowledge.Block{
		sheet("Members"), row(members, "Ann", "2026-01-02", "0.5", "TRUE"), row(members, "Bob", "2026-03-04 10:30:00",
			"", "FALSE"),
		sheet("Rates"), row(rates, "Ann", "0.5", "0.5"), row(rates, "Bob", "", ""),
	}, readFile(t, "pandas.xlsx"))
}

// Both formats of LibreOffice give the same text, except for content that only one of them stores.
func TestReadWorkbooksOfLibreOffice(t *testing.T) {
	t.Parallel()
	for name, moment := range map[string]string{"libreoffice.xlsx": "2026-03-01 14:30",
		"libreoffice.ods": "2026-03-01 14:30:00"} {
		text := readFile(t, name)
		require.Equal(t, `Kind: day; Value: 2026-03-01
Kind: moment; Value: `+moment+`
Kind: length; Value: 36:30
Kind: accounting; Value: -1,234.50 €
Kind: postcode; Value: 01067
Kind: unit; Value: 3.50 kg
Kind: text; Value: 00123
Kind: EAN; Value: 4006381333931
Kind: truth; Value: TRUE
Kind: sum; Value: 0.3
Kind: error
Kind: hidden
`, text.String(), name)
		require.Equal(t, "these cells show an error and were left out: Sheet!B12 (#DIV/0!)", text.Warning, name)
	}
	for name, price := range map[string]string{"libreoffice-german.xlsx": "1,234.50 €",
		"libreoffice-german.ods": "1.234,50 €"} {
		text := readFile(t, name)
		require.Equal(t, "Artikel: Kessel; Preis: "+price+"\n", text.String(), name)
		require.Equal(t, "hidden parts were left out (sheets: Intern; rows: 1; columns: 1)", text.Warning, name)
	}
}

func TestNumbersAreShownInTheirFormat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format string
		value  float64
		want   string
	}{
		{"General", 0.1 + 0.2, "0.3"}, {"General", 4006381333931, "4006381333931"}, {"", 1e-7, "0.0000001"},
		{"0%", 0.19, "19%"}, {"0.0%", 0.195, "19.5%"}, {"0 %", 0.19, "19 %"}, {"0.00", 2.675, "2.68"}, {"0.##", 12, "12"},
		{"#,##0.00 €", 49.9, "49.90 €"}, {`#,##0.00\ [$€-407]`, 1234.5, "1,234.50 €"}, {"#.##0,00 €", 1234.5, "1.234,50 €"},
		{"0,00 €", 49.9, "49,90 €"}, {`"$"#,##0`, 1234567, "$1,234,567"}, {`[$CHF-807] #,##0.00`, 12, "CHF 12.00"},
		{`_($* #,##0.00_);_($* (#,##0.00);_($* "-"??_);_(@_)`, -1234.5, "$(1,234.50)"}, {`0.00;[Red]0.00`, -5, "-5.00"},
		{`_-* #,##0.00 "€"_-;-* #,##0.00 "€"_-;_-* "-"?? "€"_-`, 0, "- €"}, {"+0;-0;0", 5, "+5"}, {"+0;-0;0", -5, "-5"},
		{`0.0,, "M"`, 12345678, "12.3 M"}, {"0,", 12345, "12"}, {"00000", 1067, "01067"},
		{"(###) ###-####", 5551234567, "(555) 123-4567"},
		{"000-00-0000", 1234567, "001-23-4567"}, {`0.00 "kg"`, 3.5, "3.50 kg"}, {`0 "days"`, 3, "3 days"},
		{"0.00E+00", 123456, "1.23E+05"},
		{"# ?/?", 0.5, "0.5"}, {";;;", 7, ""}, {"#", 0, ""}, {`[<10]"few";"many"`, 5, "few"},
		{`[<10]"few";"many"`, 50, "many"},
		{"0.00", -0.001, "0.00"}, {"#,##0", -1234, "-1,234"}, {"0" + ".", 5, "5"}, {`"`, 5, ""}, {"[", 5, ""}, {`\`, 5, ""},
		{"dd.mm.yyyy", 46082, "2026-03-01"}, {`[$-407]dddd, d. mmmm yyyy`, 46082, "2026-03-01"},
		{"m/d/yy h:mm AM/PM", 46082.5, "2026-03-01 12:00"},
		{"@", 5, "5"}, {`"No. "@`, 5, "No. 5"}, {`"No. "General`, 5, "No. 5"},
		{"h:mm", 46082.25, "06:00"}, {"mmm yyyy", 46082, "2026-03"}, {"yyyy", 46082, "2026"}, {"[h]:mm", 1.5, "36:00"},
		{"[mm]:ss", 0.5, "720:00"}, {"yyyy-mm-dd", -1, "-1"}, {"yyyy-mm-dd", 1, "1900-01-01"},
	} {
		require.Equal(t, c.want, knowledge.FormatNumber(c.value, c.format), "%s of %v", c.format, c.value)
	}
}

// Blank rows separate tables. A sheet may contain notes, titles, and values next to their names.
func TestReadTablesOfSheet(t *testing.T) {
	t.Parallel()
	table := func(rows ...string) string {
		sheet := ""
		for _, cells := range rows {
			sheet += "<row>" + cells + "</row>"
		}
		return sheet
	}
	text := func(cells ...string) string {
		row := ""
		for _, cell := range cells {
			row += `<c t="inlineStr"><is><t>` + cell + `</t></is></c>`
		}
		return row
	}
	const n = `<c><v>7</v></c>`
	for name, c := range map[string]struct{ sheet, want string }{
		"a header":              {table(text("A", "B"), text("x")+n, text("y")+n), "A: x; B: 7\nA: y; B: 7\n"},
		"blank rows in a table": {table(text("A", "B"), text("x")+n, "", text("y")+n), "A: x; B: 7\nA: y; B: 7\n"},
		"another table": {table(text("A", "B"), text("x")+n, "", text("C", "D"), text("y")+n),
			"A: x; B: 7\nC: y; D: 7\n"},
		"a repeated header": {table(text("A", "B"), text("x", "y"), "", text("A", "B"), text("z", "z")),
			"A: x; B: y\nA: z; B: z\n"},
		"a titled table": {table(text("Hours"), text("A", "B"), text("x", "y"), "", text("Names"), text("C", "D"),
			text("y", "z")), "Hours\nA: x; B: y\nNames\nC: y; D: z\n"},
		"values before a table": {table(text("From:", "me"), "", text("A", "B"), text("x", "y")), "From: me\nA: x; B: y\n"},
		"a title of two cells": {table(text("List", "2026"), text("A", "B", "C", "D"), text("a", "b", "c", "d")),
			"List 2026\nA: a; B: b; C: c; D: d\n"},
		"a name of an index": {table(`<c/>`+text("Price"), text("Oak")+n, text("Elm")+n),
			"Oak; Price: 7\nElm; Price: 7\n"},
		"columns without names": {table(text("Item")+"<c/><c/>"+text("Net"), text("Spade", "red", "big")+n,
			text("Rake", "blue", "small")+n),
			"Item: Spade; red; big; Net: 7\nItem: Rake; blue; small; Net: 7\n"},
		"a title of three cells": {table(text("Price list", "as of", "March"), text("Item", "Net", "VAT", "Gross", "Unit"),
			text("Spade")+n+n+n+text("piece")),
			"Price list as of March\nItem: Spade; Net: 7; VAT: 7; Gross: 7; Unit: piece\n"},
		"a repeated title": {table(text("Prices", "Prices"), text("Item", "Net"), text("Spade")+n),
			"Prices\nItem: Spade; Net: 7\n"},
		"notes below": {table(text("A", "B"), text("x", "y"), "", text("All prices with tax")),
			"A: x; B: y\nAll prices with tax\n"},
		"one column":    {table(text("A"), text("x"), text("y")), "A: x\nA: y\n"},
		"only a header": {table(text("A", "B")), "A | B\n"},
	} {
		require.Equal(t, c.want, read(t, "a.xlsx", string(workbook(t, c.sheet))).String(), name)
	}
}

// Hidden text is omitted in every format.
func TestReadTextsOfLibreOffice(t *testing.T) {
	t.Parallel()
	table := row([]string{"Day", "Hours"}, "Monday", "9 to 5")
	requireBlocks(t, []knowledge.Block{
		heading(1, "Visible head"), para("Seen  end"), plain("one"), plain("two"), table, para("Note here  spaced\nline"),
	}, readFile(t, "libreoffice.odt"))
	for _, name := range []string{"libreoffice.docx", "libreoffice.rtf", "libreoffice.epub"} {
		text := readFile(t, name).String()
		require.Contains(t, text, "Seen", name)
		require.NotContains(t, text, "unseen", name)
		require.NotContains(t, text, "secret", name)
	}
}

func TestReadColumnsOfLibreOffice(t *testing.T) {
	t.Parallel()
	text := readFile(t, "libreoffice.pdf").String()
	last := 0
	for i := range 7 {
		part := fmt.Sprintf("Part %d begins here: the customer may return the kettle within thirty days of its delivery, "+
			"provided that the receipt "+
			"accompanies the parcel and that nobody has used the kettle for anything but tea. This is the end of part %d.", i, i)
		at := strings.Index(text, part)
		require.GreaterOrEqual(t, at, last, "part %d of\n%s", i, text)
		last = at
	}
}

func TestReadRightToLeftPDF(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("testdata/right-to-left.html")
	require.NoError(t, err)
	for _, name := range []string{"libreoffice-right-to-left.pdf", "chromium-right-to-left.pdf"} {
		text := readFile(t, name)
		for _, block := range read(t, "a.html", string(page)).Blocks {
			require.Contains(t, text.String(), block.Text, name)
		}
		require.Empty(t, text.Warning)
	}
	require.Contains(t, readFile(t, "libreoffice-vowels.pdf").Warning, "upload DOCX or text")
}
