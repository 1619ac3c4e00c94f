package knowledge

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// openDocument is the prefix of the media types of OpenDocument files.
const openDocument = "application/vnd.oasis.opendocument."

// readODF reads an OpenDocument text or spreadsheet.
func (d *document) readODF() error {
	isEncrypted := false
	err := d.visitElements("META-INF/manifest.xml", func(element xml.StartElement) {
		isEncrypted = isEncrypted || element.Name.Local == "encryption-data"
	})
	media, _ := d.readPart("mimetype", 100)
	switch kind := strings.TrimPrefix(strings.TrimSpace(string(media)), openDocument); {
	case err != nil:
		return err
	case isEncrypted:
		return unreadable("the OpenDocument file is encrypted; save it without a password")
	case strings.HasPrefix(kind, "text"):
		d.kind = "OpenDocument text"
		return d.readODT()
	case strings.HasPrefix(kind, "spreadsheet"):
		d.kind = "OpenDocument spreadsheet"
		return d.readODS()
	}
	return unreadable("the OpenDocument file is neither a text nor a spreadsheet; save it as PPTX or PDF")
}

// odfStyles are the styles of an OpenDocument file, by family and name.
type odfStyles struct {
	styles map[string]odfStyle
	// open has the key of the style being read.
	open string
}

type odfStyle struct {
	parent           string
	isHidden, isBold bool
}

func (s *odfStyles) visit(t xml.StartElement) {
	style := s.styles[s.open]
	switch t.Name.Local {
	case "style":
		s.open = ""
		if len(s.styles) < maxStyles {
			family := xmlAttr(t, "family") + "/"
			s.open = family + xmlAttr(t, "name")
			style = odfStyle{}
			if parent := xmlAttr(t, "parent-style-name"); parent != "" {
				style.parent = family + parent
			}
		}
	case "text-properties":
		style.isHidden = style.isHidden || xmlAttr(t, "display") == "none"
		style.isBold = style.isBold || xmlAttr(t, "font-weight") == "bold"
	case "table-properties":
		style.isHidden = style.isHidden || xmlAttr(t, "display") == "false"
	default:
		return
	}
	if s.open != "" {
		s.styles[s.open] = style
	}
}

// find reports whether a condition holds for a style, or for a style that it is based on.
func (s *odfStyles) find(family, name string, holds func(key string, style odfStyle) bool) bool {
	key := family + "/" + name
	for range maxStyleDepth {
		style, ok := s.styles[key]
		if !ok {
			break
		}
		if holds(key, style) {
			return true
		}
		key = style.parent
	}
	return false
}

func isHiddenODF(_ string, style odfStyle) bool { return style.isHidden }
func isBoldODF(_ string, style odfStyle) bool   { return style.isBold }
func isTitleODF(key string, _ odfStyle) bool    { return key == "paragraph/Title" }

type odt struct {
	flow
	odfStyles
	// lists counts the open lists.
	lists int
	// isHidden is set while a field hides the paragraph.
	isHidden bool
	// repeated counts the columns of the open cell.
	repeated int
}

// readODT reads the paragraphs, headings, lists and tables of a text. It leaves out hidden and deleted text, notes,
// comments and tables of contents.
func (d *document) readODT() error {
	o := odt{flow: flow{document: d}, odfStyles: odfStyles{styles: map[string]odfStyle{}}}
	return d.readBodyOfODF(&o.odfStyles, &o)
}

func (o *odt) takesText() bool { return o.depth > 0 }

type odfReader interface {
	// isLeftOut reports whether an element is skipped with its content.
	isLeftOut(element xml.StartElement) bool
	begin(element xml.StartElement)
	endElement(name string)
	// takesText reports whether text is read here.
	takesText() bool
	write(text string)
}

