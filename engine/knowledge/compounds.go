package knowledge

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/db"
)

const (
	// minPart is the minimum length of a word in a compound, and minCompound the minimum length of a compound, in letters.
	minPart, minCompound = 4, 9
	// minAlone is the minimum length of a word that matches a compound whose rest is unknown, in letters.
	minAlone = 6
	// maxCompound bounds a compound, in letters, and maxCompoundParts the number of its words.
	maxCompound, maxCompoundParts = 60, 4
	// maxCompounds bounds the compounds that match a word.
	maxCompounds = 100
	// maxLookups bounds the trials of splitting a compound, so that repetitive letters take no longer.
	maxLookups = 2_000
)

// links are letters between the words of a compound: Lieferung-s-zeit, Gruppe-n-raum.
var links = []string{"", "s", "n", "en", "es", "er", "e"}

func hasCompounds(languages []string) bool {
	return slices.Contains(languages, "de") || slices.Contains(languages, "nl")
}

// partsOf splits a compound, given by its terms, into the fewest words of the vocabularies, the first as long as
// possible. It returns nil if that fails.
func partsOf(known []*vocabulary, terms []string) []string {
	lookups := maxLookups
	for most := 2; most <= maxCompoundParts; most++ {
		for _, term := range terms {
			letters := []rune(term)
			if len(letters) < minCompound || len(letters) > maxCompound {
				continue
			}
			if parts := split(known, letters, most, &lookups); len(parts) > 1 {
				return parts
			}
		}
	}
	return nil
}

// splitCompounds replaces compounds with their words, except words that the question has anyway.
func splitCompounds(tokens []token, partsByCompound map[string][]string, words []db.Token) []token {
	whole := slices.DeleteFunc(slices.Clone(tokens), func(t token) bool { return partsByCompound[t.Word] != nil })
	for _, compound := range tokens {
		for _, part := range partsByCompound[compound.Word] {
			at := slices.IndexFunc(words, func(w db.Token) bool { return w.Word == part })
			if at < 0 || len(whole) == db.MaxSearchTokens ||
				slices.ContainsFunc(whole, func(t token) bool { return overlap(t.Terms, words[at].Terms) }) {
				continue
			}
			whole = append(whole, token{Token: words[at], letters: lettersWeight(words[at]), credit: 1})
		}
	}
	return whole
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(term string) bool { return slices.Contains(b, term) })
}

// split splits the letters into known words, at most as many as the limit. It returns nil if that fails.
func split(known []*vocabulary, letters []rune, limit int, lookups *int) []string {
	if knows(known, string(letters)) {
		return []string{string(letters)}
	}
	if limit == 1 {
		return nil
	}
	for end := len(letters) - minPart; end >= minPart; end-- {
		if *lookups--; *lookups < 0 {
			return nil
		}
		if !knows(known, string(letters[:end])) {
			continue
		}
		for _, link := range links {
			rest := letters[end:]
			if len(rest)-len(link) < minPart || !strings.HasPrefix(string(rest), link) {
				continue
			}
			if parts := split(known, rest[len(link):], limit-1, lookups); parts != nil {
				return append([]string{string(letters[:end])}, parts...)
			}
		}
	}
	return nil
}

// compoundsWith returns the compounds that begin or end with one of the terms, if isRest is true for the rest. It skips
// terms with fewer letters than least. credit is the smallest share that a term has of the letters of its compound.
func compoundsWith(known []*vocabulary, terms []string, least int,
	isRest func(rest string, isFirst bool) bool) (compounds []string, credit float64) {
	credit = 1
	for _, term := range terms {
		letters, letterBits := utf8.RuneCountInString(term), lettersOf(term)
		if letters < least {
			continue
		}
		for _, v := range known {
			for length := max(minCompound, letters+minPart); length <= maxCompound; length++ {
				for _, k := range v.words[length] {
					if k.letters&letterBits == letterBits && len(compounds) < maxCompounds && isCompound(k.text, term, isRest) {
						compounds, credit = append(compounds, k.text), min(credit, float64(letters)/float64(length))
					}
				}
			}
		}
	}
	slices.Sort(compounds)
	return slices.Compact(compounds), credit
}

// isCompound reports whether a word begins or ends with part, and isRest is true for the rest. isFirst says that the
// part comes first.
func isCompound(word, part string, isRest func(rest string, isFirst bool) bool) bool {
	if rest, isFirst := strings.CutPrefix(word, part); isFirst && isRest(rest, true) {
		return true
	}
	rest, isLast := strings.CutSuffix(word, part)
	return isLast && isRest(rest, false)
}

// compoundsOfKnown returns the compounds that consist of a term of a word and a known word.
func compoundsOfKnown(known []*vocabulary, terms []string) (compounds []string, credit float64) {
	return compoundsWith(known, terms, minPart, func(rest string, isFirst bool) bool {
		return slices.ContainsFunc(links, func(link string) bool {
			without, isLinked := strings.CutSuffix(rest, link)
			if isFirst {
				without, isLinked = strings.CutPrefix(rest, link)
			}
			return isLinked && utf8.RuneCountInString(without) >= minPart && knows(known, without)
		})
	})
}

// relatedTo returns the compounds that begin or end with a long word, whatever the rest is. If there are none, it
// returns the longest known word that the word ends with.
func relatedTo(known []*vocabulary, terms []string) (words []string, credit float64) {
	words, credit = compoundsWith(known, terms, minAlone, func(string, bool) bool { return true })
	if len(words) > 0 {
		return words, credit
	}
	longest := 0
	for _, term := range terms {
		letters := []rune(term)
		for start := minPart; len(letters) <= maxCompound && start <= len(letters)-max(minAlone, longest+1); start++ {
			if head := string(letters[start:]); knows(known, head) {
				longest, words, credit = len(letters)-start, []string{head}, float64(len(letters)-start)/float64(len(letters))
			}
		}
	}
	return words, credit
}

func knows(known []*vocabulary, word string) bool {
	length := utf8.RuneCountInString(word)
	return slices.ContainsFunc(known, func(v *vocabulary) bool {
		_, isKnown := slices.BinarySearchFunc(v.words[length], word,
			func(k knownWord, word string) int { return strings.Compare(k.text, word) })
		return isKnown
	})
}
