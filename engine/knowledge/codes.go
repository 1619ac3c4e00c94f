package knowledge

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// code is a name or number with several spellings, such as A-1234 and A1234, or 06 12 34 56 and 06.12.34.56.
type code struct {
	// whole has the code without separators.
	whole string
	// parts are the words of the code as spelled.
	parts []string
}

const (
	// maxGroups bounds the groups of a code, and maxCode its length without separators, in bytes. A longer row of numbers
	// belongs to a table.
	maxGroups, maxCode = 8, 34
	// shortest is the minimum number of digits in a code without letters. This minimum keeps 1/2 from matching 12.
	shortest = 4
)

var (
	// joined finds groups of letters and digits joined by separators. spaced finds groups of digits joined by blanks; the
	// first group may have letters.
	joined = lazyregexp.New(`[\p{L}\p{N}]+(?:[-‐–.,/_][\p{L}\p{N}]+)+`)
	spaced = lazyregexp.New(`[\p{L}\p{N}]*\p{N}(?: \p{N}+)+`)
	// pointed finds a number with decimals, a version or a list. Such a text is not a code, unless grouped matches it as
	// well. grouped matches numbers with thousands separators, and dates or telephone numbers with points.
	pointed    = lazyregexp.New(`\p{N}\.\p{N}|,`)
	grouped    = lazyregexp.New(`^\p{N}{1,3}(?:[.,]\p{N}{3})+$|^\p{N}+(?:\.\p{N}+){2,}$`)
	separators = lazyregexp.New(`[-‐–.,/_ ]`)
)

// codesOf returns the codes of a text that are spelled with separators.
func codesOf(text string) []code {
	if !strings.ContainsFunc(text, unicode.IsNumber) {
		return nil
	}
	text = read.Fold(normal(text))
	var codes []code
	for _, found := range append(joined().FindAllString(text, -1), spaced().FindAllString(text, -1)...) {
		groups := separators().Split(found, -1)
		whole := strings.Join(groups, "")
		if len(groups) > maxGroups || len(whole) > maxCode || !strings.ContainsFunc(whole, unicode.IsNumber) {
			continue
		}
		isNumber := !strings.ContainsFunc(whole, unicode.IsLetter)
		if isNumber && utf8.RuneCountInString(whole) < shortest || pointed().MatchString(found) && !grouped().
			MatchString(found) {
			continue
		}
		if slices.Equal(wordsOf(whole), []model.Word{{Folded: whole}}) {
			codes = append(codes, code{whole, folded(wordsOf(found))})
		}
	}
	return codes
}

func wholes(codes []code) (words []model.Word) {
	for _, c := range codes {
		words = append(words, model.Word{Folded: c.whole})
	}
	return words
}

// folded returns the words in the form for comparisons.
func folded(words []model.Word) (texts []string) {
	for _, word := range words {
		texts = append(texts, word.Folded)
	}
	return texts
}

// joinCodes makes a question that spells a code in parts (A-1234) also match chunks that spell it as one word (A1234).
// words are the words of the question and the codes.
func joinCodes(tokens []token, codes []code, words []db.Token) {
	for _, c := range codes {
		at := slices.IndexFunc(words, func(w db.Token) bool { return w.Word == c.whole && w.Chunks > 0 })
		if at < 0 {
			continue
		}
		for i := range tokens {
			if t := &tokens[i]; slices.Contains(c.parts, t.Word) {
				t.Terms = model.Unique(slices.Concat(t.Terms, words[at].Terms))
				t.Chunks = max(t.Chunks, words[at].Chunks)
			}
		}
	}
}
