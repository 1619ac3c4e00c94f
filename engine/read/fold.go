package read

import (
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

const (
	// firstMark is the first letter that may change the one before it. All letters before it are folded one by one.
	firstMark = '\u0300'
	// Punctuation and currency signs are folded one by one too, and do not change.
	firstSign, lastSign = '\u2002', '\u20cf'
)

// ligatures are written as two letters.
var ligatures = strings.NewReplacer("œ", "oe", "Œ", "oe", "æ", "ae", "Æ", "ae")

// foldedLetters has the folded form of each letter before firstMark.
var foldedLetters = sync.OnceValue(func() *[firstMark]string {
	letters := &[firstMark]string{}
	accents := withoutAccents()
	for r := range firstMark {
		letters[r] = foldBy(accents, string(r))
	}
	return letters
})

// Fold returns a text in lower case without accents.
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

// foldAny is Fold for letters of any script.
func foldAny(text string) string { return foldBy(withoutAccents(), text) }

// withoutAccents returns a transformer that removes accents. It keeps state, so each text that may be folded at the same time as
// others needs its own; to make one takes longer than to fold a word.
func withoutAccents() transform.Transformer {
	return transform.Chain(norm.NFD, runes.Remove(runes.In(unicode.Mn)), norm.NFC)
}

func foldBy(accents transform.Transformer, text string) string {
	text = ligatures.Replace(text)
	folded, _, err := transform.String(accents, text)
	if err != nil {
		folded = text // invalid text matches nothing as it is
	}
	return strings.ToLower(folded)
}
