package knowledge_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-pdf/fpdf"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"

	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

func requireBlocks(t *testing.T, want []knowledge.Block, text knowledge.Text) {
	t.Helper()
	require.Empty(t, cmp.Diff(want, text.Blocks, cmpopts.EquateEmpty()))
}

func para(text string) knowledge.Block  { return knowledge.Block{Text: text} }
func plain(text string) knowledge.Block { return knowledge.Block{Kind: knowledge.Plain, Text: text} }

func heading(level int, text string) knowledge.Block {
	return knowledge.Block{Kind: knowledge.Heading, Level: level, Text: text}
}

func sheet(name string) knowledge.Block {
	return knowledge.Block{Kind: knowledge.Heading, Level: 1, IsSheet: true, Text: name}
}

func row(header []string, cells ...string) knowledge.Block {
	return knowledge.Block{Kind: knowledge.Row, Header: header, Cells: cells}
}

func TestReadMarkdown(t *testing.T) {
	t.Parallel()
	requireBlocks(t, []knowledge.Block{
		heading(1, "Lamp & Co"), para("A bright lamp.\nIt shines."), heading(2, "Steps"), plain("1. Unpack"),
		plain("2. Plug in"), plain("- gently"), plain("- Enjoy"), plain("code  stays\n  as it is"), para("quoted"),
		row([]string{"Size", "Price"}, "small", "5 €"), para("raw HTML"),
	}, read(t, "a.md", "# Lamp & Co\n\nA **bright** [lamp](http://x.example).\nIt `shines`.\n\n## Steps\n\n1. "+
		"Unpack\n2. Plug in\n   - gently\n\n"+
		"* Enjoy\n\n```\ncode  stays\n  as it is\n```\n\n> quoted\n\n| Size | Price |\n|---|---|\n| small | 5 € "+
		"|\n\n<div>raw <b>HTML</b></div>\n"))
}

func TestReadHTML(t *testing.T) {
	t.Parallel()
	requireBlocks(t, []knowledge.Block{
		para("Shop"), heading(1, "Nos lampes"), para("Une lampe brillante."), plain("- une"), plain("- deux"),
		plain("7. sept"), plain("8. huit"), row(nil, "Poids", "2 kg"), para("Fin\ndu texte"),
	}, read(t, "a.html", `<!doctype html><title>Shop</title><style>p{}</style><script>alert(1)</script><nav>Home</nav>
		<h1>Nos   lampes</h1><p>Une <b>lampe</b>
		brillante.</p><ul><li><p>une</p><li>deux</ul><ol start=7><li>sept<li>huit</ol>
		<table><tr><th>Poids</th><td>2 kg</td></tr></table><!-- no -->Fin<br>du texte`))
}

func TestReadHTMLNumbersListsFromAnyNumber(t *testing.T) {
	t.Parallel()
	requireBlocks(t, []knowledge.Block{plain("0. a"), plain("1. b"), plain("-1. c"), plain("0. d"), plain("- e")},
		read(t, "a.html", `<ol start=0><li>a<li>b</ol><ol start=-1><li>c<li>d</ol><ul><li>e</ul>`))
}

func TestReadDetectsTypesByContentNameAndMediaType(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, contentType, content string
		want                       knowledge.Block
	}{
		{"a.csv", "application/vnd.ms-excel", "A,B\n1,2", row([]string{"A", "B"}, "1", "2")},
		{"a.csv", "", "A,B\n1,3\" pipe\n", row([]string{"A", "B"}, "1", "3\" pipe")},
		{"upload", "text/csv; charset=utf-8", "A,B\n1,2", row([]string{"A", "B"}, "1", "2")},
		{"upload", "application/json", `{"a":{"b":[1,2.50,"x"]}}`, row([]string{"a.b"}, "1, 2.50, x")},
		{"upload", "", "<!DOCTYPE html><p>Hello", para("Hello")},
		{"upload", "application/octet-stream", "# Hello", para("# Hello")},
		{"a.jsonl", "", "{\"a\":1}\n{\"a\":2}", row([]string{"a"}, "1")},
		{"a.docx", "", string(docx(t, `<w:p><w:r><w:t>Hello</w:t></w:r></w:p>`)), para("Hello")},
		{"a.pdf", "text/plain", string(docx(t, `<w:p><w:r><w:t>Hello</w:t></w:r></w:p>`)), para("Hello")},
	} {
		text, err := knowledge.Read(t.Context(), c.name, c.contentType, []byte(c.content))
		require.NoError(t, err)
		requireBlocks(t, []knowledge.Block{c.want}, knowledge.Text{Blocks: text.Blocks[:1]})
	}
}

