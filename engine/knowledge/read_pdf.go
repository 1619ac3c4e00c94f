package knowledge

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/agentgraph/agentgraph/model"
)

const (
	// maxPages bounds the pages of a PDF.
	maxPages = 5_000
	// maxPageChars bounds the characters of a page.
	maxPageChars = 100_000
	// charWork is the processor time allowed for each character: three times the usual time.
	charWork = 6 * time.Microsecond
	// originWork is the processor time allowed for each character's position.
	originWork = 20 * time.Microsecond
	// pagesAtOnce is the number of pages after which a PDF is reopened, because PDFium caches everything it has read.
	pagesAtOnce = 250
	// pdfMemory bounds the memory of one PDF without the file, in pages of 64 KiB.
	pdfMemory = 768
)

// pdfs holds PDFium, Chrome's reader, compiled to WebAssembly, so that no file can access anything outside its own
// memory. Compiling takes seconds, so it waits for the first PDF. The user's cache directory keeps the result.
var pdfs = sync.OnceValues(func() (pdfium.Pool, error) {
	return webassembly.Init(webassembly.Config{
		MaxIdle: 1, MaxTotal: maxConcurrentFiles, FSConfig: wazero.NewFSConfig(),
		RuntimeConfig: wazero.NewRuntimeConfig().WithMemoryLimitPages(pdfMemory).WithCloseOnContextDone(true).
			WithCompilationCache(compilationCache()),
	})
})

func compilationCache() wazero.CompilationCache {
	if folder, err := os.UserCacheDir(); err == nil {
		if cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(folder, "agentgraph")); err == nil {
			return cache
		}
	}
	return wazero.NewCompilationCache()
}

// pdfReader waits until PDFium is compiled and one of its readers is free, or ctx ends. The returned function reads one
// file with read. The caller must call it, because it also frees the reader.
func pdfReader(ctx context.Context, read func(context.Context, pdfium.Pdfium, []byte) (Text, error)) (readFunc, error) {
	compiled := make(chan struct{})
	go func() {
		defer close(compiled)
		_, _ = pdfs()
	}()
	select {
	case <-compiled:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	pool, err := pdfs()
	if err != nil {
		return nil, err
	}
	reader, err := pool.GetInstanceWithContext(ctx)
	if err != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	instance := reflect.ValueOf(reader.GetImplementation()).Elem()
	// Growing step by step would copy the memory each time, and leave the old copies to the garbage collector. The
	// memory grows here, so that the time for it does not count against the document.
	memory := instance.FieldByName("Module").Interface().(api.Module).Memory()
	memory.Grow(pdfMemory - memory.Size()>>16)
	return func(ctx context.Context, content []byte) (Text, error) {
		defer func() { _ = reader.Close() }()
		// The library's calls take no context. They use this one, which can end them within a page.
		instance.FieldByName("Context").Set(reflect.ValueOf(ctx))
		return read(ctx, reader, content)
	}, nil
}

func readPDF(ctx context.Context, reader pdfium.Pdfium, content []byte) (Text, error) {
	pages, err := pdfPages(ctx, reader, content)
	var known *model.Error
	switch {
	case ctx.Err() != nil:
		return Text{}, ctx.Err()
	case errors.Is(err, pdfiumerrors.ErrPassword), errors.Is(err, pdfiumerrors.ErrSecurity):
		return Text{}, unreadable("the PDF is encrypted")
	case errors.As(err, &known):
		return Text{}, err
	case isTrap(err):
		return Text{}, unreadable("the PDF is damaged, or takes more than 48 MiB of memory to read")
	case err != nil:
		return Text{}, unreadable("the PDF is damaged")
	}
	text := paragraphs(withoutRunningLines(pages))
	if len(text.Blocks) == 0 {
		return Text{}, errScanned
	}
	if hasVowelSigns(text.Blocks) {
		text.Warning = "words with Arabic or Hebrew vowel signs may be damaged; upload DOCX or text instead of PDF"
	}
	return text, nil
}

// isTrap reports whether PDFium crashed, as it does when it runs out of memory. It cannot be used afterwards. The
// runtime does not export the error's type.
func isTrap(err error) bool { return err != nil && strings.HasPrefix(err.Error(), "wasm error: ") }

// lineCost is the memory of a line without its text, in bytes.
const lineCost = 32

// line is a line of a page: its ends and the top of its first letter, in points from the page's lower left corner, and
// the font size of that letter. A line with wide gaps has parts.
type line struct {
	text                   string
	left, right, top, size float32
	parts                  []line
	table                  tablePart
}

// openPDF opens a PDF and counts its pages.
func openPDF(reader pdfium.Pdfium, content []byte) (document references.FPDF_DOCUMENT, pages int, err error) {
	// PDFium reads only what it needs from a reader. From bytes it would make a full copy.
	opened, err := reader.OpenDocument(&requests.OpenDocument{FileReader: bytes.NewReader(content),
		FileReaderSize: int64(len(content))})
	if err != nil {
		return "", 0, err
	}
	count, err := reader.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: opened.Document})
	if err != nil {
		return "", 0, err
	}
	return opened.Document, count.PageCount, nil
}

func pdfPages(ctx context.Context, reader pdfium.Pdfium, content []byte) ([][]line, error) {
	document, count, err := openPDF(reader, content)
	if err != nil {
		return nil, err
	}
	if count > maxPages {
		return nil, unreadable("the PDF has more than 5,000 pages")
	}
	var pages [][]line
	// A PDF contains less text than other files of its size, and reading it takes longer.
	text := Text{limit: min(1<<20+4*len(content), maxText)}
	for i := range count {
		if i > 0 && i%pagesAtOnce == 0 {
			if _, err := reader.FPDF_CloseDocument(&requests.FPDF_CloseDocument{Document: document}); err != nil {
				return nil, err
			}
			if document, _, err = openPDF(reader, content); err != nil {
				return nil, err
			}
		}
		// Skip a damaged page: the others still answer questions.
		lines, err := pdfPage(ctx, reader, document, i)
		var known *model.Error
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case isTrap(err), errors.As(err, &known):
			return nil, err
		}
		pages = append(pages, lines)
		for _, l := range lines {
			text.size += len(l.text) + lineCost
		}
		if text.isFull() {
			return nil, text.fault()
		}
	}
	return pages, nil
}

func pdfPage(ctx context.Context, reader pdfium.Pdfium, document references.FPDF_DOCUMENT, index int) ([]line, error) {
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
	if count.Count > maxPageChars {
		return nil, unreadable("a page of the PDF contains more than 100,000 characters")
	}
	all, err := reader.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: text.TextPage, Count: count.Count})
	if err != nil {
		return nil, err
	}
	earn(ctx, time.Duration(count.Count)*charWork)
	toLeft, toRight := lettersByDirection(all.Text)
	if toLeft > 0 {
		earn(ctx, time.Duration(count.Count)*originWork)
	}
	order := bidiPage{reader: reader, page: text.TextPage, isRightToLeft: toLeft > toRight}
	var lines []line
	at := 0
	for row := range strings.Lines(all.Text) {
		// If the last word of a line is broken, PDFium joins the line with the next one.
		for _, part := range strings.SplitAfter(row, brokenWord) {
			if l := (line{text: pdfLine(order.inOrder(at, part))}); l.text != "" {
				setPosition(order, at, part, &l)
				lines = append(lines, l)
			}
			at += utf8.RuneCountInString(part)
		}
	}
	return inReadingOrder(lines), nil
}
