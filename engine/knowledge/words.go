package knowledge

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/unicode/norm"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// maxWord bounds a word, in bytes. Postgres cannot index much longer words.
const maxWord = 200

// wordsOf returns the distinct words of allWordsOf.
func wordsOf(text string) []model.Word {
	return model.Unique(allWordsOf(text))
}

// allWordsOf returns the words of a text in order, from which Postgres makes terms. They are in lower case, without
// elisions, and Postgres's parser does not split them further. Scripts without spaces give overlapping pairs of
// characters, with their marks.
func allWordsOf(text string) []model.Word {
	all := []model.Word{}
	var run []rune
	for it := words.FromString(normal(text)); it.Next(); {
		if first, _ := utf8.DecodeRuneInString(it.Value()); isUnspaced(first) {
			run = append(run, []rune(it.Value())...)
			continue
		}
		all, run = append(all, bigrams(run)...), run[:0]
		for _, written := range splitWord(strip(it.Value())) {
			if len(written) > maxWord {
				written = strings.ToValidUTF8(written[:maxWord], "")
			}
			word := model.Word{Folded: read.Fold(written), Written: written}
			if word.Written == word.Folded {
				word.Written = ""
			}
			if word.Folded != "" {
				all = append(all, word)
			}
		}
	}
	return append(all, bigrams(run)...)
}

// isUnspaced reports whether a character belongs to a script that does not separate words.
func isUnspaced(r rune) bool {
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar)
}

// bigrams returns the overlapping pairs of a run of characters, or its only character.
func bigrams(run []rune) []model.Word {
	if len(run) == 1 {
		return []model.Word{{Folded: string(run)}}
	}
	words := make([]model.Word, max(len(run)-1, 0))
	for i := range words {
		words[i].Folded = string(run[i : i+2])
	}
	return words
}

// charactersOf returns the distinct letters of a text in scripts without spaces. They let a chunk match questions of
// one letter.
func charactersOf(text string) (characters []model.Word) {
	for _, r := range normal(text) {
		if isUnspaced(r) && unicode.IsLetter(r) {
			characters = append(characters, model.Word{Folded: string(r)})
		}
	}
	return model.Unique(characters)
}

// normal returns a text in lower case, with normalized characters and apostrophes.
func normal(text string) string {
	return norm.NFKC.String(apostrophes.Replace(strings.ToLower(marks.Replace(text))))
}

// marks are symbols after words that normalization would turn into letters.
var marks = strings.NewReplacer("™", " ", "℠", " ")

var apostrophes = strings.NewReplacer("’", "'", "ʼ", "'")

// turkishSuffixes are the suffixes of a Turkish name after an apostrophe, folded.
var turkishSuffixes = lazyregexp.New(`^(?:l[ae]r|[yn]?[aeıiu]|s[ıiu]|n?[ıiu]n|n?[dt][ae]n?|y?l[ae]|[dt][ıiu]r|ki` +
	`|l[ıiu]k?|s[ıiu]z|c[aeıiu]|y?[dm][ıiu]s?|y?[ıiu]m|[ıiu][mn][ıiu]z)+$`)

// strip removes a part joined by an apostrophe: l'article, qu'il, customer's, Kadıköy'dedir.
func strip(word string) string {
	before, after, joined := strings.Cut(word, "'")
	if !joined {
		return word
	}
	switch before {
	case "l", "d", "j", "n", "s", "t", "m", "c", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu", "presqu":
		return strip(after)
	case "dell", "all", "nell", "sull", "dall", "quell", "quest", "un":
		return word
	}
	if len(before) > 1 && turkishSuffixes().MatchString(read.Fold(after)) {
		return before
	}
	return strings.TrimSuffix(word, "'s")
}

// splitWord splits a word at characters that are neither letters nor digits. Decimals with a point or a comma stay
// whole.
func splitWord(word string) []string {
	if strings.Trim(word, "0123456789.,") == "" {
		return strings.Fields(strings.Trim(strings.ReplaceAll(word, ",", "."), "."))
	}
	return strings.FieldsFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
}

// isStopWord recognizes French stop words that Postgres does not: those with accents in its list, and a few that it
// lacks.
func isStopWord(word string) bool {
	switch word {
	case "les", "quel", "quelle", "quels", "quelles", "comment", "si", "cette", "cet", "ils", "elles", "ca", "etre",
		"meme",
		"ete", "etee", "etes", "etees", "etant", "etante", "etants", "etantes", "etais", "etait", "etions", "etiez",
		"etaient",
		"fumes", "futes", "eumes", "eutes":
		return true
	}
	return false
}