func TestReadCharacterSets(t *testing.T) {
	t.Parallel()
	const content = "L’été coûte 12 €"
	for name, e := range map[string]encoding.Encoding{
		"UTF-8": unicode.UTF8, "UTF-8 with mark": unicode.UTF8BOM, "Windows-1252": charmap.Windows1252,
		"UTF-16 LE":                           unicode.UTF16(unicode.LittleEndian, unicode.UseBOM),
		"UTF-16 BE":                           unicode.UTF16(unicode.BigEndian, unicode.UseBOM),
		"UTF-16 without a byte order mark":    unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM),
		"UTF-16 BE without a byte order mark": unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
	} {
		encoded, err := e.NewEncoder().String(content)
		require.NoError(t, err, name)
		requireBlocks(t, []knowledge.Block{para(content)}, read(t, "a.txt", encoded))
		requireBlocks(t, []knowledge.Block{row([]string{"Été"}, content)},
			read(t, "a.csv", must(e.NewEncoder().String("Été\n"+content))))
	}
	for _, content := range []string{
		"يمكن إرجاع المنتج خلال ٣٠ يوما.\nالضمان سنتان", "営業時間は九時から五時までです。", "返品は三十日以内にお願いします。\nA-1234",
		"退货政策：三十天之内可以退货。\n一年保修", "반품은 삼십 일 이내에 가능합니다.", "Возврат в течение тридцати дней", "שלום עולם", "दुकान सुबह नौ बजे खुलती है",
		"สามารถคืนสินค้าได้ ภายในสามสิบวัน",
	} {
		for _, order := range []unicode.Endianness{unicode.LittleEndian, unicode.BigEndian} {
			encoded := must(unicode.UTF16(order, unicode.IgnoreBOM).NewEncoder().String(content))
			text := read(t, "a.txt", encoded)
			require.Equal(t, strings.Fields(content), strings.Fields(text.String()))
			require.Empty(t, text.Warning)
		}
	}
	text, err := knowledge.Read(t.Context(), "a.html", "text/html; charset=iso-8859-15", []byte("<p>\xA4"))
	require.NoError(t, err)
	requireBlocks(t, []knowledge.Block{para("€")}, text)
	requireBlocks(t, []knowledge.Block{para("é")}, read(t, "a.html", "<meta charset=windows-1252><p>\xE9"))
	requireBlocks(t, []knowledge.Block{para("é")}, read(t, "a.html", "<p>é"))
}

// If a file does not declare its encoding, the reader guesses it from the letters and notes the guess.
func TestReadGuessesEncodings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from encoding.Encoding
		text string
	}{
		"windows-1250": {charmap.Windows1250, "Zamówione książki czekają na półce przy wejściu przez siedem dni roboczych. " +
			"Źródło: biblioteka."},
		"windows-1251": {charmap.Windows1251, "Запись к врачу открывается за две недели до приёма."},
		"windows-1252": {charmap.Windows1252, "Les billets achetés en ligne sont échangeables jusqu’à la veille du départ."},
		"shift_jis":    {japanese.ShiftJIS, "図書館の本は四週間借りることができます。雑誌は一週間です。"},
		"gb18030":      {simplifiedchinese.GB18030, "图书馆的书可以借四个星期，杂志可以借一个星期。"},
		"big5":         {traditionalchinese.Big5, "請在收到貨物後三十天內退貨，並附上收據。"},
		"euc-kr":       {korean.EUCKR, "반품은 삼십 일 이내에 가능합니다."},
		"windows-874":  {charmap.Windows874, "สามารถคืนสินค้าได้ภายในสามสิบวัน"},
	} {
		encoded := must(c.from.NewEncoder().String(c.text))
		for _, file := range []string{"a.txt", "a.html", "a.md"} {
			text := read(t, file, encoded)
			requireBlocks(t, []knowledge.Block{para(c.text)}, text)
			require.Equal(t, "the file does not name its encoding; it was read as "+name, text.Warning, file)
		}
	}
	for text, from := range map[string]encoding.Encoding{
		"营业时间：九点到五点": simplifiedchinese.GB18030, "退货政策": simplifiedchinese.GB18030, "欢迎光临": simplifiedchinese.GB18030,
		"เวลาทำการ 9 โมงเช้าถึง 5 โมงเย็น": charmap.Windows874, "ราคา 500 บาท": charmap.Windows874,
		"いらっしゃいませ":         japanese.EUCJP,
		"営業時間は九時から五時までです。": japanese.ShiftJIS, "歡迎光臨": traditionalchinese.Big5, "Добро пожаловать": charmap.KOI8R,
		"Відповідь на її запитання":                               charmap.KOI8U,
		"Возврат в течение тридцати дней":                         charmap.Windows1251,
		"Öffnungszeiten für Kühlschränke: täglich außer samstags": charmap.Windows1252,
	} {
		requireBlocks(t, []knowledge.Block{para(text)}, read(t, "a.txt", must(from.NewEncoder().String(text))))
	}
	require.Empty(t, read(t, "a.txt", "Źródło").Warning)
	require.Empty(t, read(t, "a.html", "<meta charset=windows-1252><p>\xE9").Warning)
	requireBlocks(t, []knowledge.Block{para("[9] green")}, read(t, "a.log", "\x1b]0;title\x07\x1b[1;31m[9]\x1b[0m green"))
}

