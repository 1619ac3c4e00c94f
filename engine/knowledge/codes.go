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

// code is a name or a number that is written in several ways, such as A-1234 and A1234, 06 12 34 56 and 06.12.34.56.
type code struct {
	// whole is the code without signs and blanks.
	whole string
	// parts are the words of the code as it stands.
	parts []string
}

const (
	// maxGroups and maxCode, in bytes, bound a code. A longer row of numbers is a table's.
	maxGroups, maxCode = 8, 34
	// shortest is the least length of a code of digits alone: 1/2 is not 12.
	shortest = 4
)

var (
	// signed finds groups of letters and digits that signs join, and spaced groups of digits that blanks join; the first
	// may have letters.
	signed = lazyregexp.New(`[\p{L}\p{N}]+(?:[-‐–.,/_][\p{L}\p{N}]+)+`)
	spaced = lazyregexp.New(`[\p{L}\p{N}]*\p{N}(?: \p{N}+)+`)
	// pointed is a number with decimals, a version or a list, unless grouped says that the points part thousands, or the
	// numbers of a date or a telephone.
	pointed = lazyregexp.New(`\p{N}\.\p{N}|,`)
	grouped = lazyregexp.New(`^\p{N}{1,3}(?:[.,]\p{N}{3})+$|^\p{N}+(?:\.\p{N}+){2,}$`)
	signs   = lazyregexp.New(`[-‐–.,/_ ]`)
)

// codesOf returns the codes of a text that are written with signs or blanks.
func codesOf(text string) []code {
	if !strings.ContainsFunc(text, unicode.IsNumber) {
		return nil
	}
	text = read.Fold(normal(text))
	var codes []code
	for _, found := range append(signed().FindAllString(text, -1), spaced().FindAllString(text, -1)...) {
		groups := signs().Split(found, -1)
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

// folded returns the words as they are compared.
func folded(words []model.Word) (texts []string) {
	for _, word := range words {
		texts = append(texts, word.Folded)
	}
	return texts
}

// joinCodes lets the parts of a question's codes be held by chunks that hold the code as a whole. Words are those of
// the question and the codes.
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
