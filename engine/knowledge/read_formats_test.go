package knowledge_test

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/knowledge"
)

// workbook returns a workbook with these sheets. The last sheet is hidden.
func workbook(t testing.TB, sheets ...string) []byte {
	files := map[string]string{
		"xl/sharedStrings.xml": `<sst><si><t>Article</t></si><si><r><t>Ket</t></r><r><t>tle</t></r><rPh><t>x</t></rPh></si></sst>`,
		"xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="[$-409]d\ mmm"/><numFmt numFmtId="171" formatCode="0&quot;days&quot;"/><numFmt numFmtId="172" formatCode="0;-0;0;&quot;No. &quot;@"/></numFmts>` +
			`<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="170"/><xf numFmtId="171"/><xf numFmtId="172"/></cellXfs></styleSheet>`,
	}
	names, relations := "", ""
	for i, rows := range sheets {
		state := ""
		if i > 0 && i == len(sheets)-1 {
			state = `state="hidden"`
		}
		names += fmt.Sprintf(`<sheet name="Sheet %d" r:id="r%d" %s/>`, i, i, state)
		relations += fmt.Sprintf(`<Relationship Id="r%d" Target="/xl/worksheets/s%d.xml"/>`, i, i)
		files[fmt.Sprintf("xl/worksheets/s%d.xml", i)] = `<worksheet><sheetData>` + rows + `</sheetData></worksheet>`
	}
	files["xl/workbook.xml"] = `<workbook xmlns:r="r"><sheets>` + names + `</sheets></workbook>`
	files["xl/_rels/workbook.xml.rels"] = `<Relationships>` + relations + `</Relationships>`
	return archive(t, files)
}

func TestReadXLSX(t *testing.T) {
	t.Parallel()
	head := `<row><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>Price</t></is></c><c r="D1" t="str"><v>Since</v></c></row>`
	rows := `<row/><row><c r="A3" t="s"><v>1</v></c><c r="B3"><f>1+1</f><v>12.50</v></c><c r="D3" s="1"><v>45000</v></c></row>` +
		`<row><c r="A4" t="b"><v>1</v></c><c r="B4" t="e"><v>#REF!</v></c><c r="C4" s="3"><v>7</v></c><c r="D4" s="2"><v>45000.5</v></c></row>`
	header := []string{"Article", "Price", "", "Since"}
	want := []knowledge.Block{
		row(header, "Kettle", "12.5", "", "2023-03-15"),
		row(header, "TRUE", "", "7days", "2023-03-15 12:00:00"),
	}
	requireBlocks(t, want, read(t, "a.xlsx", string(workbook(t, head+rows))))
	requireBlocks(t, append(append([]knowledge.Block{sheet("Sheet 0")}, want...), sheet("Sheet 1"),
		row(nil, "Article", "Price", "", "Since")),
		read(t, "a", string(workbook(t, head+rows, head, head))))
}

func TestReadFormattedTextOfXLSX(t *testing.T) {
	t.Parallel()
	rows := `<row><c t="s"><v>0</v></c><c t="str"><v>Order</v></c></row>` +
		`<row><c t="s" s="4"><v>1</v></c><c t="str" s="4"><v>A 7</v></c></row>`
	requireBlocks(t, []knowledge.Block{row([]string{"Article", "Order"}, "No. Kettle", "No. A 7")},
		read(t, "a.xlsx", string(workbook(t, rows))))
}

func TestReadPPTX(t *testing.T) {
	t.Parallel()
	slide := func(attribute, body string) string {
		return `<p:sld xmlns:p="p" xmlns:a="a" ` + attribute + `>` + body + `</p:sld>`
	}
	text := func(place, text string) string {
		return `<p:sp>` + place + `<a:p><a:r><a:t>` + text + `</a:t></a:r></a:p></p:sp>`
	}
	cell := func(text string) string { return `<a:tc><a:p><a:r><a:t>` + text + `</a:t></a:r></a:p></a:tc>` }
	file := archive(t, map[string]string{
		"ppt/presentation.xml":            `<p xmlns:r="r"><sldId id="256" r:id="b"/><sldId id="257" r:id="a"/><sldId r:id="c"/><sldId r:id="gone"/></p>`,
		"ppt/_rels/presentation.xml.rels": `<r><Relationship Id="a" Target="slides/1.xml"/><Relationship Id="b" Target="slides/2.xml"/><Relationship Id="c" Target="slides/3.xml"/></r>`,
		"ppt/slides/1.xml": slide("", `<a:tbl><a:tr>`+cell("Day")+cell("Hours")+`</a:tr><a:tr>`+cell("Monday")+
			cell("9 to 5")+`</a:tr></a:tbl>`),
		"ppt/slides/2.xml": slide("", text(`<p:ph type="title"/>`, "Opening hours")+text("", "Every day")),
		"ppt/slides/3.xml": slide(`show="0"`, text("", "secret")),
	})
	requireBlocks(t, []knowledge.Block{heading(1, "Opening hours"), plain("Every day"),
		row([]string{"Day", "Hours"}, "Monday", "9 to 5")}, read(t, "a.pptx", string(file)))
}

