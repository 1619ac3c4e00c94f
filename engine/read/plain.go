package read

import (
	"html"
	"strings"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

var (
	// htmlTag, entity and link match markup that readers do not see, at the start of a text.
	htmlTag = lazyregexp.New(`^(?i:</?(?:b|i|u|s|em|strong|p|br|ul|ol|li|a|span|div|code|pre|h[1-6]|su[bp]|small|mark|` +
		`table|tbody|thead|tr|td|th|hr|img|blockquote)(?:\s[^<>]*)?/?>)`)
	entity = lazyregexp.New(`^&(?:#\d{1,6}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,10});`)
	link   = lazyregexp.New(`^!?\[([^\[\]\n]{1,500})\]\([^()\s]*\)`)
	// itemNumber matches the number of an item of a list, at the start of a line.
	itemNumber = lazyregexp.New(`(?m)^[ \t]*(\d{1,3}[.)])[ \t]`)
)

// plainText is a text without markup, with the origin of each of its bytes.
type plainText struct {
	original     string
	text         strings.Builder
	starts, ends []int
	// items are where the numbers of lists begin in the plain text.
	items map[int]bool
}

// plain removes tags and the targets of links, and decodes entities and escaped quotation marks. It replaces ~ before a
// digit with ≈.
func plain(source string) *plainText {
	p := &plainText{original: source, items: map[int]bool{}}
	items := map[int]bool{}
	for _, at := range itemNumber().FindAllStringSubmatchIndex(source, -1) {
		items[at[2]] = true
	}
	linkEnd, textEnd := 0, 0
	for at := 0; at < len(source); {
		if at == textEnd && linkEnd > at {
			at = linkEnd
			continue
		}
		rest := source[at:]
		switch rest[0] {
		case '<':
			if tag := htmlTag().FindString(rest); tag != "" {
				at += len(tag)
				continue
			}
		case '&':
			if code := entity().FindString(rest); code != "" && html.UnescapeString(code) != code {
				p.append(html.UnescapeString(code), at, at+len(code))
				at += len(code)
				continue
			}
		case '\\':
			if len(rest) > 1 && strings.ContainsRune(`"'`, rune(rest[1])) {
				at++
				continue
			}
		case '~':
			if len(rest) > 1 && '0' <= rest[1] && rest[1] <= '9' {
				p.append("≈", at, at+1)
				at++
				continue
			}
		case '[', '!':
			if found := link().FindStringSubmatchIndex(rest); found != nil && linkEnd <= at {
				linkEnd, textEnd = at+found[1], at+found[3]
				at += found[2]
				continue
			}
		}
		p.items[p.text.Len()] = items[at]
		_, width := utf8.DecodeRuneInString(rest)
		p.append(rest[:width], at, at+width)
		at += width
	}
	return p
}

func (p *plainText) append(text string, start, end int) {
	for range len(text) {
		p.starts, p.ends = append(p.starts, start), append(p.ends, end)
	}
	p.text.WriteString(text)
}