func TestReadLeavesOutHiddenHTML(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		`<p>a<span hidden>b<span>c</span></span>d`:                      "ad",
		`<div style="color: red; DISPLAY:none">b<div>c</div></div><p>a`: "a",
		`<ul><li hidden>b<li>a</ul>`:                                    "- a",
		`<p hidden>b<p>a`:                                               "a",
		`<div><p style="visibility: hidden">b <i>c</i></div>a`:          "a",
		`<x-note hidden>b</x-note>a<img hidden alt=c><input hidden>`:    "a",
		`<p style="display: block">a`:                                   "a",
	} {
		require.Equal(t, want+"\n", read(t, "a.html", page).String(), page)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

const wordNamespace = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"`

// docx returns a Word document with this body.
func docx(t testing.TB, body string) []byte {
	return archive(t, map[string]string{
		"[Content_Types].xml": `<Types/>`,
		"word/styles.xml": `<w:styles ` + wordNamespace +
			`><w:style w:styleId="Titre1"><w:name w:val="heading 1"/></w:style>` +
			`<w:style w:styleId="Propre"><w:name w:val="Propre"/><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>` +
			`<w:style w:styleId="Hidden"><w:rPr><w:vanish/></w:rPr></w:style><w:style w:styleId="Based"><w:basedOn w:val="Hidden"/></w:style></w:styles>`,
		"word/document.xml": `<?xml version="1.0" encoding="UTF-8"?><w:document ` + wordNamespace + `><w:body>` + body +
			`</w:body></w:document>`,
	})
}

func archive(t testing.TB, files map[string]string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate,
		func(to io.Writer) (io.WriteCloser, error) { return flate.NewWriter(to, flate.BestSpeed) })
	for name, content := range files {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestReadDOCX(t *testing.T) {
	t.Parallel()
	p := func(properties, text string) string {
		return `<w:p><w:pPr>` + properties + `</w:pPr><w:r><w:t xml:space="preserve">` + text + `</w:t></w:r></w:p>`
	}
	cell := func(text string) string { return `<w:tc>` + p("", text) + `</w:tc>` }
	content := p(`<w:pStyle w:val="Titre1"/>`, "Nos lampes") + p(`<w:pStyle w:val="Propre"/>`, "Entretien") +
		`<w:p><w:r><w:t>Une </w:t></w:r><w:r><w:t>lampe</w:t><w:tab/><w:t>&amp; plus</w:t></w:r><w:del><w:r><w:delText>non</w:delText></w:r></w:del></w:p>` +
		p(`<w:numPr/>`, "une") +
		`<w:tbl><w:tr>` + cell("Taille") + cell("Prix") + `</w:tr><w:tr>` + cell("petite") + cell("5 €") + `</w:tr></w:tbl>` +
		`<w:p><mc:AlternateContent><mc:Choice><w:p><w:r><w:t>Cadre</w:t></w:r></w:p></mc:Choice><mc:Fallback><w:p><w:r><w:t>Cadre</w:t></w:r></w:p></mc:Fallback></mc:AlternateContent></w:p>`
	content += `<w:p><w:r><w:t>Rate: </w:t></w:r><m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">` +
		`<m:r><m:t>r=</m:t></m:r><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den></m:f></m:oMath></w:p>`
	requireBlocks(t, []knowledge.Block{
		heading(1, "Nos lampes"), heading(2, "Entretien"), para("Une lampe\t& plus"), plain("une"),
		row([]string{"Taille", "Prix"}, "petite", "5 €"), para("Cadre"), para("Rate: r=a/b"),
	}, read(t, "a.docx", string(docx(t, content))))
}

// pdf returns a PDF that the function fill writes.
func pdf(t testing.TB, fill func(*fpdf.Fpdf)) []byte {
	f := fpdf.New("P", "mm", "A4", "")
	f.SetFont("Helvetica", "", 11)
	fill(f)
	var b bytes.Buffer
	require.NoError(t, f.Output(&b))
	return b.Bytes()
}

func TestReadPDF(t *testing.T) {
	t.Parallel()
	const body = "A lamp may come back within thirty days of its delivery. The receipt has to be in the parcel, and the " +
		"lamp must not have been used."
	days := []string{"dix", "vingt", "trente", "quarante", "cinquante"}
	content := pdf(t, func(f *fpdf.Fpdf) {
		latin := f.UnicodeTranslatorFromDescriptor("")
		for page := 1; page <= 5; page++ {
			f.AddPage()
			f.SetFont("Helvetica", "", 9)
			f.Cell(0, 6, fmt.Sprintf("Handbook, page %d", page))
			f.Ln(14)
			f.SetFont("Helvetica", "B", 20)
			f.Cell(0, 10, latin(fmt.Sprintf("Réponses %d", page*7)))
			f.Ln(16)
			f.SetFont("Helvetica", "", 11)
			f.MultiCell(0, 5, body, "", "L", false)
			f.Ln(8)
			f.MultiCell(0, 5, latin("Le délai est de "+days[page-1]+" jours."), "", "L", false)
		}
	})
	var want []knowledge.Block
	for page := 1; page <= 5; page++ {
		want = append(want, heading(1, fmt.Sprintf("Réponses %d", page*7)), para(body),
			para("Le délai est de "+days[page-1]+" jours."))
	}
	requireBlocks(t, want, read(t, "a.pdf", string(content)))
}

func TestReadRefusesWithASentence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file    string
		content []byte
		want    string
	}{
		"nothing":     {"a.txt", nil, "the file contains no text"},
		"white space": {"a.md", []byte(" \n\n\t"), "the file contains no text"},
		"too large":   {"a.txt", make([]byte, 25<<20+1), "the file is larger than 25 MiB"},
		"an image": {"a.txt", []byte("\x89PNG\r\n\x1a\n" + strings.Repeat("\x00\x01\xfe\x02", 100)),
			"the file is an image"},
		"an encrypted PDF": {"a.pdf",
			pdf(t, func(f *fpdf.Fpdf) { f.SetProtection(0, "secret", "owner"); f.AddPage(); f.Cell(9, 9, "hidden") }),
			"the PDF is encrypted"},
		"an empty PDF": {"a.pdf", pdf(t, func(f *fpdf.Fpdf) { f.AddPage(); f.Rect(9, 9, 9, 9, "F") }),
			"the PDF contains no text: its pages may be scanned"},
		"a broken PDF": {"a.pdf", []byte("%PDF-1.7\nnothing"), "the PDF is damaged"},
		"no PDF":       {"a.pdf", []byte("hello"), "the file has the name of a PDF but is not one"},
		"an old document": {"a.doc", []byte("\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"),
			"the file is an old or an encrypted Office document"},
		"another archive": {"a.docx", archive(t, map[string]string{"a.txt": "hello"}),
			"the file is an archive that contains no document"},
		"a broken archive": {"a.docx", []byte("PK\x03\x04nothing"), "the file is damaged"},
		"an XML bomb": {"a.docx",
			archive(t, map[string]string{
				"word/document.xml": `<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;">]><a>&c;</a>`}),
			"the Word document uses the entity &c;, and entities are not read"},
		"damaged XML": {"a.xml", []byte("<a>A & B</a>"), "the XML is damaged"},
		"a binary workbook": {"a.xlsb", archive(t, map[string]string{"xl/workbook.bin": "x"}),
			"the file is a binary Excel workbook (.xlsb); save it as XLSX"},
		"deep JSON": {"a.json", []byte(strings.Repeat("[", 100_000)), "the JSON is nested more than 100 levels deep"},
		"deep objects": {"a.json", []byte(strings.Repeat(`{"a":`, 100_000)),
			"the JSON is nested more than 100 levels deep"},
		"broken JSON":   {"a.json", []byte("{\n\"a\": [1, 2\n"), "the JSON is not valid: see line 2"},
		"broken JSONL":  {"a.jsonl", []byte("{\"a\": 1}\n\n{\"a\": 2}\n{\"a\": x}\n{\"a\": 4}\n"), "the JSON is not valid: see line 4"},
		"a comma":       {"a.json", []byte("[\n{\"a\": 1},\n{\"a\": 2,}\n]\n"), "the JSON is not valid: see line 3"},
		"no value":      {"a.jsonl", []byte("{\"a\": 1}\nb\n"), "the JSON is not valid: see line 2"},
		"trailing JSON": {"a.json", []byte(`{"a": 1} ]`), "the JSON is not valid: see line 1"},
		"an open quote": {"a.csv", []byte("A,B\n\"1,2\n3,4\n"), "the CSV cannot be read: a quote is not closed"},
		"wide CSV":      {"a.csv", []byte(strings.Repeat(",", 100_000)), "a row of the CSV has more than 10000 columns"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := knowledge.Read(t.Context(), c.file, "", c.content)
			known := new(model.Error)
			require.ErrorAs(t, err, &known)
			require.Equal(t, model.Unprocessable, known.Code)
			require.Contains(t, known.Message, c.want)
			require.Empty(t, text.Blocks)
		})
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	known := new(model.Error)
	for name, content := range map[string][]byte{
		"a.txt":  []byte("hello"),
		"a.docx": docx(t, "<w:p/>"),
		"a.pdf":  pdf(t, func(f *fpdf.Fpdf) { f.AddPage(); f.Cell(9, 9, "hello") }),
	} {
		_, err := knowledge.Read(ctx, name, "", content)
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, errors.As(err, &known), "the document is not to blame")
	}
}

