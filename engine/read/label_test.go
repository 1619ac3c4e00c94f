package read

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzLabels requires that a label's value equals the match of a regular expression.
func FuzzLabels(f *testing.F) {
	for _, word := range []string{"postcode", "plan", "numéro", "qualité", "ask", "kiss", "ΣΑΣ", "a1_"} {
		for _, text := range []string{
			word + ": AB1 2CD", "my " + word + " is Blue", "the " + strings.ToUpper(word) + " Family Plus.", word + word +
				" Red", "é" + word + ": no. " + word + " of mine called “that”",
			"x. " + word + ". Two Three", "aſk: it", "aSK it is not the \u212aiſs: yes", word + " is\n" + word + " est 12",
			"\xff" + word + "\xff: 1", word + "s: 12", word,
		} {
			f.Add(text, word)
		}
	}
	f.Fuzz(func(t *testing.T, text, word string) {
		words := NameWords(word)
		if len(words) == 0 {
			return
		}
		word = words[0]
		label := regexp.MustCompile(`(?:^|[^\pL])(?i:` + regexp.QuoteMeta(word) +
			`)\b(?:(?: [\pL]+){0,3}(?::| (?i:is|est|called)\b)\s*((?:[“"«]\s*)?[^.,;\n!?”"»]{2,60})|\.? (\p{Lu}[\pL\pN'’-]+(?: \p{Lu}[\pL\pN'’-]+)*))`)
		want, isFound := "", false
		if m := label.FindStringSubmatch(text); m != nil {
			want, isFound = strings.Trim(m[1]+m[2], ` “"«`), true
		}
		value, ok := Labelled(text, word)
		require.Equal(t, isFound, ok)
		require.Equal(t, want, value)
	})
}