func TestReadEPUB(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"META-INF/container.xml": `<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>`,
		"OEBPS/book.opf":         `<package><manifest><item id="a" href="text/1.xhtml"/><item id="b" href="2.xhtml"/></manifest><spine><itemref idref="b"/><itemref idref="a"/></spine></package>`,
		"OEBPS/text/1.xhtml":     `<html><body><p>The end.</p></body></html>`,
		"OEBPS/2.xhtml":          `<?xml version="1.0"?><html><head><title/></head><body><h1>Début</h1><p>It begins.</p></body></html>`,
	}
	requireBlocks(t, []knowledge.Block{heading(1, "Début"), para("It begins."), para("The end.")},
		read(t, "a.epub", string(archive(t, files))))
	files["META-INF/encryption.xml"] = `<e><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes256-cbc"/></e>`
	_, err := knowledge.Read(t.Context(), "a.epub", "", archive(t, files))
	require.ErrorContains(t, err, "the book is encrypted")
}

func TestReadEML(t *testing.T) {
	t.Parallel()
	const head = "From: =?utf-8?q?Zo=C3=AB?= <z@example.com>\r\nTo: shop@example.com\r\nSubject: " +
		"=?iso-8859-1?q?Caf=E9?=\r\n"
	want := []knowledge.Block{heading(1, "Café"), plain("From: Zoë <z@example.com>\nTo: shop@example.com")}
	requireBlocks(t, append(want[:2:2], para("L’été")), read(t, "a.eml",
		head+"Content-Type: text/plain; charset=windows-1252\r\nContent-Transfer-Encoding: "+
			"quoted-printable\r\n\r\nL=92=E9t=\r\n=E9\r\n"))
	requireBlocks(t, append(want[:2:2], para("plain"), plain("Attachments: a.pdf")), read(t, "a.eml", head+
		"Content-Type: multipart/mixed; boundary=m\r\n\r\n--m\r\nContent-Type: multipart/alternative; boundary=a\r\n\r\n"+
		"--a\r\n\r\nplain\r\n--a\r\nContent-Type: text/html\r\n\r\n<p>page\r\n--a--\r\n"+
		"--m\r\nContent-Type: application/pdf; name=a.pdf\r\nContent-Disposition: attachment\r\n\r\n%PDF\r\n--m--\r\n"))
	requireBlocks(t, append(want[:2:2], para("page")), read(t, "a.eml",
		head+"Content-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\n"+
			base64.StdEncoding.EncodeToString([]byte("<p>page<p hidden>pixel"))))
}

func TestReadXML(t *testing.T) {
	t.Parallel()
	requireBlocks(t, []knowledge.Block{row([]string{"id", "name", "price"}, "7", "Kettle", "12"),
		para("A kettle boils water.")}, read(t, "a.xml",
		`<?xml version="1.0"?><shop xmlns="x"><item id="7"><name>Kettle</name><price> 12 </price></item><note>A <b>kettle</b> boils water.</note></shop>`))
	requireBlocks(t, []knowledge.Block{para("é")}, read(t, "a", "<?xml version=\"1.0\" "+
		"encoding=\"windows-1252\"?><a>\xE9</a>"))
}

