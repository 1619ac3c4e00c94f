package knowledge

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// fold returns a text in lower case and without accents, so that what people type finds what is written.
func fold(text string) string {
	var folded strings.Builder
	folded.Grow(len(text))
	for _, r := range norm.NFKD.String(strings.ToLower(text)) {
		if !unicode.Is(unicode.Mn, r) {
			folded.WriteRune(r)
		}
	}
	return folded.String()
}
