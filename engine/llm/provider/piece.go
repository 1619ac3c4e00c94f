package provider

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// piece is a piece of a text in an event. Some servers split texts between the halves of a surrogate pair. A piece
// keeps a half at its start or end, in the three bytes that UTF-8 would use for it. join then makes the pair whole.
type piece string

// lost is what encoding/json decodes a half to.
const lost = string(utf8.RuneError)

// UnmarshalJSON decodes a string. It ignores other values, as decode does.
func (p *piece) UnmarshalJSON(data []byte) error {
	var text string
	_ = json.Unmarshal(data, &text)
	if strings.HasPrefix(text, lost) {
		if low := unitAt(data, 1); low >= 0xDC00 && low < 0xE000 {
			text = bytesOf(low) + text[len(lost):]
		}
	}
	if strings.HasSuffix(text, lost) {
		if high := unitAt(data, len(data)-7); isHigh(high) {
			text = text[:len(text)-len(lost)] + bytesOf(high)
		}
	}
	*p = piece(text)
	return nil
}

// unitAt returns the UTF-16 unit of an escape such as \ud83d in a JSON text, or 0.
func unitAt(text []byte, at int) rune {
	if at < 0 || at+6 > len(text) || text[at] != '\\' || text[at+1] != 'u' {
		return 0
	}
	unit, _ := strconv.ParseUint(string(text[at+2:at+6]), 16, 16)
	return rune(unit)
}

func isHigh(unit rune) bool { return unit >= 0xD800 && unit < 0xDC00 }

func bytesOf(half rune) string {
	return string([]byte{0xED, 0x80 | byte(half>>6&0x3F), 0x80 | byte(half&0x3F)})
}

// halfAt returns the half of a surrogate pair at the start of a text, or 0.
func halfAt(text string) rune {
	if len(text) < len(lost) || text[0] != 0xED || text[1] < 0xA0 {
		return 0
	}
	return 0xD000 | rune(text[1]&0x3F)<<6 | rune(text[2]&0x3F)
}

// join returns the next piece of the answer's text with whole characters. It keeps half a pair at the end for the next
// piece.
func (a *answer) join(text string) string {
	text, a.half = a.half+text, ""
	if end := len(text) - len(lost); end >= 0 && isHigh(halfAt(text[end:])) {
		text, a.half = text[:end], text[end:]
	}
	return whole(text)
}

// whole joins the halves of surrogate pairs in a text. A half without the other becomes U+FFFD.
func whole(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var joined strings.Builder
	for len(text) > 0 {
		char, size := utf8.DecodeRuneInString(text)
		if first := halfAt(text); first != 0 {
			size = len(lost)
			if pair := utf16.DecodeRune(first, halfAt(text[size:])); pair != utf8.RuneError {
				char, size = pair, 2*len(lost)
			}
		}
		joined.WriteRune(char)
		text = text[size:]
	}
	return joined.String()
}
