package knowledge

import (
	"bytes"
	"context"
	"encoding/xml"
	"strings"
)

type element struct {
	name string
	text strings.Builder
	// header and cells are its attributes and its text-only child elements.
	header, cells []string
	isParent      bool
}

// readXML reads each element with attributes or text-only child elements as a row. The names of these are the row's
// header. Elements within running text belong to the text.
func readXML(ctx context.Context, content []byte) (Text, error) {
	d := &document{ctx: ctx, kind: "XML", text: newText(content)}
	open := []*element{{}}
	err := d.decodeTokens(bytes.NewReader(content), func(token xml.Token) {
		last := open[len(open)-1]
		switch t := token.(type) {
		case xml.StartElement:
			last.isParent = true
			next := &element{name: t.Name.Local}
			for _, a := range t.Attr {
				if a.Name.Space != "xmlns" && a.Name.Local != "xmlns" {
					next.cell(d, a.Name.Local, a.Value)
				}
			}
			open = append(open, next)
		case xml.CharData:
			if last.text.Len() > 0 || len(bytes.TrimSpace(t)) > 0 {
				last.text.Write(t)
				d.text.reserve(len(t))
			}
		case xml.EndElement:
			open = open[:len(open)-1]
			last.endElement(d, open[len(open)-1])
		}
	})
	return d.text, err
}

func (e *element) cell(d *document, name, text string) {
	e.header, e.cells = append(e.header, name), append(e.cells, text)
	d.text.reserve(len(name) + len(text) + 2*cellCost)
}

// endElement adds the text of a text-only element to its parent, or adds the element as a row.
func (e *element) endElement(d *document, parent *element) {
	text := strings.Join(strings.Fields(e.text.String()), " ")
	d.text.reserve(-e.text.Len())
	switch {
	case e.isParent && len(e.cells) == 0:
		d.text.addBlock(Block{Text: text})
	case len(e.cells) > 0:
		if text != "" {
			e.cell(d, "", text)
		}
		for i := range e.cells {
			d.text.reserve(-len(e.header[i]) - len(e.cells[i]) - 2*cellCost)
		}
		tidy(e.header)
		d.text.addRow(e.header, e.cells)
	case text == "":
	case strings.TrimSpace(parent.text.String()) != "":
		parent.text.WriteString(text)
		d.text.reserve(len(text))
	case parent.name == "":
		d.text.addBlock(Block{Text: text})
	default:
		parent.cell(d, e.name, text)
	}
}
