package knowledge

import (
	"bytes"
	"context"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

// Line breaks within a paragraph are kept, because question and answer often share a paragraph.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table),
	goldmark.WithRendererOptions(html.WithHardWraps(), html.WithUnsafe()),
)

const (
	// maxEmphasis bounds the runs of stars and underscores in a part, except marks of list items. Matching them takes
	// quadratic time.
	maxEmphasis = 3_000
	// segmentSize is the approximate size of the parts that are parsed, in bytes. Hostile text takes quadratic time to
	// parse. Small parts limit that, and the context is checked between them.
	segmentSize = 32 << 10
	// maxSegment bounds a part, in bytes. A longer part without a place to cut is read as plain text.
	maxSegment = 8 * segmentSize
	// maxNesting bounds the quotes and lists that begin on one line.
	maxNesting = 50
)

// readMarkdown renders Markdown to HTML and reads that, so that HTML in the Markdown is read, too.
func readMarkdown(ctx context.Context, content []byte) (Text, error) {
	source, text, err := decode(content)
	if err != nil {
		return Text{}, err
	}
	for source != "" && !text.isFull() {
		if ctx.Err() != nil {
			return Text{}, ctx.Err()
		}
		segment := source[:segmentEnd(source)]
		source = source[len(segment):]
		var page bytes.Buffer
		if !isTame(segment) || markdown.Convert([]byte(segment), &page) != nil {
			text.addBlock(Block{Text: segment})
			continue
		}
		part, err := readHTML(ctx, page.Bytes(), "text/html; charset=utf-8", nil)
		if err != nil {
			return Text{}, err
		}
		text.append(part)
		if part.isFull() {
			return Text{}, part.fault()
		}
	}
	return text, nil
}

// segmentEnd returns the end of the first part of a text: an empty line outside of code, before an unindented line.
func segmentEnd(source string) int {
	at, fence, empty := 0, "", false
	for line := range strings.Lines(source) {
		if at >= segmentSize && empty && fence == "" && strings.Trim(line[:1], " \t\n") != "" {
			return at
		}
		trimmed := strings.TrimSpace(line)
		empty = trimmed == ""
		switch {
		case fence != "" && strings.HasPrefix(trimmed, fence):
			fence = ""
		case fence == "" && (strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")):
			fence = trimmed[:3]
		}
		at += len(line)
	}
	return len(source)
}

// isTame reports whether parsing takes time and memory in proportion to the text. The parser pads table rows to the
// longest.
func isTame(segment string) bool {
	lines, columns, emphasis := 0, 0, 0
	for line := range strings.Lines(segment) {
		lines++
		columns = max(columns, strings.Count(line, "|"))
		emphasis += runs(line)
		if nesting(line) > maxNesting || emphasis > maxEmphasis {
			return false
		}
	}
	return lines*columns <= 10_000+len(segment) && len(segment) <= maxSegment
}

// runs counts the runs of stars and underscores in a line after its first character. Underscores within words do not
// count.
func runs(line string) int {
	n := 0
	for i := 1; i < len(line); i++ {
		switch {
		case line[i] == line[i-1]:
		case line[i] == '*', line[i] == '_' && (!isWord(line[i-1]) || i+1 < len(line) && !isWord(line[i+1])):
			n++
		}
	}
	return n
}

func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c >= utf8.RuneSelf
}

// isNumbered reports whether a line begins with the number of a list item, such as "1. " or "12) ".
func isNumbered(line string) bool {
	rest := strings.TrimLeft(line, "0123456789")
	return len(rest) < len(line) && (strings.HasPrefix(rest, ". ") || strings.HasPrefix(rest, ") "))
}

// nesting counts the marks of quotes and list items at the beginning of a line.
func nesting(line string) int {
	n := 0
	for {
		line = strings.TrimLeft(line, " \t")
		switch {
		case strings.HasPrefix(line, ">"):
			line = line[1:]
		case isNumbered(line):
			_, line, _ = strings.Cut(line, " ")
		case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "* "), strings.HasPrefix(line, "+ "):
			line = line[2:]
		default:
			return n
		}
		n++
	}
}
