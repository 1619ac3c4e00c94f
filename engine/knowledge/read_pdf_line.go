package knowledge

import (
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/klippa-app/go-pdfium/requests"
)

// brokenWord is PDFium's character for the hyphen of a word that is broken at the end of a line.
const brokenWord = "\uFFFE"

// pdfLine returns a line of PDFium without private characters of fonts. A private character before the text is a
// bullet.
func pdfLine(row string) string {
	row = strings.TrimSpace(row)
	if first, size := utf8.DecodeRuneInString(row); isPrivate(first) {
		row = "• " + strings.TrimSpace(row[size:])
	}
	return strings.Map(withoutPrivate, row)
}

// isPrivate reports whether only a font gives a character a meaning, as with the bullets of Symbol and Wingdings.
func isPrivate(r rune) bool { return unicode.Is(unicode.Co, r) }

func withoutPrivate(r rune) rune {
	if isPrivate(r) {
		return -1
	}
	return r
}

// setPosition sets the position of a line on its page. at is the index of its first character among all characters of
// the page.
func setPosition(page bidiPage, at int, row string, l *line) {
	reader, textPage := page.reader, page.page
	charBox := func(i int) (box line) {
		found, err := reader.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: textPage, Index: at + i})
		if err == nil {
			box = line{left: found.Rect.Left, right: found.Rect.Right, top: found.Rect.Top,
				size: found.Rect.Top - found.Rect.Bottom}
		}
		return box
	}
	text := l.text
	*l = charBox(0)
	l.text = text
	count, err := reader.FPDFText_CountRects(&requests.FPDFText_CountRects{
		TextPage: textPage, StartIndex: at, Count: utf8.RuneCountInString(strings.TrimRight(row, "\r\n")),
	})
	if err != nil {
		return
	}
	var spans []span
	for i := range count.Count {
		r, err := reader.FPDFText_GetRect(&requests.FPDFText_GetRect{TextPage: textPage, Index: i})
		if err != nil {
			return
		}
		next, last := span{float32(r.Left), float32(r.Right)}, len(spans)-1
		switch {
		case last < 0 || next.from-spans[last].to >= minGutter*l.size:
			spans = append(spans, next)
		case next.to < spans[last].from:
			// The line runs from right to left.
			return
		default:
			spans[last].to = max(spans[last].to, next.to)
		}
	}
	if len(spans) == 0 {
		return
	}
	if l.right = spans[len(spans)-1].to; len(spans) > 1 {
		inOrder := func(from int, part string) string { return page.inOrder(at+from, part) }
		l.parts = cut(row, spans, *l, charBox, inOrder)
	}
}

func cut(row string, spans []span, whole line, box func(int) line, inOrder func(int, string) string) []line {
	// words are the starts of words, in bytes and in characters.
	var words, characters []int
	n, inWord := 0, false
	for i, r := range row {
		if isSpace := unicode.IsSpace(r); !isSpace && !inWord {
			words, characters = append(words, i), append(characters, n)
			inWord = true
		} else if isSpace {
			inWord = false
		}
		n++
	}
	var parts []line
	start, first := 0, 0
	for i, s := range spans {
		end, last := len(row), n
		if i+1 < len(spans) {
			next := sort.Search(len(words), func(w int) bool { return box(characters[w]).left >= spans[i+1].from-1 })
			if next == len(words) || words[next] <= start {
				return nil
			}
			end, last = words[next], characters[next]
		}
		text := pdfLine(inOrder(first, row[start:end]))
		if head, isHyphen := strings.CutSuffix(text, "-"); isHyphen && i+1 < len(spans) {
			if r, _ := utf8.DecodeLastRuneInString(head); unicode.IsLetter(r) {
				// The line ends here in a column, which PDFium did not detect.
				text = head + brokenWord
			}
		}
		parts = append(parts, line{text: text, left: s.from, right: s.to, top: whole.top, size: whole.size})
		start, first = end, last
	}
	return parts
}
