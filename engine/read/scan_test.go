package read

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzPlain requires that Plain returns the same as a regular expression.
func FuzzPlain(f *testing.F) {
	wordy := regexp.MustCompile(`[^\pL\pN:/.'-]+`)
	for _, seed := range []string{"", " ", "L’été, à 14:30 !", "  12/03 -- “x”\t\n½ ", "\xff a\xffb ", "a\u0301 ٣", "'",
		"...", "no. 5\u00a0€ "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want := strings.TrimSpace(wordy.ReplaceAllString(strings.ReplaceAll(Fold(text), "’", "'"), " "))
		require.Equal(t, want, Plain(text))
	})
}

// FuzzWishes requires that CutRefusals, which looks for a denial first, cuts the same parts as its regular expression.
func FuzzWishes(f *testing.F) {
	for _, seed := range []string{
		"I do not want it", "we don't need that, thanks", "it would rather not", "I'm not going to", "no longer interested",
		"never wanted", "je ne veux plus de colis",
		"n'ai aucun besoin", "pas besoin", "I won’t like it but I need this", "he didn't really wish; so",
		"je souhaite pas envie", "NOT INTERESTED!", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		folded := strings.ReplaceAll(Fold(text), "’", "'")
		want := turnedDown().ReplaceAllString(folded, " ")
		rest, some := CutRefusals(text)
		require.Equal(t, want, rest)
		require.Equal(t, want != folded, some)
	})
}