func TestReadRTF(t *testing.T) {
	t.Parallel()
	requireBlocks(t, []knowledge.Block{para("Café – „Цена“ {100}"), para("Second line"), row(nil, "Monday", "9 to 5")},
		read(t, "a.rtf",
			`{\rtf1\ansi\ansicpg1251{\fonttbl{\f0 Arial;}}{\*\generator X;}{\info{\title secret}}Caf\u233? \endash  \'84\'d6\'e5\'ed\'e0\'93 \{100\}\par`+"\r\n"+
				`Second{\b  line}\par{\pict\bin3 }}}}\trowd Monday\cell 9 to 5\cell\row}`))
}

func TestReadRefusesImages(t *testing.T) {
	t.Parallel()
	_, err := knowledge.Read(t.Context(), "a.txt", "image/png", []byte("\x89PNG\x0D\x0A\x1A\x0A\x00\x00"))
	require.ErrorContains(t, err, "the file is an image")
	requireBlocks(t, []knowledge.Block{para("BM 25")}, read(t, "a.txt", "BM 25"))
}

// Each of these files unpacks to much more than its size, or nests without limit.
func TestReadBoundsOtherFormats(t *testing.T) {
	t.Parallel()
	const m = 1 << 20
	for name, c := range map[string]struct {
		name    string
		content []byte
		want    string
	}{
		"a workbook's far columns": {"a.xlsx", workbook(t, strings.Repeat(`<row><c r="XFD1"><v>1</v></c></row>`, 2_000)),
			"the file contains more than"},
		"a text in many cells": {"a.xlsx",
			workbook(t, strings.Repeat(`<row>`+strings.Repeat(`<c t="s"><v>0</v></c>`, 100)+`</row>`, 5_000)),
			"the file contains more than"},
		"elements in a workbook": {"a.xlsx", workbook(t, strings.Repeat("<row>", 2_000)),
			"the Excel workbook is nested more than"},
		"elements in XML": {"a.xml", []byte(strings.Repeat("<a>", 2_000)), "the XML is nested more than"},
		"entities in XML": {"a.xml", []byte(`<!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>`),
			"the XML uses the entity &b;, and entities are not read"},
		"a spreadsheet's rows": {"a.ods",
			odf(t, "spreadsheet", "", `<table:table><table:table-row table:number-rows-repeated="1048576">`+
				`<table:table-cell table:number-columns-repeated="16384"><text:p>a</text:p></table:table-cell></table:table-row></table:table>`), "the file contains more than"},
		"a spreadsheet's columns": {"a.ods",
			odf(t, "spreadsheet", "", `<table:table>`+strings.Repeat(`<table:table-row><table:table-cell `+
				`table:number-columns-repeated="99999999"/><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row>`, 2_000)+`</table:table>`), "the file contains more than"},
		"a text's cells": {"a.odt", odf(t, "text", "", strings.Repeat(`<table:table><table:table-row><table:table-cell `+
			`table:number-columns-repeated="99999999"><text:p>a</text:p></table:table-cell></table:table-row></table:table>`,
			2_000)), "the file contains more than"},
		"a text's spaces": {"a.odt",
			odf(t, "text", "", `<text:p>`+strings.Repeat(`<text:s text:c="99999999"/>`, 200_000)+`</text:p>`),
			"the file contains more than"},
		"columns of a CSV": {"a.csv", []byte("a|b\n" + strings.Repeat("|", 10_001)),
			"a row of the CSV has more than 10000 columns"},
		"groups in RTF":        {"a.rtf", []byte(`{\rtf1 ` + strings.Repeat("{", 2_000)), "the RTF is nested more than"},
		"messages in messages": {"a.eml", []byte(nested(40)), "the message is nested more than"},
		"cells without end":    {"a.xlsx", workbook(t, `<row>`+strings.Repeat("<c/>", m)), "the file contains more than"},
		"a book's long chapter": {"a.epub", book(t, 1, strings.Repeat(" ", 9*m)),
			"the book has a chapter of more than 8 MiB"},
		"a book's many chapters": {"a.epub", book(t, 9, "<!--"+strings.Repeat(" ", 8*m-10)+"-->"),
			"the book takes more than 64 MiB"},
	} {
		_, err := knowledge.Read(t.Context(), c.name, "", c.content)
		require.Error(t, err, name)
		// Under the race detector, reading may exceed the bound on work before another bound.
		if !raceDetector || !strings.Contains(err.Error(), "seconds of work, too much for a file of its size") {
			require.ErrorContains(t, err, c.want, name)
		}
	}
}

