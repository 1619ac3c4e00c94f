package knowledge

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"mime"
	"path"
	"strings"
	"time"

	"github.com/gabriel-vasile/mimetype"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// AddDocument adds a document to a dataset. Indexing checks later whether it is readable.
func (*Base) AddDocument(ctx context.Context, t *db.Tenant, in model.AddDocumentInput) (*model.Document, error) {
	d, err := model.NewDocument(in, time.Now().UTC().Truncate(time.Microsecond))
	if err != nil {
		return nil, err
	}
	if in.Text != nil {
		d.ContentType = byName(d.Name, textPlain)
		return d, t.AddDocument(ctx, d, strings.NewReader(*in.Text))
	}
	upload := in.Upload
	if d.ContentType, err = contentTypeOf(d.Name, upload.ContentType, upload.File, upload.Size); err != nil {
		return nil, err
	}
	if _, err := upload.File.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read an uploaded file: %w", err)
	}
	return d, t.AddDocument(ctx, d, upload.File)
}

const textPlain = "text/plain"

// texts are the media types of text files by file extension.
var texts = map[string]string{
	".csv": "text/csv", ".eml": "message/rfc822", ".htm": "text/html", ".html": "text/html", ".json": "application/json",
	".log":      textPlain,
	".markdown": "text/markdown", ".md": "text/markdown", ".tsv": "text/tab-separated-values", ".txt": textPlain,
	".xml": "text/xml",
}

func byName(name, otherwise string) string {
	if known, ok := texts[strings.ToLower(path.Ext(name))]; ok {
		return known
	}
	return otherwise
}

// contentTypeOf returns the media type of a file. The first bytes decide, unless they are text. For text the name, the
// sender's declaration and the content decide, in this order.
func contentTypeOf(name, declared string, content io.Reader, size int64) (string, error) {
	found, err := mimetype.DetectReader(content)
	if err != nil {
		return "", fmt.Errorf("read an uploaded file: %w", err)
	}
	sniffed, _, _ := mime.ParseMediaType(found.String())
	root := found
	for ; root.Parent() != nil && !root.Is(textPlain); root = root.Parent() {
	}
	if file, ok := content.(io.ReaderAt); ok && sniffed == "application/zip" {
		return cmp.Or(packageType(file, size), sniffed), nil
	}
	if !root.Is(textPlain) {
		return sniffed, nil
	}
	for _, candidate := range []string{declared, sniffed} {
		media, _, err := mime.ParseMediaType(candidate)
		if err == nil && isText(media) && media != textPlain && len(media) <= 255 {
			return byName(name, media), nil
		}
	}
	return byName(name, textPlain), nil
}

// isReadable reports whether Read may be able to read a media type. It includes application/octet-stream, because Read
// reads a file of an unknown type as plain text.
func isReadable(media string) bool {
	switch media {
	case "application/pdf", "application/octet-stream", "application/zip",
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
		"application/vnd.openxmlformats-officedocument.presentationml.presentation",
		openDocument + "text", openDocument + "spreadsheet", "application/epub+zip", "application/rtf", "application/xml",
		"message/rfc822", "application/msword", "application/x-ole-storage":
		return true
	}
	return isText(media) || strings.HasPrefix(media, "image/")
}

func isText(media string) bool {
	return strings.HasPrefix(media, "text/") || media == "application/json" || media == "application/x-ndjson"
}
