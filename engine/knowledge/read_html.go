package knowledge

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

// readHTML reads the blocks of a page without scripts, styles and navigation. It leaves out elements that the styles
// hide.
func readHTML(ctx context.Context, content []byte, contentType string, styles hidingStyles) (Text, error) {
	var source io.Reader = bytes.NewReader(content)
	p := page{text: newText(content)}
	head := content[:min(len(content), 1024)]
	from, name, isCertain := charset.DetermineEncoding(head, contentType)
	// Pages that declare no encoding count as Windows-1252, but most are UTF-8.
	if name != "utf-8" && (name != "windows-1252" || !utf8.Valid(content)) {
		if name == "windows-1252" && !isCertain && !bytes.Contains(bytes.ToLower(head), []byte("charset")) {
			from, p.text.Warning = guess(content)
		}
		source = from.NewDecoder().Reader(source)
	}
	// The tags are read one by one. Building a tree as browsers do would let a small page grow without bound.
	tags := html.NewTokenizer(source)
	for n := 0; !p.text.isFull(); n++ {
		if n%1000 == 0 && ctx.Err() != nil {
			return Text{}, ctx.Err()
		}
		kind := tags.Next()
		if kind == html.ErrorToken {
			break
		}
		switch tag := tags.Token(); {
		case p.skipped != "" && p.skip(tag):
		case kind == html.TextToken:
			p.write(tag.Data)
		case kind == html.EndTagToken:
			p.endElement(tag.DataAtom)
		case kind == html.StartTagToken, kind == html.SelfClosingTagToken:
			if isHidden(tag) || styles.hide(tag) {
				p.hide(tag)
			} else {
				p.start(tag)
			}
		}
	}
	if !p.text.isFull() {
		p.endTable()
		p.flush()
	}
	return p.text, nil
}

// maxLists bounds the open lists. The items of deeper lists get the marks of the deepest list within the bound.
const maxLists = 100

// page collects the blocks of an HTML document tag by tag.
type page struct {
	text  Text
	block Block
	line  strings.Builder
	pre   bool
	// lists are the open lists, each with the number of its next item, or nil for an unnumbered list.
	lists []*int
	// mark is written before the text of the current item.
	mark string
	// skipped is the name of the tag whose content is left out. depth counts its open tags.
	skipped string
	depth   int
	table
}

// skip tracks the skipped element, and reports whether the tag belongs to it.
func (p *page) skip(tag html.Token) bool {
	isTag := tag.Type == html.StartTagToken || tag.Type == html.EndTagToken
	switch {
	case isTag && endsByItself(p.skipped) && (tag.Data != p.skipped || tag.Type == html.StartTagToken) &&
		(isBlock(tag.DataAtom) || headingLevel(tag.DataAtom) > 0 || endsByItself(tag.Data)):
		p.skipped = ""
		return false
	case tag.Data != p.skipped:
	case tag.Type == html.StartTagToken:
		p.depth++
	case tag.Type == html.EndTagToken:
		if p.depth--; p.depth == 0 {
			p.skipped = ""
		}
	}
	return true
}

// endsByItself reports whether HTML lets authors omit the end tag of an element, because the next block ends it.
func endsByItself(name string) bool {
	return name == "p" || name == "li" || name == "dt" || name == "dd"
}

var hiddenStyle = lazyregexp.New(`(?i)(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden)`)

// isHidden reports whether browsers hide the content of a tag.
func isHidden(tag html.Token) bool {
	return slices.ContainsFunc(tag.Attr, func(a html.Attribute) bool {
		return a.Key == "hidden" || a.Key == "style" && hiddenStyle().MatchString(a.Val)
	})
}

// hide leaves out the content of a tag, unless the tag is a void element.
func (p *page) hide(tag html.Token) {
	switch tag.DataAtom {
	case atom.Area, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Source,
		atom.Wbr:
		return
	}
	if tag.Type == html.StartTagToken {
		p.skipped, p.depth = tag.Data, 1
	}
}