// A binary file is refused, however small. A few control characters do not make a text binary.
func TestReadRefusesBinaryFiles(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"\x00\xFF\x01", "\x01", "\xFF\x00\x01\x02\x03", "\x00\x01\x02\x03\x04\x05"} {
		_, err := knowledge.Read(t.Context(), "a.bin", "application/octet-stream", []byte(content))
		require.ErrorContains(t, err, "the file has no format that can be read", "%q", content)
	}
	for _, content := range []string{"a", "Hi\x07", "Page 1\x0CPage 2\x00", "\xFE\xFF\x00a", "\xE9t\xE9"} {
		_, err := knowledge.Read(t.Context(), "a.txt", "text/plain", []byte(content))
		require.NoError(t, err, "%q", content)
	}
}

// An encrypted file is refused with a sentence, and so is the file of another program.
func TestReadRefusesOtherOpenDocuments(t *testing.T) {
	t.Parallel()
	_, err := knowledge.Read(t.Context(), "a.odp", "", odf(t, "presentation", "", ""))
	require.ErrorContains(t, err, "the OpenDocument file is neither a text nor a spreadsheet")
	_, err = knowledge.Read(t.Context(), "a.odt", "", archive(t, map[string]string{
		"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": "noise",
		"META-INF/manifest.xml": `<manifest><file-entry><encryption-data/></file-entry></manifest>`,
	}))
	require.ErrorContains(t, err, "the OpenDocument file is encrypted")
}

// book returns a book that contains one chapter several times, and a picture of 1 MiB. The picture allows two more
// seconds of work, for slow machines.
func book(t testing.TB, times int, chapter string) []byte {
	picture := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(picture)
	return archive(t, map[string]string{
		"picture.png":            string(picture),
		"META-INF/container.xml": `<c><rootfile full-path="b"/></c>`, "1": chapter,
		"b": `<p><item id="a" href="1"/>` + strings.Repeat(`<itemref idref="a"/>`, times) + `</p>`,
	})
}

// nested returns a message with this many parts, each within the previous one.
func nested(depth int) string {
	message := "Subject: a\r\n"
	for i := range depth {
		message += fmt.Sprintf("Content-Type: multipart/mixed; boundary=b%d\r\n\r\n--b%d\r\n", i, i)
	}
	return message + "\r\nend"
}

func TestTablesInSeveralSheetsAreNoRows(t *testing.T) {
	t.Parallel()
	table := func(column string) string {
		cell := func(text string) string { return `<c t="str"><v>` + text + `</v></c>` }
		return `<row>` + cell(column) + cell("Note") + `</row><row>` + cell("a") + cell("b") + `</row>`
	}
	head := `<row><c t="str"><v>Only text</v></c></row>`
	count, err := knowledge.CountRows(read(t, "a.xlsx", string(workbook(t, head, table("Day"), head, head))))
	require.NoError(t, err)
	require.Equal(t, 1, count, "sheets without a table have no rows")
	captions := table("Day") + `<row></row>` + head + `<row><c t="str"><v>c</v></c><c t="str"><v>d</v></c></row>`
	count, err = knowledge.CountRows(read(t, "a.xlsx", string(workbook(t, captions))))
	require.NoError(t, err)
	require.Equal(t, 2, count, "a caption is no sheet")
	for _, column := range []string{"Day", "Price"} {
		_, err := knowledge.CountRows(read(t, "a.xlsx", string(workbook(t, table("Day"), table(column), head))))
		require.ErrorContains(t, err, `names a workbook with more rows in the sheet "Sheet 1"`)
	}
}

