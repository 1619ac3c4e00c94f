package knowledge

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	markdownhtml "github.com/yuin/goldmark/renderer/html"
)

// Line ends within a paragraph are kept: question and answer often stand on two lines of one.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table),
	goldmark.WithRendererOptions(markdownhtml.WithHardWraps(), markdownhtml.WithUnsafe()),
)

// maxNesting bounds how many quotes or lists stand in each other in Markdown: parsing takes the square of it.
const maxNesting = 100

// readMarkdown renders Markdown and reads the HTML, so that HTML within it is read as well.
func readMarkdown(_ context.Context, content []byte) (Text, error) {
	source, err := decode(content)
	if err != nil {
		return Text{}, err
	}
	for line := range strings.Lines(source) {
		if nesting(line) > maxNesting {
			return Text{}, unreadable("the Markdown is nested more than 100 levels deep")
		}
	}
	page := bounded{most: maxText}
	if err := markdown.Convert([]byte(source), &page); errors.Is(err, errFull) {
		return Text{size: maxText + 1}, nil
	} else if err != nil {
		return Text{}, unreadable("the Markdown cannot be read")
	}
	return readHTML(page.Bytes(), "text/html; charset=utf-8")
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

var errFull = errors.New("full")

// bounded is a buffer that refuses to grow beyond a number of bytes.
type bounded struct {
	bytes.Buffer
	most int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, errFull
	}
	return b.Buffer.Write(p)
}
