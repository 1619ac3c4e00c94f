package knowledge_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReadLeavesOutHiddenWord(t *testing.T) {
	t.Parallel()
	run := func(properties, text string) string {
		return `<w:r><w:rPr>` + properties + `</w:rPr><w:t>` + text + `</w:t></w:r>`
	}
	row := func(properties, text string) string {
		return `<w:tr><w:trPr>` + properties + `</w:trPr><w:tc><w:p>` + run("", text) + `</w:p></w:tc></w:tr>`
	}
	text := read(t, "a.docx", string(docx(t,
		`<w:p>`+run("", "a")+run(`<w:vanish/>`, "x")+run(`<w:vanish w:val="0"/>`, "b")+run(`<w:rStyle w:val="Hidden"/>`, "x")+
			`</w:p>`+
			`<w:p><w:pPr><w:pStyle w:val="Based"/></w:pPr>`+run("", "x")+run(`<w:vanish w:val="false"/>`, "c")+`</w:p>`+
			`<w:p><w:pPr><w:rPr><w:vanish/></w:rPr></w:pPr>`+run("", "d")+`</w:p>`+
			`<w:tbl>`+row("", "e")+row(`<w:hidden/>`, "x")+row("", "f")+`</w:tbl>`)))
	require.Equal(t, "ab\nc\nd\ne\nf\n", text.String())
}

func TestReadLeavesOutHiddenRTF(t *testing.T) {
	t.Parallel()
	require.Equal(t, "abcde\n", read(t, "a.rtf", `{\rtf1 a{\v x}b\v x\v0 c{\deleted x}d{\v x\plain e}}`).String())
}

func TestReadLeavesOutHiddenParagraphsOfBooks(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"META-INF/container.xml": `<c><rootfile full-path="b"/></c>`,
		"b":                      `<p><item id="a" href="1"/><item id="s" href="s.css" media-type="text/css"/><itemref idref="a"/></p>`,
		"s.css":                  `/* .d{display:none} */ @media print { .d { display: none } } .x, p.y, #z { color: red; display: none } .e {display:none} .e {display:block}`,
		"1": `<html><head><style>.w { visibility: hidden }</style></head><body><p>a<span class="q x">-</span></p><p class="y">-</p>` +
			`<div class="y">b</div><p id="z">-</p><p class="w">-</p><p class="d">c</p><p class="e">d</p></body></html>`,
	}
	require.Equal(t, "a\nb\nc\nd\n", read(t, "a.epub", string(archive(t, files))).String())
}

// odf returns an OpenDocument file of a kind, with its own styles.
func odf(t testing.TB, kind, styles, body string) []byte {
	return archive(t, map[string]string{
		"mimetype": "application/vnd.oasis.opendocument." + kind,
		"content.xml": `<office:document-content xmlns:office="office" xmlns:text="text" xmlns:table="table" xmlns:style="style" xmlns:fo="fo">` +
			`<office:automatic-styles>` + styles + `</office:automatic-styles><office:body>` + body +
			`</office:body></office:document-content>`,
	})
}

func TestReadODT(t *testing.T) {
	t.Parallel()
	const styles = `<style:style style:name="A" style:family="text"><style:text-properties text:display="none"/></style:style>` +
		`<style:style style:name="B" style:family="text" style:parent-style-name="A"/>`
	text := read(t, "a.odt",
		string(odf(t, "text", styles, `<office:text><text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>`+
			`<text:h text:outline-level="2">Head</text:h><text:p>a <text:span text:style-name="B">x</text:span>b<text:note><text:p>note</text:p></text:note></text:p>`+
			`<text:section text:display="none"><text:p>x</text:p></text:section><text:p><text:hidden-paragraph text:is-hidden="true"/>x</text:p>`+
			`<table:table><table:table-row><table:table-cell><text:p>A</text:p></table:table-cell><table:table-cell><text:p>B</text:p></table:table-cell></table:table-row>`+
			`<table:table-row table:visibility="collapse"><table:table-cell><text:p>x</text:p></table:table-cell></table:table-row>`+
			`<table:table-row><table:table-cell table:number-columns-repeated="2"><text:p>1</text:p></table:table-cell></table:table-row></table:table></office:text>`)))
	require.Equal(t, "Head\na b\nA: 1; B: 1\n", text.String())
	require.Equal(t, 2, text.Blocks[0].Level)
}
