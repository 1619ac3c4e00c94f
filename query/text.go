package query

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// escaped marks the bytes that JSON must escape.
var escaped = func() (is [256]bool) {
	for c := range 0x20 {
		is[c] = true
	}
	is['"'], is['\\'] = true, true
	return is
}()

// plain returns the index in text of the first byte of text[at:] that JSON must escape, or the length of text if there
// is none.
func plain[T string | []byte](text T, at int) int {
	// Test eight bytes at a time: a high bit remains if a byte is below 0x20, a quotation mark or a backslash.
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for ; at+8 <= len(text); at += 8 {
		word := uint64(text[at]) | uint64(text[at+1])<<8 | uint64(text[at+2])<<16 | uint64(text[at+3])<<24 |
			uint64(text[at+4])<<32 | uint64(text[at+5])<<40 | uint64(text[at+6])<<48 | uint64(text[at+7])<<56
		quote, backslash := word^(ones*'"'), word^(ones*'\\')
		if ((word-ones*0x20)&^word|(quote-ones)&^quote|(backslash-ones)&^backslash)&highs != 0 {
			break
		}
	}
	for ; at < len(text) && !escaped[text[at]]; at++ {
	}
	return at
}

const hex = "0123456789ABCDEF"

// appendText appends a text as gqlgen does.
func appendText[T string | []byte](dst []byte, text T) []byte {
	dst = append(dst, '"')
	start := 0
	for i := plain(text, 0); i < len(text); i = plain(text, i+1) {
		c := text[i]
		dst = append(dst, text[start:i]...)
		switch c {
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\\', '"':
			dst = append(dst, '\\', c)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
		start = i + 1
	}
	return append(append(dst, text[start:]...), '"')
}

// appendFloat appends a number as gqlgen does.
func appendFloat(dst []byte, value float64) []byte {
	return strconv.AppendFloat(dst, value, 'g', -1, 64)
}

const dateTimeLayout = "2006-01-02T15:04:05.000Z"

// appendTime appends a time as the scalar DateTime.
func appendTime(dst []byte, t time.Time) []byte {
	dst = append(dst, '"')
	return append(t.UTC().AppendFormat(dst, dateTimeLayout), '"')
}

// epoch is the zero of Postgres's timestamps, in Unix microseconds.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// timeOf decodes Postgres's timestamptz.
func timeOf(value []byte) time.Time {
	return time.UnixMicro(int64(binary.BigEndian.Uint64(value)) + epoch).UTC()
}

// integerOf decodes Postgres's integers.
func integerOf(value []byte) int64 {
	switch len(value) {
	case 2:
		return int64(int16(binary.BigEndian.Uint16(value)))
	case 4:
		return int64(int32(binary.BigEndian.Uint32(value)))
	default:
		return int64(binary.BigEndian.Uint64(value))
	}
}

// floatOf decodes Postgres's double precision.
func floatOf(value []byte) float64 {
	return math.Float64frombits(binary.BigEndian.Uint64(value))
}

// unescape returns the text of a JSON string with backslashes, without its quotes.
func unescape(text []byte) []byte {
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '\\' || i+1 == len(text) {
			plain = append(plain, c)
			continue
		}
		i++
		switch text[i] {
		case 'b':
			plain = append(plain, '\b')
		case 'f':
			plain = append(plain, '\f')
		case 'n':
			plain = append(plain, '\n')
		case 'r':
			plain = append(plain, '\r')
		case 't':
			plain = append(plain, '\t')
		case 'u':
			r := codeUnit(text, i+1)
			i += 4
			if utf16.IsSurrogate(r) {
				if pair := utf16.DecodeRune(r, codeUnit(text, i+3)); pair != utf8.RuneError && i+2 < len(text) &&
					text[i+1] == '\\' && text[i+2] == 'u' {
					r = pair
					i += 6
				} else {
					r = utf8.RuneError
				}
			}
			plain = utf8.AppendRune(plain, r)
		default:
			plain = append(plain, text[i])
		}
	}
	return plain
}

// codeUnit parses four hexadecimal digits, and returns -1 for anything else.
func codeUnit(text []byte, at int) rune {
	if at+4 > len(text) {
		return -1
	}
	unit, err := strconv.ParseUint(string(text[at:at+4]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(unit)
}
