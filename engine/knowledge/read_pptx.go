package knowledge

import (
	"encoding/xml"
	"slices"
	"strings"
)

// readPPTX reads the titles, texts and tables of the slides that are not hidden, in order. It leaves out notes.
func (d *document) readPPTX() error {
	parts, err := d.related("ppt/presentation.xml")
	if err != nil {
		return err
	}
	var slides []string
	err = d.part("ppt/presentation.xml", func(token xml.Token) {
		if element, begins := token.(xml.StartElement); begins && element.Name.Local == "sldId" && len(slides) <= maxParts {
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
			s := slide{document: d}
			err = d.part(name, s.visit)
		}
	}
	return err
}

type slide struct {
	*document
	isHidden, isTitle, inText bool
	line                      strings.Builder
	// tables counts the open ones.
	tables int
	rows   [][]string
	cells  []string
}

func (s *slide) visit(token xml.Token) {
	switch t := token.(type) {
	case xml.StartElement:
		switch t.Name.Local {
		case "sld":
			s.isHidden = val(t, "show") == "0"
		case "sp":
			s.isTitle = false
		case "ph":
			s.isTitle = slices.Contains([]string{"title", "ctrTitle"}, val(t, "type"))
		case "t":
			s.inText = true
		case "br":
			s.line.WriteByte('\n')
		case "tbl":
			s.tables++
		}
	case xml.CharData:
		if s.inText && !s.isHidden {
			s.line.Write(t)
			s.text.hold(len(t))
		}
	case xml.EndElement:
		s.end(t.Name.Local)
	}
}

func (s *slide) end(name string) {
	switch name {
	case "t":
		s.inText = false
	case "p":
		if s.tables > 0 {
			s.line.WriteByte(' ')
			return
		}
		block := Block{Kind: Plain, Text: s.line.String()}
		if s.isTitle {
			block.Kind, block.Level = Heading, 1
		}
		s.text.held = 0
		s.text.add(block)
		s.line.Reset()
	case "tc":
		s.cells = append(s.cells, strings.Join(strings.Fields(s.line.String()), " "))
		s.text.hold(cellCost)
		s.line.Reset()
	case "tr":
		s.rows = append(s.rows, s.cells)
		s.text.hold(blockCost)
		s.cells = nil
	case "tbl":
		s.tables--
		s.text.held = 0
		if len(s.rows) > 0 {
			s.text.addTable(s.rows[0], s.rows[1:])
		}
		s.rows = nil
	}
}