// A merged cell fills all its columns in a header, and all its rows below the header.
func TestReadMergedCellsOfHTML(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		`<table><tr><th>Plan<th>Period<th>Price</tr><tr><td rowspan=2>Basic<td>month<td>10</tr><tr><td>year<td>90</tr>
			<tr><td colspan=2>Setup<td>25</tr></table>`: "Plan: Basic; Period: month; Price: 10\n" +
			"Plan: Basic; Period: year; Price: 90\nPlan: Setup; Price: 25\n",
		`<table><tr><th rowspan=2>Plan<th colspan=2>Price</tr><tr><th>month<th>year</tr><tr><td>Basic<td>10<td>90</tr></table>`: "Plan: Basic; Price month: 10; Price year: 90\n",
		`<table><tr><td rowspan="2">Plan<td colspan="2">Price<tr><td>month<td>year<tr><td>Basic<td>10 €<td>90 €</table>`:        "Plan: Basic; Price month: 10 €; Price year: 90 €\n",
		`<table><tr><td>Name<td colspan=2>Hours<tr><td>Ann<td>early<td>late</table>`:                                            "Name: Ann; Hours: early; Hours: late\n",
		`<table><tr><th colspan=2>Prices<tr><th>Item<th>Net<tr><td colspan=2>Kitchen<tr><td>Kettle<td>9</table>`:                "Prices\nKitchen\nItem: Kettle; Net: 9\n",
		`<table><tr><th>A<th>B<th>C<tr><td>1<td rowspan=0>all<td>2<tr><td>3<td>4</table>`:                                       "A: 1; B: all; C: 2\nA: 3; B: all; C: 4\n",
		`<table><tr><td>a<td rowspan=2>b</table><table><tr><td>c<td>d</table>`:                                                  "a | b\nc | d\n",
		`<table><tr><th><th>Basic<th>Pro<tr><td colspan=3>Service<tr><td>Chat<td>no<td>yes<tr><td>Call<td>no<td>no</table>`: "Service\n" +
			"Chat; Basic: no; Pro: yes\nCall; Basic: no; Pro: no\n",
		`<table><tr><td><td>Mon<td>Tue<tr><td>Zurich<td><td><tr><td>Shop<td>early<td>late</table>`: "Zurich\nShop; Mon: early; Tue: late\n",
		`<table><tr><th>Name<th>Date<tr><td><td></table>`:                                          "Name | Date\n",
		`<table><tr><td colspan=2>Terms<tr><td colspan=2>Of sale<tr><td colspan=2>Pay now</table>`: "Terms\nOf sale\nPay now\n",
		`<table><tr><th>A<th>B` + strings.Repeat(`<tr><td colspan=1000>C`, 200) + `</table>`:       "A | B\n" + strings.Repeat("C\n", 200),
		`<table><tr><th><th>a<tr><th>name<th><tr><th>x<td>1</table>`:                               "name: x; a: 1\n",
		`<table><thead><tr><th rowspan=2>Name<th>Price<tbody><tr><td>A<td>1<tr><td><td>2</table>`:  "Name: A; Price: 1\nPrice: 2\n",
	} {
		require.Equal(t, want, read(t, "a.html", page).String(), page)
	}
	header := []string{"Plan", "Price"}
	requireBlocks(t, []knowledge.Block{row(header, "Basic", "1"), row(header, "Basic", "2")},
		read(t, "a.md", "<table><tr><th>Plan<th>Price<tr><td rowspan=2>Basic<td>1<tr><td>2</table>\n"))
}

