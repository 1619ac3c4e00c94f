package knowledge

import (
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

// AddDocument adds a document to a dataset. Whether it can be read is found out when it is indexed.
func (*Base) AddDocument(ctx context.Context, t *db.Tenant, in model.AddDocumentInput) (*model.Document, error) {
	d, err := model.NewDocument(in, time.Now().UTC().Truncate(time.Microsecond))
	if err != nil {
		return nil, err
	}
	var content io.ReadSeeker
	declared := ""
	if in.Text != nil {
		content = strings.NewReader(*in.Text)
	} else {
		content, declared = in.Upload.File, in.Upload.ContentType
	}
	if d.ContentType, err = contentTypeOf(d.Name, declared, content); err != nil {
		return nil, err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read an uploaded file: %w", err)
	}
	return d, t.AddDocument(ctx, d, content)
}

// texts are the media types of texts, which only their names tell apart.
var texts = map[string]string{
	".csv": "text/csv", ".htm": "text/html", ".html": "text/html", ".json": "application/json", ".log": "text/plain",
	".markdown": "text/markdown", ".md": "text/markdown", ".tsv": "text/tab-separated-values", ".txt": "text/plain",
}

// contentTypeOf tells the media type of a document by its first bytes where these are not text, and else by
// its name, then by what its sender declared.
func contentTypeOf(name, declared string, content io.Reader) (string, error) {
	found, err := mimetype.DetectReader(content)
	if err != nil {
		return "", fmt.Errorf("read an uploaded file: %w", err)
	}
	sniffed, _, _ := mime.ParseMediaType(found.String())
	isText := found.Is("text/plain")
	for parent := found.Parent(); parent != nil && !isText; parent = parent.Parent() {
		isText = parent.Is("text/plain")
	}
	if !isText {
		return sniffed, nil
	}
	if byName, known := texts[strings.ToLower(path.Ext(name))]; known {
		return byName, nil
	}
	declared, _, err = mime.ParseMediaType(declared)
	if err == nil && (strings.HasPrefix(declared, "text/") || declared == "application/json") && len(declared) <= 255 {
		return declared, nil
	}
	return sniffed, nil
}
