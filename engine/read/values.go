package read

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

var (
	email       = lazyregexp.New(`[\pL\pN._%+-]+@[\pL\pN-]+(?:\.[\pL\pN-]+)+`)
	phoneNumber = lazyregexp.New(`\+?\(?\d[\d ().-]{6,18}\d`)
	webAddress  = lazyregexp.New(`https?://[^\s<>"]+`)
	postcode    = lazyregexp.New(`(?i)\b[a-z]{1,2}\d[a-z\d]? ?\d[a-z]{2}\b|\b\d{4,5}\b`)
	numeral     = lazyregexp.New(`\d+(?:[.,]\d+)?`)
	// separators separate the items of a list.
	separators = lazyregexp.New(`\s*(?:,|;|\n|\s(?:and|et|&)\s)\s*`)
	// whichever lists answers that accept any choice.
	whichever = Set(`any whatever whichever unsure egal importe peu either`)
	// ordinals are words that choose from a list by position.
	ordinals = []map[string]bool{
		Set("1 first premier premiere earliest"), Set("2 second deuxieme seconde"), Set("3 third troisieme"),
		Set("4 fourth quatrieme"), Set("5 fifth cinquieme"),
	}
	counts = func() map[string]float64 {
		numbers := map[string]float64{}
		for _, words := range []string{
			"zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen " +
				"seventeen eighteen nineteen",
			"zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize",
		} {
			for i, word := range strings.Fields(words) {
				numbers[word] = float64(i)
			}
		}
		for _, words := range []string{
			"twenty thirty forty fifty sixty seventy eighty ninety", "vingt trente quarante cinquante soixante",
		} {
			for i, word := range strings.Fields(words) {
				numbers[word] = float64(10 * (i + 2))
				for _, unit := range strings.Fields("one two three four five six seven eight nine") {
					numbers[word+"-"+unit] = numbers[word] + numbers[unit]
				}
			}
		}
		numbers["une"] = 1
		return numbers
	}()
)

// Email returns the first e-mail address of a text, or "".
func Email(text string) string { return email().FindString(text) }

// WebAddress returns the first http:// or https:// address of a text, or "".
func WebAddress(text string) string { return webAddress().FindString(text) }

// Postcodes returns the words of a text with the form of a British postcode, or of four or five digits.
func Postcodes(text string) []string { return postcode().FindAllString(text, -1) }

// Phone returns the first telephone number with at least eight digits: its digits, and its "+" if it has one.
func Phone(text string) (string, bool) {
	for _, found := range phoneNumber().FindAllString(isoDate().ReplaceAllString(text, " "), -1) {
		digits := strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) || r == '+' {
				return r
			}
			return -1
		}, found)
		if len(strings.TrimPrefix(digits, "+")) >= 8 {
			return digits, true
		}
	}
	return "", false
}

// HasDigits reports whether a text has a digit.
func HasDigits(text string) bool { return numeral().MatchString(text) }

// Number reads a folded word as a number: digits, with or without a currency, or a word such as "fifteen" or "forty".
// "14:30" and "MW417" are not numbers.
func Number(word string) (float64, bool) {
	if value, ok := counts[word]; ok {
		return value, true
	}
	digits := numeral().FindString(word)
	before, after, _ := strings.Cut(word, digits)
	if rest := before + after; digits == "" || strings.ContainsFunc(before, unicode.IsLetter) ||
		strings.ContainsAny(rest, "0123456789:/-") || len(rest) > 3 {
		return 0, false
	}
	value, err := strconv.ParseFloat(strings.ReplaceAll(digits, ",", "."), 64)
	return value, err == nil
}

// OrdinalIndex returns the index that words such as "first" or "2" choose in a list of this length, or -1.
func OrdinalIndex(words []string, length int) int {
	isLast := func(word string) bool { return word == "last" || word == "dernier" || word == "derniere" }
	if slices.ContainsFunc(words, isLast) {
		return length - 1
	}
	for i, place := range ordinals[:min(len(ordinals), length)] {
		if slices.ContainsFunc(words, func(word string) bool { return place[word] }) {
			return i
		}
	}
	return -1
}

// LeavesOpen reports whether a folded word leaves a choice to others.
func LeavesOpen(word string) bool { return whichever[word] }

// Items returns the parts of a list with commas, semicolons or "and".
func Items(text string) []string { return separators().Split(text, -1) }

// ShapeOf writes every letter as A and every digit as 9.
func ShapeOf(code string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r):
			return 'A'
		case unicode.IsDigit(r):
			return '9'
		}
		return r
	}, code)
}
