package knowledge_test

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-pdf/fpdf"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/knowledge"
	"github.com/agentgraph/agentgraph/model"
)

// objects returns a PDF of these objects. The first object is the catalog.
func objects(bodies ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n")
	offsets := make([]int, len(bodies))
	for i, body := range bodies {
		offsets[i] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, body)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(bodies)+1)
	for _, offset := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&b, "trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF", len(bodies)+1, start)
	return b.Bytes()
}

// deflated returns a compressed stream of a PDF.
func deflated(t testing.TB, keys, content string) string {
	var b bytes.Buffer
	w, err := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	require.NoError(t, err)
	_, err = w.Write([]byte(content))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return fmt.Sprintf("<<%s/Filter/FlateDecode/Length %d>>stream\n%s\nendstream", keys, b.Len(), b.String())
}

// paged returns a PDF whose pages all have the same content. The keys are added to its font.
func paged(t testing.TB, pages int, content, fontKeys string, more ...string) []byte {
	var kids strings.Builder
	bodies := []string{
		"<</Type/Catalog/Pages 2 0 R>>", "", deflated(t, "", content),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica" + fontKeys + ">>",
	}
	bodies = append(bodies, more...)
	for range pages {
		bodies = append(bodies, "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 3 0 R/Resources<</Font<</F 4 0 "+
			"R>>/XObject<</X 5 0 R>>>>>>")
		fmt.Fprintf(&kids, "%d 0 R ", len(bodies))
	}
	bodies[1] = fmt.Sprintf("<</Type/Pages/Count %d/Kids[%s]>>", pages, kids.String())
	return objects(bodies...)
}

