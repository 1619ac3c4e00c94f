package knowledge

import (
	"encoding/xml"
	"io"
	"path"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

// maxChapter bounds a chapter, in bytes.
const maxChapter = 8 << 20

// readEPUB reads the chapters of a book in their order.
func (d *document) readEPUB() error {
	isEncrypted, list := false, ""
	err := d.part("META-INF/encryption.xml", func(token xml.Token) {
		if element, begins := token.(xml.StartElement); begins && strings.Contains(val(element, "Algorithm"), "xmlenc") {
			isEncrypted = true
		}
	})
	if isEncrypted {
		return unreadable("the book is encrypted")
	}
	if err == nil {
		err = d.part("META-INF/container.xml", func(token xml.Token) {
			if element, begins := token.(xml.StartElement); begins && element.Name.Local == "rootfile" && list == "" {
				list = val(element, "full-path")
			}
		})
	}
	if err != nil {
		return err
	}
	chapters, err := d.chapters(list)
	for _, name := range chapters {
		if err == nil && !d.text.full() {
			err = d.chapter(name)
		}
	}
	return err
}

// chapters returns the parts of a book, in order.
func (d *document) chapters(list string) ([]string, error) {
	parts := map[string]string{}
	var chapters []string
	err := d.part(list, func(token xml.Token) {
		element, begins := token.(xml.StartElement)
		switch {
		case !begins:
		case element.Name.Local == "item" && len(parts) <= maxParts:
			parts[val(element, "id")] = inside(path.Dir(list), val(element, "href"))
		case element.Name.Local == "itemref" && len(chapters) <= maxParts:
			chapters = append(chapters, parts[val(element, "idref")])
		}
	})
	if len(chapters) > maxParts {
		return nil, d.tooMany("chapters")
	}
	return chapters, err
}

// closed finds empty elements of XHTML that end by themselves, which in HTML hold what follows.
var closed = lazyregexp.New(`(?i)<(title|script|style|textarea|iframe|noscript)\b([^>]*)/>`)

// chapter adds the text of a page of a book.
func (d *document) chapter(name string) error {
	part, err := d.archive.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = part.Close() }()
	page, err := io.ReadAll(io.LimitReader(part, maxChapter+1))
	switch d.unpacked += len(page); {
	case err != nil:
		return d.damaged()
	case len(page) > maxChapter:
		return unreadable("the book has a chapter of more than 8 MiB")
	case d.unpacked > maxUnpacked:
		return unreadable("the book takes more than 64 MiB when it is unpacked")
	}
	text, err := readHTML(d.ctx, closed().ReplaceAll(page, []byte("<$1$2></$1>")), "application/xhtml+xml; charset=utf-8")
	if err != nil {
		return err
	}
	if text.full() {
		return text.fault()
	}
	d.text.append(text)
	return nil
}
