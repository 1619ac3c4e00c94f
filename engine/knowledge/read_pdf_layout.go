package knowledge

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// paragraphs joins lines to paragraphs. A wider gap, another level or a list mark begins a new one. Lines of up to 120
// characters in a larger font are headings; the largest font is the outermost level.
func paragraphs(pages [][]line) Text {
	sizes := headingSizes(pages)
	gap, compounds := usualGap(pages), compoundsOf(pages)
	var text Text
	var block Block
	// words is the text of the current block.
	var words []byte
	for _, page := range pages {
		for i, l := range page {
			level := 0
			if utf8.RuneCountInString(l.text) <= 120 {
				level = 1 + slices.Index(sizes, round(l.size))
			}
			kind := Paragraph
			if level > 0 {
				kind = Heading
			} else if isItem(l.text) || l.table == tableRow {
				kind = Plain
			}
			isBelow := l.table == restOfRow || i == 0 || page[i-1].table == notInTable
			continues := isBelow && (kind == block.Kind && level == block.Level || kind == Paragraph && block.Kind == Plain)
			if i > 0 && kind != Plain && continues && follows(page[i-1], l, gap) || kind == Paragraph &&
				unfinished(block.Kind, words) &&
				(i == 0 || page[i-1].top < l.top && startsInside(l.text)) {
				words = join(words, l.text, compounds)
				continue
			}
			block.Text = whole(words)
			text.addBlock(block)
			block, words = Block{Kind: kind, Level: level}, append(words[:0], l.text...)
		}
	}
	block.Text = whole(words)
	text.addBlock(block)
	return text
}

// whole returns the text of a paragraph, whose last word may be broken.
func whole(words []byte) string {
	return strings.ReplaceAll(string(words), brokenWord, "-")
}

func startsInside(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLower(first)
}

func follows(before, l line, usual float32) bool {
	down := before.top - l.top
	return down > 0 && down <= max(usual, before.size)*1.35
}

// unfinished reports whether a paragraph may continue on the next page or in the next column.
func unfinished(kind Kind, words []byte) bool {
	last, _ := utf8.DecodeLastRune(words)
	return kind != Heading && (unicode.IsLower(last) || last == ',' || bytes.HasSuffix(words, []byte(brokenWord)))
}

var hyphenated = regexp.MustCompile(`[\pL\d]+(?:-[\pL\d]+)+`)

// compoundsOf returns the hyphenated words within lines, in lower case.
func compoundsOf(pages [][]line) map[string]bool {
	compounds := map[string]bool{}
	for _, page := range pages {
		for _, l := range page {
			for _, word := range hyphenated.FindAllString(l.text, -1) {
				compounds[strings.ToLower(word)] = true
			}
		}
	}
	return compounds
}

// join appends a line to text, and joins a word that is broken at the end of the text.
func join(words []byte, next string, compounds map[string]bool) []byte {
	head, isBroken := bytes.CutSuffix(words, []byte(brokenWord))
	if !isBroken {
		head, isBroken = bytes.CutSuffix(words, []byte("-"))
		if last, _ := utf8.DecodeLastRune(head); !isBroken || !unicode.IsDigit(last) {
			return append(append(words, ' '), next...)
		}
	}
	if keepsHyphen(head, next, compounds) {
		head = append(head, '-')
	}
	return append(head, next...)
}

// keepsHyphen reports whether a word broken at the end of a line has its own hyphen there, like E-Mail, AB-12,
// state-of-the-art, and words in compounds.
func keepsHyphen(head []byte, next string, compounds map[string]bool) bool {
	first := string(head[bytes.LastIndexAny(head, " \n")+1:])
	second, _, _ := strings.Cut(next, " ")
	before, _ := utf8.DecodeLastRune(head)
	after, _ := utf8.DecodeRuneInString(next)
	if unicode.IsUpper(after) || unicode.IsDigit(before) || unicode.IsDigit(after) || utf8.RuneCountInString(first) == 1 {
		return true
	}
	return strings.Contains(first+second, "-") || compounds[strings.ToLower(hyphenated.FindString(first+"-"+second))]
}

func isItem(text string) bool {
	first, size := utf8.DecodeRuneInString(text)
	return strings.ContainsRune("•◦▪‣–-*·", first) && strings.HasPrefix(text[size:], " ")
}

func round(size float32) int { return int(math.Round(float64(size))) }

// headingSizes returns the font sizes of headings, the largest first: at most six, at least a sixth above the most
// common size.
func headingSizes(pages [][]line) []int {
	letters := map[int]int{}
	for _, page := range pages {
		for _, l := range page {
			letters[round(l.size)] += len(l.text)
		}
	}
	body, most := 0, -1
	for size, n := range letters {
		if n > most || n == most && size > body {
			body, most = size, n
		}
	}
	var sizes []int
	for _, size := range slices.SortedFunc(maps.Keys(letters), func(a, b int) int { return cmp.Compare(b, a) }) {
		if size*6 >= body*7 && len(sizes) < 6 {
			sizes = append(sizes, size)
		}
	}
	return sizes
}

func usualGap(pages [][]line) float32 {
	gaps := map[int]int{}
	for _, page := range pages {
		for i := 1; i < len(page); i++ {
			if down := page[i-1].top - page[i].top; down > 0 {
				gaps[round(down)]++
			}
		}
	}
	usual, most := 0, 0
	for gap, n := range gaps {
		if n > most || n == most && gap < usual {
			usual, most = gap, n
		}
	}
	return float32(usual)
}
