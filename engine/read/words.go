package read

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// weak lists verbs in the names of all kinds of tools, and common words of descriptions. They alone do not distinguish
// tools. empty words have no information at all.
var (
	weak  = Set(`open find get list send check make create set run add show update fetch search issue ask new request record`)
	empty = Set(`call use offer say answer wait caller visitor customer contact passenger person people
		needed until first last right before after again question would other name number day full text delegate agent
		problem thing way please moi faut appelle avant apres autre toute toutes personne client cliente demande propose
		patient patients see next week year month today tomorrow prochaine prochain semaine demain want wanted veux
		kind any normal one second third never ever anything something there mean means way works work doesn isn won come comes nothing rien`)
)

// IsEmpty reports whether a word has no information about the subject of a text.
func IsEmpty(word string) bool { return empty[word] }

// IsWeak reports whether a word alone is too common to distinguish tasks.
func IsWeak(word string) bool { return weak[word] }

// ContainsForm reports whether one of the words is a form of the word.
func ContainsForm(words []string, word string) bool {
	return slices.ContainsFunc(words, func(other string) bool { return AreForms(word, other) })
}

// AreForms reports whether two words are forms of one word, such as "delivery" and "deliveries". They share at least
// the first four bytes. The shorter word has at most one byte after the shared ones.
func AreForms(one, other string) bool {
	if one == other {
		return true
	}
	common := 0
	for common < min(len(one), len(other)) && one[common] == other[common] {
		common++
	}
	return common >= 4 && min(len(one), len(other))-common <= 1
}

// NameWords splits a technical name into words in lower case. "trackingNumber" and "tracking_number" give the same
// words.
func NameWords(name string) []string {
	var spaced strings.Builder
	small := false
	for _, r := range norm.NFC.String(name) { // a combining accent would split a word
		if unicode.IsUpper(r) && small {
			spaced.WriteByte(' ')
		}
		small = unicode.IsLower(r) || unicode.IsDigit(r)
		spaced.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(spaced.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// fillers may accompany a greeting or thanks. They are not subjects.
var fillers = Set(`there madame monsieur mr mrs ms sir madam everyone much lot beaucoup infiniment great
		perfect parfait super allo well help aide speaking indeed info day today aujourd hui jour actually finalement hmm huh ugh lol idk dunno whatever euh bof thx cheers`)

// Set returns the set of words in a text, which white space separates.
func Set(words string) map[string]bool {
	members := map[string]bool{}
	for _, word := range strings.Fields(words) {
		members[word] = true
	}
	return members
}

// Words splits a text into folded words: runs of letters and digits.
func Words(text string) []string {
	return strings.FieldsFunc(Fold(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// IsSmall reports whether a word is a small word of English or French, such as "at", which has no subject.
func IsSmall(word string) bool {
	word = Fold(word)
	return englishWords[word] || frenchWords[word] || shared[word]
}

// Content returns the distinct subject words of a message: words of three bytes or more, without small words and
// fillers.
func Content(said []string) []string {
	var content []string
	for _, word := range said {
		small := englishWords[word] || frenchWords[word] || shared[word] || fillers[word]
		if len(word) >= 3 && !small && !slices.Contains(content, word) {
			content = append(content, word)
		}
	}
	return content
}
