package engine

import "strings"

// maxResult bounds, in bytes, what is kept and handed back of one call.
const maxResult = 64 << 10

const cutMark = " … (the rest is cut off)"

// clean is a text without what Postgres cannot keep.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}

// clip is the beginning of a clean text, of at most so many characters.
func clip(text string, most int) string {
	if characters := []rune(clean(text)); len(characters) > most {
		return string(characters[:most])
	}
	return clean(text)
}

// cut is a clean text of at most so many bytes, which says so when it is shortened.
func cut(text string, most int) string {
	text = clean(text)
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(cutMark)], "") + cutMark
}