func FuzzRead(f *testing.F) {
	for _, content := range []string{"", "# a\n\n- b", "a;b\n1;2", `[{"a":[1,{"b":null}]}]`, "<table><tr><td>a<td>b",
		"%PDF-1.4\n", "\xff\xfea\x00", "\"a\n\"\"b"} {
		for _, name := range []string{"a.txt", "a.md", "a.html", "a.csv", "a.json", "a.pdf", "a.docx", "a"} {
			f.Add(name, []byte(content))
		}
	}
	f.Add("a.docx", docx(f, "<w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl></w:p></w:tbl>"))
	f.Add("a.xlsx", workbook(f,
		`<row r="2"><c r="B2" s="1"><f>1</f></c></row><mergeCells><mergeCell ref="A1:B2"/></mergeCells>`))
	f.Add("a.odt", odf(f, "text", "",
		`<text:h>a</text:h><text:p>b<text:s/></text:p><table:table><table:table-row><table:table-cell/></table:table-row></table:table>`))
	f.Add("a.ods", odf(f, "spreadsheet", "",
		`<table:table><table:table-row table:number-rows-repeated="2"><table:table-cell><text:p>a</text:p></table:table-cell></table:table-row></table:table>`))
	f.Add("a.pdf", pdf(f, func(f *fpdf.Fpdf) { f.AddPage(); f.Cell(9, 9, "hello") }))
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		text, err := knowledge.Read(t.Context(), name, "", content)
		if err != nil {
			known := new(model.Error)
			require.ErrorAs(t, err, &known)
			return
		}
		for _, method := range model.ChunkMethods {
			pieces, _, err := knowledge.Chunk(t.Context(), text, method, config(32, "\n`##`;"))
			require.NoError(t, err)
			require.NotEmpty(t, pieces)
		}
	})
}
