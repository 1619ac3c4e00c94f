package knowledge

import (
	"encoding/xml"
	"slices"
)

// readPPTX reads the titles, texts and tables of the visible slides, in order, without notes.
func (d *document) readPPTX() error {
	parts, err := d.related("ppt/presentation.xml")
	if err != nil {
		return err
	}
	var slides []string
	err = d.visitElements("ppt/presentation.xml", func(element xml.StartElement) {
		if element.Name.Local == "sldId" && len(slides) <= maxParts {
			for _, a := range element.Attr {
				if a.Name.Local == "id" && a.Name.Space != "" {
					slides = append(slides, parts[a.Value])
				}
			}
		}
	})
	if len(slides) > maxParts {
		return d.tooMany("slides")
	}
	for _, name := range slides {
		if err == nil {
			s := slide{flow: flow{document: d}}
			err = d.visitTokens(name, s.visit)
		}
	}
	return err
}

type slide struct {
	flow
	isHidden, isTitle, inText bool
}

func (s *slide) visit(token xml.Token) {
	switch t := token.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "sld":
			s.isHidden = xmlAttr(t, "show") == "0"
		case "sp":
			s.isTitle = false
		case "ph":
			s.isTitle = slices.Contains([]string{"title", "ctrTitle"}, xmlAttr(t, "type"))
		case "p":
			s.beginParagraph()
			if s.isTitle {
				s.setHeading(1)
			}
			s.setListItem()
		case "t":
			s.inText = true
		case "br":
			s.write("\n")
		case "tbl":
			s.tables++
		case "tc":
			if s.tables == 1 {
				s.table.merge(repeated(t, "gridSpan"), repeated(t, "rowSpan"))
			}
		}
	case xml.CharData:
		if s.inText && !s.isHidden {
			s.write(string(t))
		}
	case xml.EndElement:
		s.endElement(t.Name.Local)
	}
}

func (s *slide) endElement(name string) {
	switch name {
	case "t":
		s.inText = false
	case "p":
		s.endParagraph()
	case "tc":
		s.endCell(1)
	case "tr":
		s.endRow()
	case "tbl":
		s.tables--
		s.table.write(&s.text, func([]gridRow) bool { return true })
		s.table = runningTable{}
	}
}
