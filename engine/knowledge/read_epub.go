package knowledge

import (
	"encoding/xml"
	"maps"
	"path"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

// maxChapter bounds a chapter, and maxSheet a style sheet, in bytes.
const maxChapter, maxSheet = 8 << 20, 1 << 20

func (d *document) readEPUB() error {
	isEncrypted, list := false, ""
	err := d.visitElements("META-INF/encryption.xml", func(element xml.StartElement) {
		isEncrypted = isEncrypted || strings.Contains(xmlAttr(element, "Algorithm"), "xmlenc")
	})
	if isEncrypted {
		return unreadable("the book is encrypted")
	}
	if err == nil {
		err = d.visitElements("META-INF/container.xml", func(element xml.StartElement) {
			if element.Name.Local == "rootfile" && list == "" {
				list = xmlAttr(element, "full-path")
			}
		})
	}
	if err != nil {
		return err
	}
	chapters, styles, err := d.chapters(list)
	for _, name := range chapters {
		if err == nil && !d.text.isFull() {
			err = d.chapter(name, styles)
		}
	}
	return err
}

// chapters returns the parts of a book in order, and the selectors that its style sheets hide.
func (d *document) chapters(list string) (chapters []string, styles hidingStyles, err error) {
	parts := map[string]string{}
	var sheets []string
	err = d.visitElements(list, func(element xml.StartElement) {
		switch {
		case element.Name.Local == "item" && len(parts) <= maxParts:
			parts[xmlAttr(element, "id")] = resolvePart(path.Dir(list), xmlAttr(element, "href"))
			if xmlAttr(element, "media-type") == "text/css" {
				sheets = append(sheets, parts[xmlAttr(element, "id")])
			}
		case element.Name.Local == "itemref" && len(chapters) <= maxParts:
			chapters = append(chapters, parts[xmlAttr(element, "idref")])
		}
	})
	if len(chapters) > maxParts {
		return nil, nil, d.tooMany("chapters")
	}
	styles = hidingStyles{}
	for _, name := range sheets {
		if err == nil {
			err = d.styleSheet(name, styles)
		}
	}
	return chapters, styles, err
}

// styleSheet adds the selectors that a style sheet hides. It ignores a sheet that is missing, damaged or implausibly
// large.
func (d *document) styleSheet(name string, styles hidingStyles) error {
	sheet, err := d.readPart(name, maxSheet)
	switch {
	case d.ctx.Err() != nil:
		return d.ctx.Err()
	case d.unpacked > maxUnpacked:
		return d.tooLarge()
	case err == nil && len(sheet) <= maxSheet:
		styles.addSheet(string(sheet))
	}
	return nil
}

// closed matches self-closing elements of XHTML. In HTML they would contain the text after them.
var closed = lazyregexp.New(`(?i)<(title|script|style|textarea|iframe|noscript)\b([^>]*)/>`)

var inPage = lazyregexp.New(`(?is)<style\b[^>]*>(.*?)</style>`)

// chapter adds the text of a page of a book, without elements that the styles of the book or page hide.
func (d *document) chapter(name string, styles hidingStyles) error {
	page, err := d.readPart(name, maxChapter)
	switch {
	case err != nil:
		return d.damaged()
	case len(page) > maxChapter:
		return unreadable("the book has a chapter of more than 8 MiB")
	case d.unpacked > maxUnpacked:
		return d.tooLarge()
	}
	page = closed().ReplaceAll(page, []byte("<$1$2></$1>"))
	if own := inPage().FindAllSubmatch(page, 10); len(own) > 0 {
		styles = maps.Clone(styles)
		for _, sheet := range own {
			styles.addSheet(string(sheet[1]))
		}
	}
	text, err := readHTML(d.ctx, page, "application/xhtml+xml; charset=utf-8", styles)
	if err != nil {
		return err
	}
	if text.isFull() {
		return text.fault()
	}
	d.text.append(text)
	return nil
}
