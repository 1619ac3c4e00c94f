package knowledge

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agentgraph/agentgraph/model"
)

// Piece is a chunk of a document.
type Piece struct {
	Content string
	// Tokens is the approximate number of tokens in Content.
	Tokens int
}

const (
	// maxWhole bounds pieces that ignore the dataset's limit, such as a row or a question with its answer, in tokens.
	// It is the highest chunkTokenNum.
	maxWhole = 2048
	// maxDocument bounds a piece that is a whole document, in bytes. Postgres cannot index much longer texts.
	maxDocument = 256 << 10
)

// Chunk cuts a text by one of model.ChunkMethods, in reading order. The note tells the document's owner where the
// method could not be followed; it may be empty. Chunk returns only ctx's error.
func Chunk(ctx context.Context, text Text, method string,
	config model.ParserConfig) (pieces []Piece, note string, err error) {
	c := &cutter{ctx: ctx, tokens: tokenizerOnce(), limit: int(config.ChunkTokenNum),
		delimiters: delimiters(config.Delimiter)}
	switch method {
	case "naive":
		c.cutAtDelimiters(text.String())
	case "one":
		note = c.one(text.String())
	case "qa":
		note = c.cutPairs(text)
	case "table":
		note = c.table(text)
	case "manual", "book", "laws", "paper":
		note = c.sections(text, method)
	default:
		c.cutAtDelimiters(text.String())
		note = fmt.Sprintf("The chunk method %s is not available; the document was split by the method naive.", method)
	}
	return c.pieces, note, ctx.Err()
}

func (c *cutter) one(whole string) string {
	if len(whole) <= maxDocument {
		c.addPiece(whole, c.count(whole))
		return ""
	}
	c.limit = maxWhole
	c.cutAtDelimiters(whole)
	return fmt.Sprintf("The document has more than %d KiB of text, too much for one chunk; it was split by the method "+
		"naive.", maxDocument>>10)
}

func (c *cutter) table(text Text) string {
	blocks, rows := asRows(text)
	if rows == 0 {
		c.cutAtDelimiters(text.String())
		return "The document contains no table; it was split by the method naive."
	}
	var between strings.Builder
	for _, b := range blocks {
		if b.Kind != Row {
			between.WriteString(b.String() + "\n")
			continue
		}
		c.cutAtDelimiters(between.String())
		between.Reset()
		c.keepTogether("", b.String())
	}
	c.cutAtDelimiters(between.String())
	return ""
}

var errNoTable = errors.New("no table")

// asRows returns the blocks of a text and the number of rows among them. If a text without rows has the form of a
// table, such as a pasted one, asRows returns the rows of that table.
func asRows(text Text) ([]Block, int) {
	rows := 0
	var lines strings.Builder
	for _, b := range text.Blocks {
		switch b.Kind {
		case Row:
			rows++
		case Paragraph:
			lines.WriteString(b.Text + "\n")
		}
	}
	if rows > 0 || lines.Len() == 0 {
		return text.Blocks, rows
	}
	table := Text{limit: text.limit}
	var header []string
	if err := parseCSV(lines.String(), func(record []string) error {
		if header == nil {
			header = record
			tidy(header)
		} else {
			table.addRow(header, record)
		}
		if len(header) < 2 || len(record) != len(header) || table.isFull() {
			return errNoTable
		}
		return nil
	}); err != nil || len(table.Blocks) == 0 {
		return text.Blocks, 0
	}
	return table.Blocks, len(table.Blocks)
}
