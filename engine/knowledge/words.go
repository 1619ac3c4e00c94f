package knowledge

import (
	"slices"
	"strings"
	"unicode"

	"github.com/clipperhouse/uax29/v2/words"
	"golang.org/x/text/unicode/norm"

	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/model"
)

// maxWord bounds a word, in bytes. Postgres cannot index much longer words.
const maxWord = 200

// wordsOf returns the distinct words of allWordsOf.
func wordsOf(text string) []model.Word {
	seen := map[model.Word]bool{}
	return slices.DeleteFunc(allWordsOf(text), func(word model.Word) bool {
		again := seen[word]
		seen[word] = true
		return again
	})
}

// allWordsOf returns the words of a text in order, from which Postgres makes terms. They are in lower case, without
// elisions, and Postgres's parser does not split them further.
func allWordsOf(text string) []model.Word {
	all := []model.Word{}
	for it := words.FromString(normal(text)); it.Next(); {
		for _, written := range parts(strip(it.Value())) {
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
	return all
}

// normal returns a text in lower case, with normalized characters and apostrophes.
func normal(text string) string {
	return norm.NFKC.String(apostrophes.Replace(strings.ToLower(marks.Replace(text))))
}

// marks are signs after words that normalization would turn into letters.
var marks = strings.NewReplacer("™", " ", "℠", " ")

var apostrophes = strings.NewReplacer("’", "'", "ʼ", "'")

// strip removes a part joined by an apostrophe: l'article, qu'il, customer's.
func strip(word string) string {
	before, after, joined := strings.Cut(word, "'")
	if !joined {
		return word
	}
	switch before {
	case "l", "d", "j", "n", "s", "t", "m", "c", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu", "presqu":
		return strip(after)
	}
	return strings.TrimSuffix(word, "'s")
}

// parts splits a word at characters that are neither letters nor digits. Decimals with a point or a comma stay whole.
func parts(word string) []string {
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
