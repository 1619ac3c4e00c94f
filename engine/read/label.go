package read

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

// afterLabel matches the words between a label and its value, and the value: ": AB1 2CD", " number is 12", " Family
// Plus".
var afterLabel = lazyregexp.New(
	`^(?:(?: [\pL]+){0,3}(?::| (?i:is|est|called)\b)\s*((?:[“"«]\s*)?[^.,;\n!?”"»]{2,60})|\.? (\p{Lu}[\pL\pN'’-]+(?: \p{Lu}[\pL\pN'’-]+)*))`)

// Labelled finds the value after the first label that has one. A label is the word in upper or lower case, unless it is
// part of another word.
func Labelled(text, word string) (string, bool) {
	// No letter may follow a label, so it must end like a word.
	if !isWordByte(word[len(word)-1]) {
		return "", false
	}
	for at := range text {
		behind, isLabel := cutFolded(text[at:], word)
		if !isLabel || behind == "" || !strings.ContainsRune(" :.", rune(behind[0])) {
			continue
		}
		if before, _ := utf8.DecodeLastRuneInString(text[:at]); at > 0 && unicode.IsLetter(before) {
			continue
		}
		if m := afterLabel().FindStringSubmatch(behind); m != nil {
			return strings.Trim(m[1]+m[2], ` “"«`), true
		}
	}
	return "", false
}

func isWordByte(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z'
}

func cutFolded(text, prefix string) (string, bool) {
	for _, want := range prefix {
		is, size := utf8.DecodeRuneInString(text)
		if size == 0 || is != want && !strings.EqualFold(string(is), string(want)) {
			return text, false
		}
		text = text[size:]
	}
	return text, true
}
