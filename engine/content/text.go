package content

import "strings"

// CutMark ends a text that was cut.
const CutMark = " … (the rest is cut off)"

// Clean removes NUL characters and replaces invalid UTF-8, because Postgres cannot store them.
func Clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}

// Clip cleans a text and shortens it to at most the given number of characters.
func Clip(text string, maxCharacters int) string {
	if characters := []rune(Clean(text)); len(characters) > maxCharacters {
		return string(characters[:maxCharacters])
	}
	return Clean(text)
}

// Cut cleans a text. If it has more than maxBytes bytes, Cut shortens it to that limit, including CutMark at its end.
func Cut(text string, maxBytes int) string {
	text = Clean(text)
	if len(text) <= maxBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxBytes-len(CutMark)], "") + CutMark
}