// ballast returns text that does not compress. It makes a file larger, so that the file may take more work.
func ballast() string {
	noise := make([]byte, 4<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	return string(noise)
}

func heavy(t testing.TB, body string) []byte {
	return archive(t, map[string]string{
		"word/media/image1.png": ballast(),
		"word/document.xml":     `<w:document ` + wordNamespace + `><w:body>` + body + `</w:body></w:document>`,
	})
}

// Each of these files unpacks to much more than its size. The error names the bound that it exceeds.
func TestReadBoundsUnpackedFiles(t *testing.T) {
	t.Parallel()
	const m = 1 << 20
	fill := func(unit string, size int) string { return strings.Repeat(unit, size/len(unit)) }
	var nested []string
	for i := range 12 {
		nested = append(nested, deflated(t, fmt.Sprintf("/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X "+
			"%d 0 R>>>>", 6+i), fill("/X Do ", 60)))
	}
	nested = append(nested, deflated(t, "/Type/XObject/Subtype/Form/BBox[0 0 9 9]", "0 0 m 9 9 l S"))
	const work, memory, text = "seconds of work, too much for a file of its size",
		"takes more than 48 MiB of memory to read", "MiB of text, too much for a file of its size"
	hello := "BT /F 10 Tf 9 700 Td (hello) Tj ET"
	for name, c := range map[string]struct {
		file    string
		content []byte
		want    string
		// or names another bound, which a slower or faster machine may exceed first.
		or string
	}{
		"a page that unpacks to text": {"a.pdf", paged(t, 1, fill("BT /F 1 Tf (aaaa bbbb) Tj ET ", 60*m), ""), memory,
			work},
		"a page that unpacks to graphics": {"a.pdf", paged(t, 1, fill("0 0 m 9 9 l S ", 60*m), ""), memory, work},
		"a page that saves its state":     {"a.pdf", paged(t, 1, fill("q ", 30*m), ""), memory, work},
		"pages that share their graphics": {"a.pdf", paged(t, 1000, fill("q Q ", m), ""), work, ""},
		"a page of too many characters": {"a.pdf",
			paged(t, 1, "BT /F 1 Tf 0 900 Td "+strings.Repeat("0 -1 Td (aaaa bbbb cccc dddd) Tj ", 6000)+"ET", ""),
			"a page of the PDF contains more than 100,000 characters", ""},
		"drawings in drawings": {"a.pdf", paged(t, 1, fill("/X Do ", 60), "", nested...), memory, work},
		"inline images": {"a.pdf", paged(t, 1, fill("BI /W 1 /H 1 /BPC 8 /CS /G ID a EI ", 10*m), ""),
			work, memory},
		"arrays in arrays": {"a.pdf", objects("<</Type/Catalog/Pages 2 0 R/A "+strings.Repeat("[", m)+">>",
			"<</Type/Pages/Count 0/Kids[]>>"), memory, "the PDF contains no text"},
		"a font with a huge map": {"a.pdf",
			paged(t, 1, hello, "/ToUnicode 5 0 R", deflated(t, "", "begincmap 9999999 beginbfchar "+fill("<61> <0041> ", 60*m))),
			memory, work},
		"a tree that contains itself": {"a.pdf", objects("<</Type/Catalog/Pages 2 0 R>>",
			"<</Type/Pages/Count 3/Kids[2 0 R 2 0 R 2 0 R]>>"), "the PDF contains no text", ""},
		"a tree with a wrong count": {"a.pdf", objects("<</Type/Catalog/Pages 2 0 R>>",
			"<</Type/Pages/Count 5001/Kids[3 0 R]>>", "<</Type/Page/Parent 2 0 R>>"), "the PDF", ""},
		"text in Word": {"a.docx",
			docx(t, fill(`<w:p><w:r><w:t>`+strings.Repeat("a", 1000)+`</w:t></w:r></w:p>`, 20*m)), text, ""},
		"small paragraphs in Word": {"a.docx", docx(t, fill(`<w:p><w:r><w:t>a</w:t></w:r></w:p>`, 20*m)), text, ""},
		"one paragraph in Word": {"a.docx",
			docx(t, "<w:p>"+fill(`<w:r><w:t>`+strings.Repeat("a", 1000)+`</w:t></w:r>`, 20*m)), text, ""},
		"cells in Word": {"a.docx",
			docx(t, "<w:tbl>"+fill("<w:tr>"+strings.Repeat("<w:tc/>", 100)+"</w:tr>", 20*m)), text, ""},
		"elements in Word": {"a.docx", docx(t, fill("<w:p/>", 60*m)), work, "takes more than 64 MiB"},
		"deleted text in Word": {"a.docx", docx(t, "<w:del>"+fill("<w:r/>", 60*m)+"</w:del>"), work,
			"takes more than 64 MiB"},
		"Word that unpacks without end": {"a.docx", heavy(t, fill("<!--"+strings.Repeat(" ", 1<<19)+"-->", 66*m)),
			"the Word document takes more than 64 MiB when it is unpacked", ""},
		"elements in elements": {"a.docx", docx(t, strings.Repeat("<w:p>", m)),
			"the Word document is nested more than 1,000 elements deep", ""},
		"deleted elements in elements": {"a.docx", docx(t, "<w:del>"+strings.Repeat("<w:r>", m)),
			"the Word document is nested more than 1,000 elements deep", ""},
		"attributes": {"a.docx", docx(t, "<w:p "+fill(`a="" `, 8*m)+"/>"),
			"the Word document contains a tag or a text of more than 1 MiB", ""},
		"a long name": {"a.docx", docx(t, "<w:p "+fill("a", 8*m)+`=""/>`),
			"the Word document contains a tag or a text of more than 1 MiB", ""},
		"a column's name in each row": {"a.csv", []byte(fill("a", m) + ",b\n" + fill("1,2\n", m/8)), text, ""},
		"a column's name in each row, too": {"a.html", []byte("<table><tr><th>" + fill("a", m) + "<th>b" +
			fill("<tr><td>1<td>2", m/8)), text, ""},
		"small rows":   {"a.csv", []byte(fill("1,2\n", 2*m)), text, ""},
		"plain values": {"a.json", []byte("[" + fill("1,", 2*m) + "1]"), text, ""},
		"names in names": {"a.json", []byte(`{"` + fill("a", 200) + `":{` + fill(`"b":1,`, m) + `"c":1}}`),
			text, ""},
		"small paragraphs":           {"a.txt", []byte(fill("a\n\n", 2*m)), text, ""},
		"small paragraphs in a page": {"a.html", []byte(fill("<p>a", 2*m)), text, ""},
		"small rows in Markdown": {"a.md", []byte(fill("|a|\n|-|\n"+strings.Repeat("|1|\n", 4000)+"\n", m)), text,
			""},
	} {
		// Parallel tests would count each other's work.
		t.Run(name, func(t *testing.T) {
			result, err := knowledge.Read(t.Context(), c.file, "", c.content)
			known := new(model.Error)
			require.ErrorAs(t, err, &known)
			require.Equal(t, model.Unprocessable, known.Code)
			// Under the race detector, reading may exceed the bound on work before the bound on text.
			isSlow := raceDetector && strings.Contains(known.Message, work)
			if !isSlow && !strings.Contains(known.Message, cmp.Or(c.or, c.want)) {
				require.Contains(t, known.Message, c.want)
			}
			require.Empty(t, result.Blocks)
		})
	}
}

// The library caches what it has read of a PDF. The memory must not grow with each page.
func TestReadLongPDF(t *testing.T) {
	t.Parallel()
	const pages = 700
	bodies := []string{
		"<</Type/Catalog/Pages 2 0 R>>", "",
		deflated(t, "", "BT /F 10 Tf 9 700 Td (top) Tj 0 -50 Td (hello) Tj 0 -50 Td (bottom) Tj ET"),
		"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
	}
	// Each page has many numbers. They are long, because a larger file may take more work. The race detector triples the
	// work of reading.
	var kids strings.Builder
	for range pages {
		bodies = append(bodies, "<</Font<</F 4 0 R>>/Kept["+strings.Repeat("1000000 ", 2500)+"]>>")
		bodies = append(bodies, fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 3 0 R/Resources %d 0 "+
			"R>>", len(bodies)))
		fmt.Fprintf(&kids, "%d 0 R ", len(bodies))
	}
	bodies[1] = fmt.Sprintf("<</Type/Pages/Count %d/Kids[%s]>>", pages, kids.String())
	text := read(t, "a.pdf", string(objects(bodies...)))
	require.Equal(t, pages, strings.Count(text.String(), "hello"))
}

