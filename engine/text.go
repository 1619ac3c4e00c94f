package engine

import "strings"

// cutMark is at the end of a text that was cut.
const cutMark = " … (the rest is cut off)"

// clean removes what Postgres cannot store.
func clean(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}

// clip cleans a text and cuts off what is beyond most characters.
func clip(text string, most int) string {
	if characters := []rune(clean(text)); len(characters) > most {
		return string(characters[:most])
	}
	return clean(text)
}

// cut cleans a text. If it has more than most bytes, the text is shortened to these and says so at its end.
func cut(text string, most int) string {
	text = clean(text)
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(cutMark)], "") + cutMark
}
