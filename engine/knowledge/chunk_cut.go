package knowledge

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"github.com/clipperhouse/uax29/v2/sentences"
	"github.com/clipperhouse/uax29/v2/words"
	"github.com/tiktoken-go/tokenizer/codec"
)

// tokenizerOnce returns cl100k, the vocabulary of common embedding models. Its tables are part of the program.
var tokenizerOnce = sync.OnceValue(codec.NewCl100kBase)

// maxToken is the length of the longest token, in bytes.
const maxToken = 128

// cutter cuts text into pieces of at most limit tokens.
type cutter struct {
	// ctx ends the cutting early. Then some pieces are missing.
	ctx        context.Context
	tokens     *codec.Codec
	limit      int
	delimiters *regexp.Regexp
	pieces     []Piece
}

func (c *cutter) count(text string) int {
	n, err := c.tokens.Count(text)
	if err != nil {
		// The tokenizer has never failed so far. Few tokens are shorter than two bytes, so this estimate is rarely too low.
		return len(text)/2 + 1
	}
	return n
}

// delimiters matches the end of a unit: any character of the setting, or a text between back quotes in it.
func delimiters(setting string) *regexp.Regexp {
	var parts []string
	for setting != "" {
		_, size := utf8.DecodeRuneInString(setting)
		part, rest := setting[:size], setting[size:]
		if part == "`" {
			if quoted, after, closed := strings.Cut(rest, "`"); closed && quoted != "" {
				part, rest = quoted, after
			}
		}
		parts, setting = append(parts, regexp.QuoteMeta(part)), rest
	}
	if parts == nil {
		return regexp.MustCompile(`\n`)
	}
	slices.SortStableFunc(parts, func(a, b string) int { return len(b) - len(a) })
	return regexp.MustCompile(strings.Join(parts, "|"))
}

// cutAtDelimiters cuts text at the delimiters and merges the parts up to the limit.
func (c *cutter) cutAtDelimiters(text string) { c.pack(text, c.limit, c.addPiece) }

// keepTogether keeps text in one piece if possible. Every piece begins with the head.
func (c *cutter) keepTogether(head, text string) {
	if whole := head + "\n" + text; len(whole) <= maxWhole {
		c.addPiece(whole, c.count(whole))
	} else {
		c.cutUnderHeading(head, text, maxWhole)
	}
}

// cutUnderHeading cuts text into pieces that all begin with the head. The limit includes the tokens of the head. A head
// of more than half a piece is treated as text.
func (c *cutter) cutUnderHeading(head, text string, limit int) {
	if head == "" {
		c.pack(text, limit, c.addPiece)
		return
	}
	head += "\n"
	tokens := c.count(head)
	if tokens > limit/2 {
		c.pack(head+text, limit, c.addPiece)
		return
	}
	c.pack(text, limit-tokens, func(text string, more int) { c.addPiece(head+text, tokens+more) })
}

// addPiece appends a piece unless it is blank.
func (c *cutter) addPiece(text string, tokens int) {
	if text = strings.TrimSpace(text); text != "" {
		c.pieces = append(c.pieces, Piece{Content: text, Tokens: tokens})
	}
}

func (c *cutter) pack(text string, limit int, keep func(text string, tokens int)) {
	start, end, tokens := 0, 0, 0
	flush := func() {
		if strings.TrimSpace(text[start:end]) != "" {
			keep(text[start:end], tokens)
		}
		start, tokens = end, 0
	}
	c.units(text, limit, 0, func(unit string, more int) {
		if tokens+more > limit {
			flush()
		}
		end += len(unit)
		tokens += more
	})
	flush()
}

// units cuts text at delimiters. It cuts a part of more than limit tokens into sentences. Longer sentences are cut into
// words, and so on down to characters. The parts are adjacent and cover the text.
func (c *cutter) units(text string, limit, depth int, yield func(unit string, tokens int)) {
	for text != "" && c.ctx.Err() == nil {
		part := text[:c.endOfPart(text, depth)]
		text = text[len(part):]
		// Do not count the tokens of text that is certainly too long.
		tokens := limit + 1
		if len(part) <= limit*maxToken {
			tokens = c.count(part)
		}
		if tokens > limit && depth < ofRunes {
			c.units(part, limit, depth+1, yield)
		} else {
			yield(part, tokens)
		}
	}
}

const (
	ofDelimiters = iota
	ofSentences
	ofWords
	ofStretches
	ofGraphemes
	ofRunes
)

// maxStretch bounds a part of a very long word, in bytes.
const maxStretch = 32

// endOfPart returns where the first part of a text ends. depth is the kind of part, such as ofWords.
func (c *cutter) endOfPart(text string, depth int) int {
	switch depth {
	case ofDelimiters:
		if found := c.delimiters.FindStringIndex(text); found != nil {
			return found[1]
		}
		return len(text)
	case ofSentences:
		return first(sentences.FromString(text))
	case ofWords:
		// White space belongs to the word after it, as in tokens.
		blank := len(text) - len(strings.TrimLeftFunc(text, unicode.IsSpace))
		if blank == len(text) {
			return blank
		}
		return blank + first(words.FromString(text[blank:]))
	case ofStretches:
		size := 0
		for it := graphemes.FromString(text); it.Next(); size += len(it.Value()) {
			if size > 0 && size+len(it.Value()) > maxStretch {
				break
			}
		}
		return size
	case ofGraphemes:
		return first(graphemes.FromString(text))
	}
	_, size := utf8.DecodeRuneInString(text)
	return size
}

func first(it interface {
	Next() bool
	Value() string
}) int {
	it.Next()
	return len(it.Value())
}
