package read

import (
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	// firstMark is the lowest character that may combine with the character before it in a text. Lower characters are
	// folded one by one.
	firstMark = '\u0300'
	// Punctuation and currency signs from firstSign to lastSign do not change.
	firstSign, lastSign = '\u2002', '\u20cf'
)

// ligatures are letters that many people type as others.
var ligatures = strings.NewReplacer("œ", "oe", "æ", "ae", "ß", "ss", "ø", "o", "ł", "l")

// foldedLetters has the folded form of each character below firstMark.
var foldedLetters = sync.OnceValue(func() *[firstMark]string {
	letters := &[firstMark]string{}
	for r := range firstMark {
		letters[r] = foldAny(string(r))
	}
	return letters
})

// Fold returns a text in lower case, without accents and ligatures, so that different spellings match.
func Fold(text string) string {
	at := strings.IndexFunc(text, func(r rune) bool { return r > unicode.MaxASCII })
	if at < 0 {
		return strings.ToLower(text)
	}
	var folded strings.Builder
	folded.Grow(len(text))
	letters := foldedLetters()
	for _, r := range text {
		switch {
		case r < firstMark:
			folded.WriteString(letters[r])
		case r >= firstSign && r <= lastSign:
			folded.WriteRune(r)
		default:
			return foldAny(text)
		}
	}
	return folded.String()
}

// foldAny is Fold for any script.
func foldAny(text string) string {
	var folded strings.Builder
	folded.Grow(len(text))
	for _, r := range norm.NFD.String(strings.ToLower(text)) {
		if !unicode.Is(unicode.Mn, r) {
			folded.WriteRune(r)
		}
	}
	return ligatures.Replace(folded.String())
}
