package query

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// escaped says which bytes of a text JSON writes otherwise.
var escaped = func() (is [256]bool) {
	for c := range 0x20 {
		is[c] = true
	}
	is['"'], is['\\'] = true, true
	return is
}()

const hex = "0123456789ABCDEF"

// appendText writes a text as gqlgen does.
func appendText[T string | []byte](dst []byte, text T) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if !escaped[c] {
			continue
		}
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

// appendFloat writes a number as gqlgen does.
func appendFloat(dst []byte, value float64) []byte {
	return strconv.AppendFloat(dst, value, 'g', -1, 64)
}

const dateTimeLayout = "2006-01-02T15:04:05.000Z"

// appendTime writes a time as the scalar DateTime.
func appendTime(dst []byte, t time.Time) []byte {
	dst = append(dst, '"')
	return append(t.UTC().AppendFormat(dst, dateTimeLayout), '"')
}

// epoch is where Postgres counts microseconds from.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// timeOf reads Postgres's timestamptz.
func timeOf(value []byte) time.Time {
	return time.UnixMicro(int64(binary.BigEndian.Uint64(value)) + epoch).UTC()
}

// integerOf reads Postgres's integers.
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

// floatOf reads Postgres's double precision.
func floatOf(value []byte) float64 {
	return math.Float64frombits(binary.BigEndian.Uint64(value))
}

// unescape returns the text of a JSON string, without its quotes, that has backslashes in it.
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
				if pair := utf16.DecodeRune(r, codeUnit(text, i+3)); pair != utf8.RuneError && i+2 < len(text) && text[i+1] == '\\' && text[i+2] == 'u' {
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

// codeUnit reads four hexadecimal digits, or is -1.
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
