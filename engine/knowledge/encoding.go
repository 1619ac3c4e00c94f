package knowledge

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	textunicode "golang.org/x/text/encoding/unicode"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

const (
	// guessedBy is how much of a file is examined to guess its encoding, in bytes.
	guessedBy = 64 << 10
	// fewTelling is the number of non-ASCII bytes below which a mostly ASCII text is taken for Windows-1252. So few bytes
	// could be of any encoding.
	fewTelling = 8
)

// decode returns the text of a text file, and a new Text for the caller to fill. UTF-8 and UTF-16 are recognized by a
// byte order mark or by their bytes. Other encodings are guessed from the letters, and the Text's Warning names the
// guess.
func decode(content []byte) (source string, into Text, err error) {
	into = newText(content)
	var from encoding.Encoding
	switch {
	case bytes.HasPrefix(content, []byte("\xFF\xFE")), bytes.HasPrefix(content, []byte("\xFE\xFF")):
		from = textunicode.UTF16(textunicode.LittleEndian, textunicode.ExpectBOM)
	case utf8.Valid(content) && bytes.Count(content, []byte{0}) <= len(content)/100:
		source, err = checkText(content)
		return source, into, err
	case zeros(content, 1) > len(content)/5:
		from = textunicode.UTF16(textunicode.LittleEndian, textunicode.IgnoreBOM)
	case zeros(content, 0) > len(content)/5:
		from = textunicode.UTF16(textunicode.BigEndian, textunicode.IgnoreBOM)
	default:
		if from = utf16WithoutMark(content); from == nil {
			from, into.Warning = guess(content)
		}
	}
	decoded, err := from.NewDecoder().Bytes(content)
	if err != nil {
		return "", into, unreadable("the file is not text in an encoding that can be read, such as UTF-8 or Windows-1252")
	}
	source, err = checkText(decoded)
	return source, into, err
}

// guess returns the most likely encoding of a text, and a sentence that names it. Characters that people do not write,
// such as box drawings, count against an encoding.
func guess(content []byte) (encoding.Encoding, string) {
	from, name := encoding.Encoding(charmap.Windows1252), "windows-1252"
	// Letters beyond ASCII reveal the encoding, and may start late.
	first := max(bytes.IndexFunc(content, func(r rune) bool { return r >= utf8.RuneSelf }), 0)
	start := max(first-guessedBy/8, 0)
	part := content[start:min(start+guessedBy, len(content))]
	telling := 0
	for _, b := range part {
		if b >= utf8.RuneSelf {
			telling++
		}
	}
	var likely []chardet.Result
	isTelling := telling >= fewTelling || telling > len(part)/2
	if isTelling {
		likely, _ = chardet.NewTextDetector().DetectAll(part)
	}
	slices.SortFunc(likely, func(a, b chardet.Result) int {
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(a.Charset, b.Charset))
	})
	var names []string
	for _, result := range likely {
		names = append(names, strings.Replace(result.Charset, "GB-", "gb", 1))
	}
	if isTelling {
		names = append(names, candidates...)
	}
	least := 2.0
	for _, candidate := range names {
		found, known := charset.Lookup(candidate)
		if found == nil || strings.HasPrefix(known, "utf-") {
			continue
		}
		// A later candidate must be clearly less strange, because the detector lists the likeliest first.
		if n := strangeness(found, known, part); n < least-0.02 {
			from, name, least = found, known, n
		}
	}
	return from, fmt.Sprintf("the file does not name its encoding; it was read as %s", name)
}

// utf16WithoutMark returns the encoding of a text in UTF-16 without a byte order mark, or nil. Text in UTF-16 has
// spaces or line ends, or else kana.
func utf16WithoutMark(content []byte) (from encoding.Encoding) {
	part := content[:min(len(content), guessedBy)]
	if len(part)%2 != 0 {
		return nil
	}
	least := 1 << 8
	for _, order := range []textunicode.Endianness{textunicode.LittleEndian, textunicode.BigEndian} {
		candidate := textunicode.UTF16(order, textunicode.IgnoreBOM)
		decoded, err := candidate.NewDecoder().Bytes(part)
		if err != nil {
			continue
		}
		letters, blanks, kana, strange := 0, 0, 0, 0
		high := map[rune]bool{}
		for _, r := range string(decoded) {
			high[r>>8] = true
			switch {
			case r == ' ' || r == '\n':
				blanks++
			case unicode.In(r, unicode.Hiragana, unicode.Katakana):
				kana++
			}
			if unicode.IsLetter(r) || unicode.IsMark(r) {
				letters++
			}
			if !unicode.IsSpace(r) && !unicode.IsGraphic(r) || r == utf8.RuneError {
				strange++
			}
		}
		isText := blanks*100 > letters || kana*10 > letters
		// In the right order, the high bytes belong to few scripts.
		if isText && strange <= letters/50 && letters*2 > len(part)/2 && len(high) < least {
			from, least = candidate, len(high)
		}
	}
	return from
}

// zeros counts the zero bytes at even or odd positions. Western text in UTF-16 has many.
func zeros(content []byte, first int) int {
	n := 0
	for i := first; i < len(content); i += 2 {
		if content[i] == 0 {
			n++
		}
	}
	return n
}

// escapes are terminal escape sequences, such as colors and titles.
var escapes = lazyregexp.New("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\))")

// checkText returns the decoded text, or an error if it has too many characters that do not occur in text: a third,
// or in a long text more than one in 50 bytes.
func checkText(decoded []byte) (string, error) {
	if bytes.IndexByte(decoded, '\x1b') >= 0 {
		decoded = escapes().ReplaceAll(decoded, nil)
	}
	strange, all := 0, 0
	for _, r := range string(decoded) {
		all++
		if r == utf8.RuneError || unicode.IsControl(r) && !unicode.IsSpace(r) {
			strange++
		}
	}
	if strange > 8+len(decoded)/50 || strange > all/3 {
		return "", unreadable("the file has no format that can be read; send text, Markdown, HTML, XML, CSV, JSON, PDF, " +
			"DOCX, XLSX, PPTX, ODT, ODS, RTF, EPUB or EML")
	}
	return clean(string(decoded)), nil
}
