package static

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// normalizer changes a text before it is split.
type normalizer func(string) string

var unicodeForms = map[string]norm.Form{"NFC": norm.NFC, "NFD": norm.NFD, "NFKC": norm.NFKC, "NFKD": norm.NFKD}

// readNormalizer returns the normalizer that a part of tokenizer.json describes. Without one, texts stay as they are.
func readNormalizer(text json.RawMessage) (normalizer, error) {
	if isNull(text) {
		return func(text string) string { return text }, nil
	}
	var part struct {
		Type         string            `json:"type"`
		Normalizers  []json.RawMessage `json:"normalizers"`
		StripLeft    bool              `json:"strip_left"`
		StripRight   bool              `json:"strip_right"`
		Prepend      string            `json:"prepend"`
		CharsMap     []byte            `json:"precompiled_charsmap"`
		CleanText    bool              `json:"clean_text"`
		Chinese      bool              `json:"handle_chinese_chars"`
		StripAccents *bool             `json:"strip_accents"`
		Lowercase    bool              `json:"lowercase"`
	}
	if err := json.Unmarshal(text, &part); err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	if form, ok := unicodeForms[part.Type]; ok {
		return form.String, nil
	}
	switch part.Type {
	case "Sequence":
		return normalizeInTurn(part.Normalizers)
	case "Lowercase":
		return strings.ToLower, nil
	case "StripAccents":
		return stripMarks, nil
	case "Strip":
		return strip(part.StripLeft, part.StripRight), nil
	case "Prepend":
		return func(text string) string { return prepended(text, part.Prepend) }, nil
	case "Replace":
		return readReplace(text)
	case "Precompiled":
		return readCharsMap(part.CharsMap)
	case "BertNormalizer":
		accents := part.Lowercase
		if part.StripAccents != nil {
			accents = *part.StripAccents
		}
		return bert(part.CleanText, part.Chinese, accents, part.Lowercase), nil
	}
	return nil, fmt.Errorf("normalizer: the type %q is not supported", part.Type)
}

func normalizeInTurn(parts []json.RawMessage) (normalizer, error) {
	all, err := readParts(parts, readNormalizer)
	return func(text string) string {
		for _, normalize := range all {
			text = normalize(text)
		}
		return text
	}, err
}

func prepended(text, prefix string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func strip(left, right bool) normalizer {
	return func(text string) string {
		if left {
			text = strings.TrimLeftFunc(text, unicode.IsSpace)
		}
		if right {
			text = strings.TrimRightFunc(text, unicode.IsSpace)
		}
		return text
	}
}

// stripMarks removes marks that take no space, such as accents of decomposed letters.
func stripMarks(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, text)
}

// readPattern reads a pattern, which is a string or a regular expression.
func readPattern(text json.RawMessage) (*regexp.Regexp, error) {
	var part struct {
		Pattern struct {
			String *string
			Regex  string
		} `json:"pattern"`
	}
	if err := json.Unmarshal(text, &part); err != nil {
		return nil, err
	}
	if part.Pattern.String != nil {
		return regexp.Compile(regexp.QuoteMeta(*part.Pattern.String))
	}
	return regexp.Compile(part.Pattern.Regex)
}

func readReplace(text json.RawMessage) (normalizer, error) {
	var part struct {
		Content string `json:"content"`
	}
	if err := json.Unmarshal(text, &part); err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	pattern, err := readPattern(text)
	if err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	return func(text string) string { return pattern.ReplaceAllLiteralString(text, part.Content) }, nil
}

// bert returns the normalizer of BERT. clean removes control characters and writes all white space as spaces. chinese
// puts spaces around Chinese characters.
func bert(clean, chinese, accents, lower bool) normalizer {
	return func(text string) string {
		var b strings.Builder
		for _, r := range text {
			switch {
			case clean && unicode.IsSpace(r):
				b.WriteByte(' ')
			case clean && (r == 0 || r == unicode.ReplacementChar || unicode.Is(unicode.C, r)):
			case chinese && isChinese(r):
				b.WriteString(" " + string(r) + " ")
			default:
				b.WriteRune(r)
			}
		}
		text = b.String()
		if accents {
			text = stripMarks(norm.NFD.String(text))
		}
		if lower {
			text = strings.ToLower(text)
		}
		return text
	}
}

// isChinese reports whether a character is in one of Unicode's blocks of CJK ideographs.
func isChinese(r rune) bool {
	for _, block := range [][2]rune{
		{0x4E00, 0x9FFF}, {0x3400, 0x4DBF}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F}, {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF},
		{0xF900, 0xFAFF}, {0x2F800, 0x2FA1F},
	} {
		if r >= block[0] && r <= block[1] {
			return true
		}
	}
	return false
}