func TestReadMergedCellsOfOfficeTables(t *testing.T) {
	t.Parallel()
	const want = "Plan: Basic; Period: month; Price: 10\nPlan: Basic; Period: year; Price: 90\nPlan: Setup; Price: 25\n"
	word := func(properties, text string) string {
		return `<w:tc><w:tcPr>` + properties + `</w:tcPr><w:p><w:r><w:t>` + text + `</w:t></w:r></w:p></w:tc>`
	}
	table := `<w:tbl><w:tr>` + word("", "Plan") + word("", "Period") + word("", "Price") + `</w:tr><w:tr>` +
		word(`<w:vMerge w:val="restart"/>`, "Basic") + word("", "month") + word("", "10") + `</w:tr><w:tr>` +
		word(`<w:vMerge/>`, "") + word("", "year") + word("", "90") + `</w:tr><w:tr>` +
		word(`<w:gridSpan w:val="2"/>`, "Setup") + word("", "25") + `</w:tr></w:tbl>`
	require.Equal(t, want, read(t, "a.docx", string(docx(t, table))).String())
	table = `<w:tbl><w:tr>` + word("", "Plan") + word("", "Price") + `</w:tr><w:tr>` +
		word(`<w:tcPrChange><w:tcPr><w:gridSpan w:val="2"/></w:tcPr></w:tcPrChange>`, "Basic") + word("", "1") + `</w:tr></w:tbl>`
	require.Equal(t, "Plan: Basic; Price: 1\n", read(t, "a.docx", string(docx(t, table))).String())
	header := `<w:tbl><w:tr>` + word("", "Plan") + word(`<w:gridSpan w:val="2"/>`, "Price") + `</w:tr><w:tr>` + word("", "") +
		word("", "month") + word("", "year") + `</w:tr><w:tr><w:trPr><w:gridBefore w:val="1"/></w:trPr>` +
		word("", "1") + word("", "2") + `</w:tr></w:tbl>`
	require.Equal(t, "Price month: 1; Price year: 2\n", read(t, "a.docx", string(docx(t, header))).String())

	cell := func(attributes, text string) string {
		return `<table:table-cell ` + attributes + `><text:p>` + text + `</text:p></table:table-cell>`
	}
	const covered = `<table:covered-table-cell/>`
	table = `<table:table><table:table-row>` + cell("", "Plan") + cell("", "Period") + cell("", "Price") +
		`</table:table-row><table:table-row>` + cell(`table:number-rows-spanned="2"`, "Basic") + cell("", "month") +
		cell("", "10") + `</table:table-row><table:table-row>` + covered + cell("", "year") + cell("", "90") +
		`</table:table-row><table:table-row>` + cell(`table:number-columns-spanned="2"`, "Setup") + covered +
		cell("", "25") + `</table:table-row></table:table>`
	require.Equal(t, want, read(t, "a.odt", string(odf(t, "text", "", table))).String())

	cell = func(attributes, text string) string {
		return `<a:tc ` + attributes + `><a:p><a:r><a:t>` + text + `</a:t></a:r></a:p></a:tc>`
	}
	slide := `<p:sld xmlns:p="p" xmlns:a="a"><a:tbl><a:tr>` + cell("", "Plan") + cell("", "Period") + cell("", "Price") +
		`</a:tr><a:tr>` + cell(`rowSpan="2"`, "Basic") + cell("", "month") + cell("", "10") + `</a:tr><a:tr>` +
		cell(`vMerge="1"`, "") + cell("", "year") + cell("", "90") + `</a:tr><a:tr>` + cell(`gridSpan="2"`, "Setup") +
		cell(`hMerge="1"`, "") + cell("", "25") + `</a:tr></a:tbl></p:sld>`
	require.Equal(t, want, read(t, "a.pptx", string(archive(t, map[string]string{
		"ppt/presentation.xml":            `<p xmlns:r="r"><sldId id="256" r:id="a"/></p>`,
		"ppt/_rels/presentation.xml.rels": `<r><Relationship Id="a" Target="slides/1.xml"/></r>`,
		"ppt/slides/1.xml":                slide,
	}))).String())
}

func TestReadTitlesAndSeparatorOfCSV(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"sep=;\r\nName;Price\r\nKettle;1,50\r\n":   "Name: Kettle; Price: 1,50\n",
		"\"sep=\t\"\nName\tPrice\nKettle\t1;2;3\n": "Name: Kettle; Price: 1;2;3\n",
		"sep=of\nx\n": "sep=of: x\n",
		"Price list 2026\n\nName,Price\nKettle,1\nLamp,2\n": "Price list 2026\nName: Kettle; Price: 1\nName: Lamp; Price: 2\n",
		"Prices;\nas of March;\nName;Price\nKettle;1,50\n":  "Prices\nas of March\nName: Kettle; Price: 1,50\n",
		"Preise, netto\nName;Preis;Rest\nKessel;1,50;2\n":   "Preise, netto\nName: Kessel; Preis: 1,50; Rest: 2\n",
		"Artikel;Preis;Notiz\nKessel;1,50\nTopf;8,25;neu\n": "Artikel: Kessel; Preis: 1,50\nArtikel: Topf; Preis: 8,25; Notiz: neu\n",
		",Price\nOak,7\nElm,8\n":                            "Oak; Price: 7\nElm; Price: 8\n",
		"Name\nKettle\nLamp\n":                              "Name: Kettle\nName: Lamp\n",
		"A,B\n1,2,3,4,5\n":                                  "A: 1; B: 2; 3; 4; 5\n",
		"Name\n" + strings.Repeat("x\n", 30) + "y,z\n":      strings.Repeat("Name: x\n", 30) + "Name: y; z\n",
	} {
		require.Equal(t, want, read(t, "a.csv", file).String(), file)
	}
}
