package knowledge

import (
	"bytes"
	"context"
	"errors"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

const (
	// maxReading bounds the reading of a file, without the wait for a reader.
	maxReading = time.Minute
	// maxConcurrentFiles is the number of files that a process reads at a time, at most maxFilesPerCompany of one company.
	maxConcurrentFiles, maxFilesPerCompany = 3, 2
)

// Read returns the text of a document. It finds the kind of file by its first bytes, then by its extension, then by the
// content type. Any other file is read as plain text. If a file is unreadable, the error is a model.Error for the
// document's owner. Any other error is an error of ctx or of PDFium, and reading again can succeed.
func Read(ctx context.Context, name, contentType string, content []byte) (Text, error) {
	if len(content) > model.MaxDocumentBytes {
		return Text{}, unreadable("the file is larger than 25 MiB")
	}
	read := reader(name, contentType, content)
	if isPDF(content) {
		// Waiting for a reader does not count against the document.
		var err error
		if read, err = pdfReader(ctx, readPDF); err != nil {
			return Text{}, err
		}
	}
	text, err := readWithLimits(ctx, read, content)
	switch {
	case err != nil:
		return Text{}, err
	case text.isFull():
		return Text{}, text.fault()
	case len(text.Blocks) == 0:
		return Text{}, unreadable("the file contains no text")
	}
	return text, nil
}

// readWithLimits reads a file within the bounds of work and time.
func readWithLimits(ctx context.Context, read readFunc, content []byte) (Text, error) {
	reading, cancel := context.WithTimeout(ctx, maxReading)
	defer cancel()
	type result struct {
		text Text
		err  error
	}
	// Some libraries do not stop with their context. Such a goroutine is abandoned. It ends because its input is
	// bounded.
	done := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if recover() != nil {
				r = result{err: unreadable("the file is damaged")}
			}
			done <- r
		}()
		working, stop := limitWork(reading, len(content))
		defer func() {
			if err := stop(); err != nil {
				r = result{err: err}
			}
		}()
		r.text, r.err = read(working, content)
	}()
	var r result
	select {
	case r = <-done:
	case <-reading.Done():
		r.err = reading.Err()
	}
	switch {
	case ctx.Err() != nil:
		return Text{}, ctx.Err()
	case errors.Is(r.err, context.DeadlineExceeded):
		return Text{}, unreadable("reading the file took longer than a minute")
	}
	return r.text, r.err
}

func unreadable(sentence string) error {
	return &model.Error{Code: model.Unprocessable, Message: sentence}
}

type readFunc func(ctx context.Context, content []byte) (Text, error)

func isPDF(content []byte) bool {
	return bytes.Contains(content[:min(len(content), 1024)], []byte("%PDF-"))
}

// reader returns the reader of a file that is not a PDF.
func reader(name, contentType string, content []byte) readFunc {
	switch {
	case bytes.HasPrefix(content, []byte("PK\x03\x04")):
		return readPackage
	case bytes.HasPrefix(content, []byte("\xD0\xCF\x11\xE0")):
		return refuse("the file is an old or an encrypted Office document; save it as DOCX, XLSX or PPTX without a password")
	case bytes.HasPrefix(content, []byte("{\\rtf")):
		return readRTF
	case strings.HasPrefix(sniff(content), "image/") && bytes.IndexByte(content[:min(len(content), 512)], 0) >= 0:
		return func(context.Context, []byte) (Text, error) { return Text{}, errPicture }
	}
	media, _, _ := mime.ParseMediaType(contentType)
	for _, key := range []string{strings.ToLower(path.Ext(name)), media, sniff(content)} {
		switch key {
		case ".md", ".markdown", "text/markdown", "text/x-markdown":
			return readMarkdown
		case ".html", ".htm", ".xhtml", "text/html", "application/xhtml+xml":
			return func(ctx context.Context, content []byte) (Text, error) {
				return readHTML(ctx, content, contentType, nil)
			}
		case ".csv", ".tsv", "text/csv", "text/tab-separated-values":
			return readCSV
		case ".json", ".jsonl", ".ndjson", "application/json", "application/x-ndjson", "application/jsonl":
			return readJSON
		case ".eml", "message/rfc822":
			return readEML
		case ".xml", "text/xml", "application/xml":
			return readXML
		case ".txt", ".text", ".log", "text/plain":
			return readPlain
		case ".pdf", "application/pdf":
			return refuse("the file has the name of a PDF but is not one")
		case ".docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document":
			return refuse("the file has the name of a Word document but is not one")
		case ".xlsx", ".pptx", ".odt", ".ods", ".epub", ".rtf":
			return refuse("the file's content is not " + key + ", as its name or type says")
		}
	}
	return readPlain
}

func refuse(sentence string) readFunc {
	return func(context.Context, []byte) (Text, error) { return Text{}, unreadable(sentence) }
}

// sniff returns the media type of a file by its content.
func sniff(content []byte) string {
	media, _, _ := mime.ParseMediaType(http.DetectContentType(content))
	return media
}

func readPlain(ctx context.Context, content []byte) (Text, error) {
	decoded, text, err := decode(content)
	if err != nil {
		return Text{}, err
	}
	for part := range strings.SplitSeq(decoded, "\n\n") {
		if text.addBlock(Block{Text: part}); text.isFull() || ctx.Err() != nil {
			break
		}
	}
	return text, ctx.Err()
}
