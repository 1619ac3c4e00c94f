package knowledge

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

func readHTML(content []byte, contentType string) (Text, error) {
	var source io.Reader = bytes.NewReader(content)
	from, name, _ := charset.DetermineEncoding(content[:min(len(content), 1024)], contentType)
	// Pages that say nothing count as Windows-1252, and are UTF-8.
	if name != "utf-8" && (!utf8.Valid(content) || name != "windows-1252") {
		source = from.NewDecoder().Reader(source)
	}
	root, err := html.Parse(source)
	if err != nil {
		return Text{}, unreadable("the HTML is nested too deep")
	}
	p := page{places: map[*html.Node]int{}}
	p.children(root)
	p.flush(Block{})
	return p.text, nil
}

// page collects the blocks of an HTML document.
type page struct {
	text Text
	line strings.Builder
	pre  int
	// places are the numbers of the next entries of the lists under way.
	places map[*html.Node]int
}

// flush ends the block under way. It becomes a block of this kind.
func (p *page) flush(b Block) {
	lines := strings.Split(p.line.String(), "\n")
	if p.pre == 0 {
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
	}
	p.line.Reset()
	b.Text = strings.Join(lines, "\n")
	p.text.add(b)
}

func (p *page) children(n *html.Node) {
	for child := n.FirstChild; child != nil && !p.text.full(); child = child.NextSibling {
		switch child.Type {
		case html.TextNode:
			p.write(child.Data)
		case html.ElementNode:
			p.element(child)
		case html.DocumentNode:
			p.children(child)
		}
	}
}

// write appends text, its white space folded as a browser does.
func (p *page) write(text string) {
	if p.pre > 0 {
		p.line.WriteString(text)
		return
	}
	words := strings.Fields(text)
	if len(words) == 0 || startsBlank(text) {
		p.line.WriteByte(' ')
	}
	p.line.WriteString(strings.Join(words, " "))
	if len(words) > 0 && startsBlank(text[len(text)-1:]) {
		p.line.WriteByte(' ')
	}
}

func startsBlank(text string) bool { return strings.IndexAny(text, " \t\n\r\f") == 0 }

func (p *page) element(n *html.Node) {
	switch n.DataAtom {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Svg, atom.Iframe, atom.Nav, atom.Select, atom.Button:
	case atom.Br:
		p.line.WriteByte('\n')
	case atom.Img:
		p.write(" " + attribute(n, "alt") + " ")
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		p.block(n, Block{Kind: Heading, Level: int(n.Data[1] - '0')})
	case atom.Title:
		p.block(n, Block{})
	case atom.Li:
		p.flush(Block{})
		p.line.WriteString(p.marker(n))
		p.children(n)
		p.flush(Block{Kind: Plain})
	case atom.Pre:
		p.flush(Block{})
		p.pre++
		p.children(n)
		p.flush(Block{Kind: Plain})
		p.pre--
	case atom.Table:
		p.flush(Block{})
		p.table(n)
	case atom.Html, atom.Head, atom.Body, atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Header, atom.Footer,
		atom.Aside, atom.Ul, atom.Ol, atom.Dl, atom.Dt, atom.Dd, atom.Blockquote, atom.Figure, atom.Figcaption, atom.Hr,
		atom.Form, atom.Fieldset, atom.Details, atom.Summary, atom.Address, atom.Caption, atom.Tr, atom.Td, atom.Th, atom.Option:
		p.block(n, Block{})
	default:
		p.children(n)
	}
}

// block is an element that stands by itself.
func (p *page) block(n *html.Node, b Block) {
	kind := Block{}
	if n.Parent != nil && n.Parent.DataAtom == atom.Li {
		kind.Kind = Plain
	}
	// The mark of a list's entry stays with the entry's first paragraph.
	if mark := strings.TrimSpace(p.line.String()); kind.Kind != Plain || strings.Trim(mark, "-.0123456789") != "" {
		p.flush(kind)
	}
	p.children(n)
	if b.Kind == Paragraph {
		b = kind
	}
	p.flush(b)
}

// marker is what stands before an entry of a list.
func (p *page) marker(n *html.Node) string {
	list := n.Parent
	if list == nil || list.DataAtom != atom.Ol {
		return "- "
	}
	place, begun := p.places[list]
	if !begun {
		if _, err := fmt.Sscan(attribute(list, "start"), &place); err != nil {
			place = 1
		}
	}
	p.places[list] = place + 1
	return fmt.Sprintf("%d. ", place)
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// table reads the rows of a table. One that only places blocks on the page is read as these blocks.
func (p *page) table(table *html.Node) {
	var rows []*html.Node
	layout := false
	for n := range table.Descendants() {
		switch n.DataAtom {
		case atom.Tr:
			rows = append(rows, n)
		case atom.Table, atom.H1, atom.H2, atom.H3, atom.H4:
			layout = true
		case atom.Caption:
			p.block(n, Block{})
		}
	}
	if layout || len(rows) == 0 {
		p.children(table)
		p.flush(Block{})
		return
	}
	var header []string
	var body [][]string
	titles := 0
	for i, row := range rows {
		cells, heads := p.cells(row)
		titles += heads
		switch {
		case i == 0 && len(cells) > 1 && heads == len(cells):
			header = cells
		case len(cells) > 0:
			body = append(body, cells)
		}
	}
	// A table without a single title cell has its titles in its first row, like a spreadsheet.
	if header == nil && titles == 0 && len(body) > 1 && len(body[0]) > 1 {
		header, body = body[0], body[1:]
	}
	p.text.addTable(header, body)
}

// cells are the texts of a row's cells, and how many of these are titles.
func (p *page) cells(row *html.Node) (cells []string, titles int) {
	for n := range row.ChildNodes() {
		if n.DataAtom != atom.Td && n.DataAtom != atom.Th {
			continue
		}
		if n.DataAtom == atom.Th {
			titles++
		}
		cell := page{places: p.places}
		cell.children(n)
		cell.flush(Block{})
		cells = append(cells, strings.TrimSpace(strings.ReplaceAll(cell.text.String(), "\n", " ")))
	}
	return cells, titles
}