// A parser searches repeatedly for the end of unclosed emphasis. A part with many such marks is read as plain text.
func TestMarkdownWithManyMarksIsReadAsPlainText(t *testing.T) {
	t.Parallel()
	requireBlocks(t, []knowledge.Block{para("a b")}, read(t, "a.md", "a *b*"))
	hostile := strings.TrimSpace(strings.Repeat("a**b c* ", 4000))
	requireBlocks(t, []knowledge.Block{para(hostile)}, read(t, "a.md", hostile))
	names := strings.TrimSpace(strings.Repeat("AGENTGRAPH_QUESTION_MODEL ", 1200))
	requireBlocks(t, []knowledge.Block{para(names + " b")}, read(t, "a.md", names+" *b*"))
}

// The context ends while a file is read. It counts how often it is checked, which reveals readers that never check it.
func TestReadersCheckTheirContext(t *testing.T) {
	t.Parallel()
	const m = 1 << 20
	for name, content := range map[string]string{
		"a.txt":  strings.Repeat("a paragraph of a few words\n\n", m/28),
		"a.csv":  strings.Repeat("1,2,3,4,5,6,7\n", m/14),
		"a.json": "[" + strings.Repeat(`{"a":"b"},`, m/10) + "1]",
		"a.html": strings.Repeat("<p>a paragraph of a few words", m/29),
		"a.md":   strings.Repeat("a paragraph of a few words\n\n", m/28),
		"a.docx": string(docx(t, strings.Repeat("<w:p><w:r><w:t>hello</w:t></w:r></w:p>", m/40))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := &ending{Context: t.Context(), looks: 20}
			_, err := knowledge.ReadAs(ctx, name, []byte(content))
			require.ErrorIs(t, err, context.Canceled)
		})
	}
	text := read(t, "a.txt", strings.Repeat("one two three\n", 1000))
	_, _, err := knowledge.Chunk(&ending{Context: t.Context(), looks: 20}, text, "naive", config(32, "\n"))
	require.ErrorIs(t, err, context.Canceled)
}

// ending is a context that ends after a number of checks.
type ending struct {
	context.Context
	looks int
}

func (e *ending) Err() error {
	if e.looks--; e.looks < 0 {
		return context.Canceled
	}
	return e.Context.Err()
}

// A careless reader would take quadratic time for each of these files, or more.
func TestReadHostileFilesInTime(t *testing.T) {
	t.Parallel()
	const n = 1 << 17
	formatting := "<p>"
	for i := range 400 {
		formatting += fmt.Sprintf("<b a=%d>", i)
	}
	for name, c := range map[string]struct{ file, content string }{
		"tags without end":  {"a.html", strings.Repeat("<div>", n) + "a"},
		"lists without end": {"a.html", strings.Repeat("<ol><li>", n) + "a"},
		"tables in tables":  {"a.html", strings.Repeat("<table><tr><td>", n) + "a"},
		"restored tags":     {"a.html", formatting + strings.Repeat("</p><p>a", n)},
		"quotes in quotes":  {"a.md", strings.Repeat(">", n) + "a"},
		"links in links":    {"a.md", strings.Repeat("[a](", n)},
		"stars":             {"a.md", strings.Repeat("*", n) + "a" + strings.Repeat("*", n)},
		"a table with padded rows": {"a.md", strings.Repeat("|a", 5000) + "\n" + strings.Repeat("|-", 5000) + "\n" +
			strings.Repeat("|\n", 20_000)},
		"references": {"a.md", strings.Repeat("[a]: b\n", n)},
		"links to one long address": {"a.md", "[a]: http://x.example/" + strings.Repeat("a", n) + "\n\n" +
			strings.Repeat("[a] ", n)},
		"numbers in the first line of pages": {"a.pdf", string(pdf(t, func(f *fpdf.Fpdf) {
			for range 5 {
				f.AddPage()
				f.Text(20, 20, strings.Repeat("1 ", 20_000))
				f.Text(20, 60, "a")
			}
		}))},
		"quotes": {"a.csv", strings.Repeat("\"a\n", n)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := read(t, c.file, c.content)
			require.LessOrEqual(t, len(text.String()), max(4*len(c.content), 1<<18))
		})
	}
}
