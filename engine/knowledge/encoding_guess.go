package knowledge

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/encoding"
)

// candidates are encodings to try in addition to the detector's, which misses Thai and many short texts.
var candidates = []string{
	"gb18030", "euc-kr", "shift_jis", "euc-jp", "big5", "windows-874", "windows-1251", "koi8-r", "koi8-u", "windows-1252",
}

// doubleBytes has ranges of first bytes for two-byte encodings. frequent has the ranges of frequent characters and
// punctuation, and kana the ranges of kana.
var doubleBytes = map[string]struct{ frequent, kana [][2]byte }{
	"gb18030":   {frequent: [][2]byte{{0xA1, 0xA3}, {0xB0, 0xD7}}},
	"gbk":       {frequent: [][2]byte{{0xA1, 0xA3}, {0xB0, 0xD7}}},
	"big5":      {frequent: [][2]byte{{0xA1, 0xC6}}},
	"euc-kr":    {frequent: [][2]byte{{0xA1, 0xA3}, {0xB0, 0xC8}}},
	"euc-jp":    {frequent: [][2]byte{{0xA1, 0xA1}, {0xA3, 0xA5}, {0xB0, 0xCF}}, kana: [][2]byte{{0xA4, 0xA5}}},
	"shift_jis": {frequent: [][2]byte{{0x81, 0x83}, {0x88, 0x98}}, kana: [][2]byte{{0x82, 0x83}}},
}

// strangeness decodes a part of a text, and returns how strange it is: about the share of characters that people would
// not write. It can be below 0 or above 1, and is 2 if the part cannot be decoded.
func strangeness(from encoding.Encoding, name string, part []byte) float64 {
	decoded, err := from.NewDecoder().Bytes(part)
	if err != nil {
		return 2
	}
	strange, telling := strangeRunes(string(decoded))
	bytes, isDouble := doubleBytes[name]
	if !isDouble {
		return float64(strange) / float64(max(telling, 1))
	}
	rare, kana, count := rareCharacters(part, bytes.frequent, bytes.kana)
	share := float64(strange+rare) / float64(max(count, 1))
	switch {
	case bytes.kana == nil:
	case kana*10 < count:
		// Nearly all Japanese text has kana.
		share += 0.2
	case kana*2 > count:
		// In text of another encoding, the first byte of most characters is not one of kana.
		share -= 0.1
	}
	return share
}

// rareCharacters returns how many two-byte characters have no frequent first byte, how many are kana, and how many
// there are.
func rareCharacters(part []byte, frequent, kana [][2]byte) (rare, kanas, count int) {
	isIn := func(b byte, ranges [][2]byte) bool {
		return slices.ContainsFunc(ranges, func(r [2]byte) bool { return r[0] <= b && b <= r[1] })
	}
	for i := 0; i < len(part); i++ {
		if part[i] < 0x80 {
			continue
		}
		count++
		if !isIn(part[i], frequent) {
			rare++
		}
		if isIn(part[i], kana) {
			kanas++
		}
		i++
	}
	return rare, kanas, count
}

// strangeRunes returns how many characters are in places where no language has them, and how many are beyond ASCII.
func strangeRunes(text string) (strange, telling int) {
	before := ' '
	marked, latin, thai, thaiMarks := 0, 0, 0, 0
	for _, r := range text {
		if r >= 0x80 {
			telling++
		}
		switch {
		case r >= 0x80 && isStrange(r, before):
			strange++
		case unicode.IsUpper(r) && unicode.IsLower(before):
			strange += 2
		case unicode.Is(unicode.Latin, r):
			if latin++; r >= 0x80 {
				marked++
			}
		case unicode.Is(unicode.Thai, r):
			if thai++; isThaiMark(r) {
				thaiMarks++
			}
		}
		before = r
	}
	if thaiMarks*20 < thai {
		strange += thai / 5
	}
	// Latin letters with marks usually occur among letters without marks.
	if marked*2 > latin {
		strange += marked / 2
	}
	return strange, telling
}

// isStrange reports whether a character does not occur in text, or does not occur after the character before it.
func isStrange(r, before rune) bool {
	isAfterThai := unicode.Is(unicode.Thai, before)
	switch {
	case r == unicode.ReplacementChar, unicode.IsControl(r), unicode.Is(unicode.Co, r),
		0x2500 <= r && r <= 0x259F, 0xFF61 <= r && r <= 0xFF9F:
		return true
	case isThaiMark(r):
		return !isAfterThai || 0x0E40 <= before && before <= 0x0E44
	case 0x0E4F <= r && r <= 0x0E5B, r == 0x0E3F:
		return true
	case unicode.Is(unicode.Thai, r):
		return false
	case r == 'ΰ' || r == 'ΐ' || unicode.IsLetter(r) && before == 'ς':
		return true
	}
	// A symbol after a letter is probably a wrongly decoded letter of another alphabet.
	return !unicode.IsLetter(r) && !unicode.IsMark(r) && unicode.IsLetter(before) &&
		strings.ContainsRune("¹²³¼½¾¿¡¤¦§¨ª¬¯±¶¸º×÷£¥¢©®†‡‰΄΅―", r)
}

// isThaiMark reports whether a character is a Thai vowel or tone above or below a consonant.
func isThaiMark(r rune) bool {
	return r == 0x0E31 || 0x0E34 <= r && r <= 0x0E3A || 0x0E47 <= r && r <= 0x0E4E
}
