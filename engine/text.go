package engine

import "strings"

// maxResult bounds what is stored and returned of one call, in bytes.
const maxResult = 64 << 10

const cutMark = " … (the rest is cut off)"

// clean removes what Postgres cannot store.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}

// clip returns the beginning of a clean text, at most so many characters long.
func clip(text string, most int) string {
	if characters := []rune(clean(text)); len(characters) > most {
		return string(characters[:most])
	}
	return clean(text)
}

// cut returns a clean text of at most so many bytes, which says so if it is shortened.
func cut(text string, most int) string {
	text = clean(text)
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(cutMark)], "") + cutMark
}