// flush ends the current block. A cell of a table is not split into blocks, so flush writes a space in it.
func (p *page) flush() {
	text := p.line.String()
	if p.inCell {
		p.line.WriteByte(' ')
		return
	}
	if p.mark != "" && strings.TrimSpace(text) == strings.TrimSpace(p.mark) {
		return
	}
	if !p.pre {
		lines := strings.Split(text, "\n")
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		text = strings.Join(lines, "\n")
	}
	if len(p.lists) > 0 && p.block.Kind == Paragraph {
		p.block.Kind = Plain
	}
	p.block.Text = text
	p.text.addBlock(p.block)
	p.block, p.mark = Block{}, ""
	p.line.Reset()
}

// write appends text with its white space collapsed as in browsers.
func (p *page) write(text string) {
	if p.pre {
		p.line.WriteString(text)
		return
	}
	const blank = " \t\n\r\f"
	words := strings.Fields(text)
	if text != "" && (len(words) == 0 || strings.IndexByte(blank, text[0]) >= 0) {
		p.line.WriteByte(' ')
	}
	p.line.WriteString(strings.Join(words, " "))
	if len(words) > 0 && strings.IndexByte(blank, text[len(text)-1]) >= 0 {
		p.line.WriteByte(' ')
	}
}

func isBlock(tag atom.Atom) bool {
	switch tag {
	case atom.Html, atom.Head, atom.Body, atom.Title, atom.P, atom.Div, atom.Section, atom.Article, atom.Main, atom.Header,
		atom.Footer, atom.Aside, atom.Dl, atom.Dt, atom.Dd, atom.Blockquote, atom.Figure, atom.Figcaption, atom.Hr, atom.Form,
		atom.Fieldset, atom.Details, atom.Summary, atom.Address, atom.Caption, atom.Textarea, atom.Button:
		return true
	}
	return false
}

func headingLevel(tag atom.Atom) int {
	switch tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return int(tag.String()[1] - '0')
	}
	return 0
}

func (p *page) start(tag html.Token) {
	switch name := tag.DataAtom; name {
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Svg, atom.Iframe, atom.Nav, atom.Select:
		p.hide(tag)
	case atom.Br:
		p.line.WriteByte('\n')
	case atom.Img:
		p.write(" " + attribute(tag, "alt") + " ")
	case atom.Ul, atom.Menu, atom.Ol:
		p.flush()
		if len(p.lists) < maxLists {
			p.lists = append(p.lists, firstNumber(tag))
		}
	case atom.Li:
		p.flush()
		p.startItem()
	case atom.Pre:
		p.flush()
		p.pre = true
	case atom.Table:
		p.endTable()
		p.flush()
		p.table = table{open: true}
	case atom.Thead, atom.Tbody, atom.Tfoot:
		p.endRow()
		p.endRows()
	case atom.Tr:
		p.endRow()
		p.inRow = p.open
	case atom.Td, atom.Th:
		p.startCell(tag)
	default:
		if level := headingLevel(name); level > 0 && !p.inCell {
			p.flush()
			p.block = Block{Kind: Heading, Level: level}
		} else if isBlock(name) {
			p.flush()
		}
	}
}

func (p *page) endElement(tag atom.Atom) {
	switch tag {
	case atom.Ul, atom.Menu, atom.Ol:
		p.flush()
		p.lists = p.lists[:max(len(p.lists)-1, 0)]
	case atom.Pre:
		if !p.inCell && p.pre {
			p.block.Kind = Plain
		}
		p.flush()
		p.pre = false
	case atom.Td, atom.Th:
		p.endCell()
	case atom.Tr:
		p.endRow()
	case atom.Table:
		p.endTable()
	default:
		if isBlock(tag) || tag == atom.Li || headingLevel(tag) > 0 {
			p.flush()
		}
	}
}

func attribute(tag html.Token, name string) string {
	for _, a := range tag.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// firstNumber returns the number of a list's first item, or nil for an unnumbered list.
func firstNumber(tag html.Token) *int {
	if tag.DataAtom != atom.Ol {
		return nil
	}
	place := 1
	if _, err := fmt.Sscan(attribute(tag, "start"), &place); err != nil {
		place = 1
	}
	return &place
}

func (p *page) startItem() {
	p.mark = "- "
	if last := len(p.lists) - 1; last >= 0 && p.lists[last] != nil {
		p.mark = fmt.Sprintf("%d. ", *p.lists[last])
		*p.lists[last]++
	}
	p.block = Block{Kind: Plain}
	if !p.inCell {
		p.line.Reset()
	}
	p.line.WriteString(p.mark)
}