// readBodyOfODF reads the styles of an OpenDocument file, and then lets the reader read its body.
func (d *document) readBodyOfODF(styles *odfStyles, r odfReader) error {
	if err := d.visitElements("styles.xml", styles.visit); err != nil {
		return err
	}
	// skipped is the depth of open elements within one that is left out, including it.
	skipped, inBody := 0, false
	return d.visitTokens("content.xml", func(token xml.Token) {
		switch t := token.(type) {
		case xml.StartElement:
			switch {
			case skipped > 0 || r.isLeftOut(t):
				skipped++
			case inBody:
				r.begin(t)
			case t.Name.Local == "body":
				inBody = true
			default:
				styles.visit(t)
			}
		case xml.EndElement:
			if skipped > 0 {
				skipped--
			} else {
				r.endElement(t.Name.Local)
			}
		case xml.CharData:
			if skipped == 0 && r.takesText() {
				r.write(whiteSpace.Replace(string(t)))
			}
		}
	})
}

// whiteSpace replaces the white space of XML. Longer spaces are elements of their own.
var whiteSpace = strings.NewReplacer("\n", " ", "\t", " ", "\r", " ")

func (o *odt) isLeftOut(t xml.StartElement) bool {
	switch name := t.Name.Local; name {
	case "note", "annotation", "tracked-changes", "forms", "table-of-content", "illustration-index", "table-index",
		"object-index",
		"user-index", "alphabetical-index", "bibliography", "ruby-text", "script", "sequence-decls", "user-field-decls",
		"variable-decls":
		return true
	case "title", "desc":
		return strings.Contains(t.Name.Space, "svg")
	case "section", "hidden-text":
		return xmlAttr(t, "display") == "none" || xmlAttr(t, "is-hidden") == "true"
	case "table":
		return o.find("table", xmlAttr(t, "style-name"), isHiddenODF)
	case "span":
		return o.find("text", xmlAttr(t, "style-name"), isHiddenODF)
	case "p", "h":
		return o.find("paragraph", xmlAttr(t, "style-name"), isHiddenODF)
	}
	return false
}

func (o *odt) begin(t xml.StartElement) {
	switch t.Name.Local {
	case "p", "h":
		o.beginParagraph()
		o.isHidden = false
		switch level, _ := strconv.Atoi(xmlAttr(t, "outline-level")); {
		case t.Name.Local == "h":
			o.setHeading(min(max(level, 1), 6))
		case o.find("paragraph", xmlAttr(t, "style-name"), isTitleODF):
			o.setHeading(1)
		case o.lists > 0:
			o.setListItem()
		}
	case "hidden-paragraph":
		o.isHidden = xmlAttr(t, "is-hidden") == "true"
	case "list":
		o.lists++
	case "s":
		n, err := strconv.Atoi(xmlAttr(t, "c"))
		if err != nil {
			n = 1
		}
		o.write(strings.Repeat(" ", min(max(n, 0), maxHeading)))
	case "tab":
		o.write("\t")
	case "line-break":
		o.write("\n")
	case "table":
		o.tables++
	case "table-row":
		if o.tables == 1 {
			o.isHiddenRow = xmlAttr(t, "visibility") == "collapse"
		}
	case "table-cell", "covered-table-cell":
		if o.tables == 1 {
			o.repeated = repeated(t, "number-columns-repeated")
			o.table.merge(repeated(t, "number-columns-spanned"), repeated(t, "number-rows-spanned"))
		}
	}
}

// repeated returns how often an element repeats.
func repeated(t xml.StartElement, attribute string) int {
	n, err := strconv.Atoi(xmlAttr(t, attribute))
	if err != nil {
		return 1
	}
	return max(n, 1)
}

func (o *odt) endElement(name string) {
	switch name {
	case "p", "h":
		if o.isHidden && o.depth == 1 {
			o.paragraph.Reset()
		}
		o.isHidden = false
		o.endParagraph()
	case "list":
		o.lists--
	case "table-cell", "covered-table-cell":
		o.endCell(o.repeated)
	case "table-row":
		o.endRow()
	case "table":
		o.endTable()
	}
}
