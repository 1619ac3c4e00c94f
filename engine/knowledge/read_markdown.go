package knowledge

import (
	"bytes"
	"context"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
)

// Line ends within a paragraph are kept: question and answer often stand on two lines of one.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table),
	goldmark.WithRendererOptions(html.WithHardWraps(), html.WithUnsafe()),
)

const (
	// segmentSize is about how much Markdown is parsed at once, in bytes. Parsing takes the square of what hostile text
	// has: small parts keep that small, and let the context end it between them.
	segmentSize = 32 << 10
	// maxSegment is the longest part, in bytes; what has no place to part it is read as plain text.
	maxSegment = 8 * segmentSize
	// maxNesting bounds how many quotes and lists begin on one line.
	maxNesting = 50
)

// readMarkdown renders Markdown and reads the HTML, so that HTML within it is read as well.
func readMarkdown(ctx context.Context, content []byte) (Text, error) {
	source, err := decode(content)
	if err != nil {
		return Text{}, err
	}
	var text Text
	for source != "" && !text.full() {
		if ctx.Err() != nil {
			return Text{}, ctx.Err()
		}
		segment := source[:segmentEnd(source)]
		source = source[len(segment):]
		var page bytes.Buffer
		if !isTame(segment) || markdown.Convert([]byte(segment), &page) != nil {
			text.add(Block{Text: segment})
			continue
		}
		part, err := readHTML(ctx, page.Bytes(), "text/html; charset=utf-8")
		if err != nil {
			return Text{}, err
		}
		text.Blocks = append(text.Blocks, part.Blocks...)
		text.size += part.size
	}
	return text, nil
}

// segmentEnd is where the first part of a text ends: at an empty line, outside of code, that no indented line follows.
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
		case fence == "" && strings.HasPrefix(trimmed, "```"):
			fence = "```"
		case fence == "" && strings.HasPrefix(trimmed, "~~~"):
			fence = "~~~"
		}
		at += len(line)
	}
	return len(source)
}

// isTame reports whether parsing takes time and memory in keeping with the text's length. Rows of a table are filled up
// to the longest.
func isTame(segment string) bool {
	lines, columns := 0, 0
	for line := range strings.Lines(segment) {
		lines++
		columns = max(columns, strings.Count(line, "|"))
		if nesting(line) > maxNesting {
			return false
		}
	}
	return lines*columns <= 10_000+len(segment) && len(segment) <= maxSegment
}

// nesting counts the marks of quotes and list entries that a line begins with.
func nesting(line string) int {
	n := 0
	for {
		line = strings.TrimLeft(line, " \t")
		switch {
		case strings.HasPrefix(line, ">"):
			line = line[1:]
		case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "* "), strings.HasPrefix(line, "+ "):
			line = line[2:]
		default:
			return n
		}
		n++
	}
}
