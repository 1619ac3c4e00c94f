package knowledge

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// maxPart bounds a part of a DOCX file when it is unpacked, in bytes.
const maxPart = 64 << 20

// readDOCX reads the paragraphs, headings, lists and tables of a Word document. Text that was deleted, or that stands
// in headers, footers and notes, is left out.
func readDOCX(ctx context.Context, content []byte) (Text, error) {
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return Text{}, unreadable("the file is damaged")
	}
	d := docx{ctx: ctx, headings: map[string]int{}}
	if styles, err := archive.Open("word/styles.xml"); err == nil {
		err = d.styles(styles)
		_ = styles.Close()
		if err != nil {
			return Text{}, err
		}
	}
	body, err := archive.Open("word/document.xml")
	if err != nil {
		return Text{}, unreadable("the file is an archive that holds no Word document")
	}
	defer func() { _ = body.Close() }()
	return d.text, d.read(body)
}

type docx struct {
	ctx context.Context
	// headings are the levels of the styles that are headings.
	headings map[string]int
	text     Text

	// paragraph is under way at depth 1 or more: a box within it has paragraphs of its own.
	paragraph strings.Builder
	depth     int
	block     Block
	// tables are how many tables are open; those within a table are read as text of its cell.
	tables int
	rows   [][]string
	cells  []string
	cell   strings.Builder
}

// each calls a function for every element of Word's own that begins or ends.
func (d *docx) each(part io.Reader, visit func(decoder *xml.Decoder, element xml.Token) error) error {
	decoder := xml.NewDecoder(io.LimitReader(part, maxPart))
	for n := 0; ; n++ {
		if n%1000 == 0 && d.ctx.Err() != nil {
			return d.ctx.Err()
		}
		token, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && decoder.InputOffset() >= maxPart:
			return unreadable("the Word document is too large when it is unpacked")
		case err != nil:
			return unreadable("the Word document is damaged")
		}
		if err := visit(decoder, token); err != nil || d.text.full() {
			return err
		}
	}
}

var headingName = regexp.MustCompile(`(?i)^heading ([1-9])$`)

// styles finds the styles that are headings: Word names them so in every language, or gives them an outline level.
func (d *docx) styles(part io.Reader) error {
	style := ""
	return d.each(part, func(_ *xml.Decoder, token xml.Token) error {
		element, begins := token.(xml.StartElement)
		if !begins {
			return nil
		}
		switch value := val(element, "val"); element.Name.Local {
		case "style":
			style = val(element, "styleId")
		case "name":
			if found := headingName.FindStringSubmatch(value); found != nil {
				d.headings[style] = min(int(found[1][0]-'0'), 6)
			} else if strings.EqualFold(value, "title") {
				d.headings[style] = 1
			}
		case "outlineLvl":
			if level := outline(value); level > 0 {
				d.headings[style] = level
			}
		}
		return nil
	})
}

// outline is the heading level of an outline level; body text has 9.
func outline(value string) int {
	if level, err := strconv.Atoi(value); err == nil && level >= 0 && level < 9 {
		return min(level+1, 6)
	}
	return 0
}

func val(element xml.StartElement, name string) string {
	for _, attribute := range element.Attr {
		if attribute.Name.Local == name {
			return attribute.Value
		}
	}
	return ""
}

func (d *docx) read(part io.Reader) error {
	inText := false
	return d.each(part, func(decoder *xml.Decoder, token xml.Token) error {
		switch t := token.(type) {
		case xml.StartElement:
			switch t.Name.Local {
			case "Fallback", "moveFrom", "del":
				return skip(decoder)
			}
			if strings.Contains(t.Name.Space, "wordprocessingml") {
				inText = t.Name.Local == "t"
				d.begin(t)
			}
		case xml.EndElement:
			inText = false
			if strings.Contains(t.Name.Space, "wordprocessingml") {
				d.end(t.Name.Local)
			}
		case xml.CharData:
			if inText {
				d.paragraph.Write(t)
			}
		}
		return nil
	})
}

func skip(decoder *xml.Decoder) error {
	if decoder.Skip() != nil {
		return unreadable("the Word document is damaged")
	}
	return nil
}

func (d *docx) begin(element xml.StartElement) {
	switch element.Name.Local {
	case "p":
		if d.depth++; d.depth == 1 {
			d.block = Block{}
		} else {
			d.paragraph.WriteByte('\n')
		}
	case "pStyle":
		d.level(d.headings[val(element, "val")])
	case "outlineLvl":
		d.level(outline(val(element, "val")))
	case "numPr":
		if d.block.Kind == Paragraph {
			d.block.Kind = Plain
		}
	case "tab":
		d.paragraph.WriteByte('\t')
	case "br", "cr":
		d.paragraph.WriteByte('\n')
	case "noBreakHyphen":
		d.paragraph.WriteByte('-')
	case "tbl":
		d.tables++
	}
}

func (d *docx) level(level int) {
	if level > 0 && d.depth == 1 {
		d.block = Block{Kind: Heading, Level: level}
	}
}

func (d *docx) end(name string) {
	switch {
	case name == "p" && d.depth > 1:
		d.depth--
		d.paragraph.WriteByte('\n')
	case name == "p":
		d.depth = 0
		d.block.Text = d.paragraph.String()
		d.paragraph.Reset()
		if d.tables > 0 {
			d.cell.WriteString(d.block.Text + " ")
		} else {
			d.text.add(d.block)
		}
	case name == "tc" && d.tables == 1:
		d.cells = append(d.cells, strings.Join(strings.Fields(d.cell.String()), " "))
		d.cell.Reset()
	case name == "tr" && d.tables == 1:
		if len(d.cells) > 0 {
			d.rows = append(d.rows, d.cells)
			d.text.size += len(d.cells) * cellCost
		}
		d.cells = nil
	case name == "tbl":
		d.tables--
		if d.tables == 0 && len(d.rows) > 0 {
			d.table()
		}
	}
}

// table keeps a table. One of a single column only frames text.
func (d *docx) table() {
	if len(d.rows[0]) > 1 {
		d.text.addTable(d.rows[0], d.rows[1:])
	} else {
		d.text.addTable(nil, d.rows)
	}
	d.rows = nil
}
