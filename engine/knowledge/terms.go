package knowledge

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/kljensen/snowball/english"
	"github.com/kljensen/snowball/french"
)

// stopWeight is the weight of a word that says little: it decides between texts that are otherwise alike.
const stopWeight = 0.1

// Terms are the terms of a text, each with its weight. Two words are one term when they differ only in case, accents,
// or an ending that the language's stemmer takes off ("remboursé", "Remboursements"). The language is a BCP 47 tag;
// English and French are stemmed. A term weighs log2(1 + its word's letters), half as much again when it holds a digit,
// and 0.1 when it is a stop word of English or French: long words and numbers are rare, and rare words tell texts apart.
func Terms(text, language string) map[string]float64 {
	stem := stemmer(language)
	terms := map[string]float64{}
	// Folding first makes what is typed without accents the same term.
	folded := ligatures.Replace(fold(text))
	for it := words.FromString(folded); it.Next(); {
		word := strip(it.Value())
		if first, _ := utf8.DecodeRuneInString(word); !unicode.IsLetter(first) && !unicode.IsDigit(first) {
			continue
		}
		if isStopWord(word) {
			terms[word] = max(terms[word], stopWeight)
			continue
		}
		term := stem(word)
		terms[term] = max(terms[term], weight(word))
	}
	return terms
}

func weight(word string) float64 {
	w := math.Log2(1 + float64(utf8.RuneCountInString(word)))
	if strings.ContainsFunc(word, unicode.IsDigit) {
		w *= 1.5
	}
	return w
}

var ligatures = strings.NewReplacer("œ", "oe", "æ", "ae", "ß", "ss", "ø", "o", "ł", "l", "’", "'", "ʼ", "'")

// strip takes off what is joined to a word by an apostrophe: l'article, qu'il, customer's.
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

type stemKey struct{ language, word string }

// stems remembers stems: a text's words recur, and stemming takes far longer than looking them up.
var stems, _ = lru.New[stemKey, string](1 << 16)

func stemmer(language string) func(word string) string {
	base, _, _ := strings.Cut(strings.ToLower(language), "-")
	var stem func(string, bool) string
	switch base {
	case "en":
		stem = english.Stem
	case "fr":
		stem = stemFrench
	default:
		return func(word string) string { return word }
	}
	return func(word string) string {
		// What holds a figure is a name, and has no endings.
		if len(word) < 3 || len(word) > 40 || strings.ContainsFunc(word, unicode.IsDigit) {
			return word
		}
		key := stemKey{base, word}
		if known, ok := stems.Get(key); ok {
			return known
		}
		// The key must not keep the whole text in memory.
		key.word = strings.Clone(word)
		stemmed := stem(key.word, true)
		stems.Add(key, stemmed)
		return stemmed
	}
}

// stemFrench stems a word without accents: the library finds "é" and "ée" by theirs.
func stemFrench(word string, stopWords bool) string {
	if bare := strings.TrimSuffix(word, "s"); strings.HasSuffix(bare, "ee") {
		word = strings.TrimSuffix(bare, "e")
	}
	return french.Stem(word, stopWords)
}

// isStopWord knows the words of the libraries' lists, folded, and a few that they lack.
func isStopWord(word string) bool {
	switch word {
	case "les", "quel", "quelle", "quels", "quelles", "comment", "si", "cette", "cet", "ils", "elles", "ca",
		"etre", "meme", "ete", "etes", "etais", "etait", "etions", "etiez", "etaient", "etant", "eumes", "futes", "fumes":
		return true
	}
	return english.IsStopWord(word) || french.IsStopWord(word)
}
