package knowledge

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/net/html/charset"
)

const (
	// maxUnpacked bounds the unpacked size of a file, in bytes.
	maxUnpacked = 64 << 20
	// maxMarkup bounds a tag with its attributes, or the text between two tags, in bytes.
	maxMarkup = 1 << 20
	// maxDepth bounds the open elements. Word writes about thirty, and ten more for each nested table.
	maxDepth = 1_000
	// maxParts bounds the slides, sheets or chapters of a file.
	maxParts = 10_000
)

// document is an XML file, or a zip archive of XML parts, while it is read.
type document struct {
	ctx context.Context
	// kind names the file in errors.
	kind    string
	archive *zip.Reader
	text    Text
	// unpacked counts the bytes read from all parts.
	unpacked int
}

const officeDocument = "application/vnd.openxmlformats-officedocument."

// packages are the formats that are archives, each with a part that only its files contain.
var packages = []struct {
	part, kind, media string
	read              func(*document) error
}{
	{"word/document.xml", "Word document", officeDocument + "wordprocessingml.document", (*document).readDOCX},
	{"xl/workbook.xml", "Excel workbook", officeDocument + "spreadsheetml.sheet", (*document).readXLSX},
	{"ppt/presentation.xml", "PowerPoint presentation", officeDocument + "presentationml.presentation",
		(*document).readPPTX},
	{"META-INF/container.xml", "book", "application/epub+zip", (*document).readEPUB},
	{"content.xml", "OpenDocument file", "", (*document).readODF},
}

// maxDirectory bounds how much of an archive is read to find its media type, in bytes.
const maxDirectory = 2 << 20

// packageType returns the media type of an archive by its parts, which can be in any order. It is empty if the archive
// is not a document.
func packageType(content io.ReaderAt, size int64) string {
	archive, err := zip.NewReader(&limitedReaderAt{content, maxDirectory}, size)
	if err != nil {
		return ""
	}
	d := &document{archive: archive}
	for _, format := range packages {
		if _, err := fs.Stat(archive, format.part); err != nil {
			continue
		}
		if format.media != "" {
			return format.media
		}
		media, _ := d.readPart("mimetype", 100)
		if kind := strings.TrimSpace(string(media)); isReadable(kind) {
			return kind
		}
	}
	return ""
}

// limitedReaderAt reads at most a number of bytes in all.
type limitedReaderAt struct {
	from io.ReaderAt
	left int
}

func (r *limitedReaderAt) ReadAt(p []byte, at int64) (int, error) {
	if len(p) > r.left {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := r.from.ReadAt(p, at)
	r.left -= n
	return n, err
}

// readPackage reads a zip archive of XML: an Office document or an EPUB book.
func readPackage(ctx context.Context, content []byte) (Text, error) {
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return Text{}, unreadable("the file is damaged")
	}
	d := &document{ctx: ctx, archive: archive, text: newText(content)}
	for _, format := range packages {
		if _, err := fs.Stat(archive, format.part); err == nil {
			d.kind = format.kind
			err := format.read(d)
			return d.text, err
		}
	}
	if _, err := fs.Stat(archive, "xl/workbook.bin"); err == nil {
		return Text{}, unreadable("the file is a binary Excel workbook (.xlsb); save it as XLSX")
	}
	return Text{}, unreadable("the file is an archive that contains no document; send a Word, Excel, PowerPoint, " +
		"OpenDocument or EPUB file")
}

func (d *document) damaged() error { return unreadable("the " + d.kind + " is damaged") }

func (d *document) tooLarge() error {
	return unreadable("the " + d.kind + " takes more than 64 MiB when it is unpacked")
}

// visitTokens calls visit with every token of a part. A missing part has no tokens.
func (d *document) visitTokens(name string, visit func(token xml.Token)) error {
	part, err := d.archive.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = part.Close() }()
	return d.decodeTokens(part, visit)
}

// visitElements calls visit with every start element of a part.
func (d *document) visitElements(name string, visit func(element xml.StartElement)) error {
	return d.visitTokens(name, func(token xml.Token) {
		if element, begins := token.(xml.StartElement); begins {
			visit(element)
		}
	})
}

// readPart returns a part, up to limit + 1 bytes. A missing part is empty.
func (d *document) readPart(name string, limit int64) ([]byte, error) {
	part, err := d.archive.Open(name)
	if err != nil {
		return nil, nil
	}
	defer func() { _ = part.Close() }()
	content, err := io.ReadAll(io.LimitReader(part, limit+1))
	d.unpacked += len(content)
	return content, err
}

func (d *document) decodeTokens(part io.Reader, visit func(token xml.Token)) error {
	source := &markup{document: d, part: part}
	decoder := xml.NewDecoder(source)
	decoder.CharsetReader = charset.NewReaderLabel
	for depth := 0; !d.text.isFull(); {
		source.token = 0
		token, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case source.err != nil:
			return source.err
		case err != nil:
			return d.syntaxError(err)
		}
		switch token.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
		if depth > maxDepth {
			return unreadable("the " + d.kind + " is nested more than 1,000 elements deep")
		}
		visit(token)
	}
	return nil
}

// syntaxError returns the error for XML that the decoder refuses. The decoder knows no entities of a document's own.
func (d *document) syntaxError(err error) error {
	entity, isEntity := "", false
	if syntax := (*xml.SyntaxError)(nil); errors.As(err, &syntax) {
		entity, isEntity = strings.CutPrefix(syntax.Msg, "invalid character entity ")
	}
	if isEntity && strings.HasSuffix(entity, ";") && len(entity) <= maxPath {
		return unreadable("the " + d.kind + " uses the entity " + entity + ", and entities are not read; replace it with " +
			"its text")
	}
	return d.damaged()
}

// markup bounds the input of an XML decoder, because the decoder itself has no bounds.
type markup struct {
	document *document
	part     io.Reader
	// token counts the bytes since the last token.
	token int
	// err is why reading stopped early.
	err error
}

func (m *markup) Read(p []byte) (int, error) {
	switch {
	case m.document.ctx.Err() != nil:
		m.err = m.document.ctx.Err()
	case m.document.unpacked >= maxUnpacked:
		m.err = m.document.tooLarge()
	case m.token >= maxMarkup:
		m.err = unreadable("the " + m.document.kind + " contains a tag or a text of more than 1 MiB")
	}
	if m.err != nil {
		return 0, m.err
	}
	n, err := m.part.Read(p)
	m.document.unpacked += n
	m.token += n
	return n, err
}

// related returns the parts that a part of an Office document refers to, by their ids.
func (d *document) related(name string) (map[string]string, error) {
	parts := map[string]string{}
	folder, file := path.Split(name)
	err := d.visitElements(folder+"_rels/"+file+".rels", func(element xml.StartElement) {
		if element.Name.Local == "Relationship" && len(parts) < maxParts {
			parts[xmlAttr(element, "Id")] = resolvePart(folder, xmlAttr(element, "Target"))
		}
	})
	return parts, err
}

// resolvePart returns the name of a part that another part in the folder refers to.
func resolvePart(folder, target string) string {
	if strings.HasPrefix(target, "/") {
		return strings.TrimPrefix(path.Clean(target), "/")
	}
	return path.Join(folder, target)
}

// tooMany returns the error for a file with more than maxParts parts of a kind.
func (d *document) tooMany(parts string) error {
	return unreadable(fmt.Sprintf("the %s has more than %d %s", d.kind, maxParts, parts))
}

func xmlAttr(element xml.StartElement, name string) string {
	for _, attribute := range element.Attr {
		if attribute.Name.Local == name {
			return attribute.Value
		}
	}
	return ""
}
