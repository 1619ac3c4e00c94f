package knowledge

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/klippa-app/go-pdfium"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
)

const (
	// maxPages bounds the pages of a PDF.
	maxPages = 5_000
	// pdfReaders is how many PDFs are read at once, each in at most pdfMemory pages of 64 KiB.
	pdfReaders, pdfMemory = 2, 8_192
)

// pdfs holds PDFium, the reader of Chrome, compiled to WebAssembly: no file makes it touch anything outside of its own
// memory. Compiling it takes seconds, so that waits for the first PDF.
var pdfs = sync.OnceValues(func() (pdfium.Pool, error) {
	return webassembly.Init(webassembly.Config{
		MaxIdle: 1, MaxTotal: pdfReaders, FSConfig: wazero.NewFSConfig(),
		RuntimeConfig: wazero.NewRuntimeConfig().WithMemoryLimitPages(pdfMemory).WithCloseOnContextDone(true),
	})
})

func readPDF(ctx context.Context, content []byte) (Text, error) {
	pool, err := pdfs()
	if err != nil {
		return Text{}, err
	}
	reader, err := pool.GetInstanceWithContext(ctx)
	if err != nil {
		return Text{}, errors.Join(ctx.Err(), err)
	}
	defer func() { _ = reader.Close() }()
	// The library's calls take no context. They use this one, which ends them in the middle of a page.
	reflect.ValueOf(reader.GetImplementation()).Elem().FieldByName("Context").Set(reflect.ValueOf(ctx))
	pages, err := pdfPages(ctx, reader, content)
	switch {
	case ctx.Err() != nil:
		return Text{}, ctx.Err()
	case errors.Is(err, pdfiumerrors.ErrPassword), errors.Is(err, pdfiumerrors.ErrSecurity):
		return Text{}, unreadable("the PDF is encrypted")
	case errors.Is(err, errPages):
		return Text{}, unreadable("the PDF has more than 5,000 pages")
	case err != nil:
		return Text{}, unreadable("the PDF is damaged")
	}
	text := paragraphs(withoutRunningLines(pages))
	if len(text.Blocks) == 0 {
		return Text{}, unreadable("the PDF holds no text: it may be scanned pages")
	}
	return text, nil
}

var errPages = errors.New("too many pages")

// line is a line of a page: where its first letter stands, in points from the page's lower left corner, and how high
// that letter's font is.
type line struct {
	text            string
	left, top, size float32
}

func pdfPages(ctx context.Context, reader pdfium.Pdfium, content []byte) ([][]line, error) {
	document, err := reader.OpenDocument(&requests.OpenDocument{File: &content})
	if err != nil {
		return nil, err
	}
	count, err := reader.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: document.Document})
	if err != nil {
		return nil, err
	}
	if count.PageCount > maxPages {
		return nil, errPages
	}
	var pages [][]line
	size := 0
	for i := range count.PageCount {
		// A damaged page is left out; the others still answer questions.
		lines, err := pdfPage(reader, document.Document, i)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		} else if err == nil {
			pages = append(pages, lines)
		}
		for _, l := range lines {
			size += len(l.text)
		}
		if size > maxText {
			break
		}
	}
	return pages, nil
}

func pdfPage(reader pdfium.Pdfium, document references.FPDF_DOCUMENT, index int) ([]line, error) {
	page, err := reader.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: document, Index: index})
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = reader.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: page.Page}) }()
	text, err := reader.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: requests.Page{ByReference: &page.Page}})
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = reader.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: text.TextPage}) }()
	count, err := reader.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: text.TextPage})
	if err != nil || count.Count <= 0 {
		return nil, err
	}
	all, err := reader.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: text.TextPage, Count: count.Count})
	if err != nil {
		return nil, err
	}
	var lines []line
	at := 0
	for row := range strings.Lines(all.Text) {
		l := line{text: strings.TrimRight(row, "\r\n")}
		if strings.TrimSpace(l.text) != "" {
			box, err := reader.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: text.TextPage, Index: at})
			if err == nil {
				l.left, l.top, l.size = box.Rect.Left, box.Rect.Top, box.Rect.Top-box.Rect.Bottom
			}
			lines = append(lines, l)
		}
		at += len([]rune(row))
	}
	return lines, nil
}

// withoutRunningLines drops the first and last lines of pages that most pages share but for their number.
func withoutRunningLines(pages [][]line) [][]line {
	const enough = 4
	if len(pages) < enough {
		return pages
	}
	seen := map[string]int{}
	for _, page := range pages {
		for _, end := range ends(page) {
			seen[end]++
		}
	}
	for i, page := range pages {
		for len(page) > 0 && seen[running(page[0])] > len(pages)/2 {
			page = page[1:]
		}
		for len(page) > 0 && seen[running(page[len(page)-1])] > len(pages)/2 {
			page = page[:len(page)-1]
		}
		pages[i] = page
	}
	return pages
}

// ends are what may be running lines of a page: its first two lines and its last two, each once.
func ends(page []line) []string {
	var out []string
	for i, l := range page {
		if i < 2 || i >= len(page)-2 {
			out = append(out, running(l))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// running is a line without its numbers.
func running(l line) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return '0'
		}
		return r
	}, l.text))
}
