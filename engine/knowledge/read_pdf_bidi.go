package knowledge

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"golang.org/x/text/unicode/bidi"
)

// bidiPage puts lines with right-to-left letters in the order in which people read them. PDFium misplaces their
// numbers, Latin words and brackets, and reverses the letters of ligatures.
type bidiPage struct {
	reader pdfium.Pdfium
	page   references.FPDF_TEXTPAGE
	// isRightToLeft is set if most letters of the page are right-to-left.
	isRightToLeft bool
}

// glyph has the characters that are drawn at one place, and the class of the first one.
type glyph struct {
	letters []rune
	x       float64
	class   bidi.Class
}

func classOf(r rune) bidi.Class {
	found, _ := bidi.LookupRune(r)
	return found.Class()
}

func isToLeft(c bidi.Class) bool { return c == bidi.R || c == bidi.AL }

// lettersByDirection returns how many letters of a text are right-to-left, and how many are left-to-right.
func lettersByDirection(text string) (toLeft, toRight int) {
	for _, r := range text {
		switch c := classOf(r); {
		case isToLeft(c):
			toLeft++
		case c == bidi.L:
			toRight++
		}
	}
	return toLeft, toRight
}

// hasVowelSigns reports whether at least a twentieth of the Arabic and Hebrew characters are marks. PDFium often puts
// such marks on lines of their own.
func hasVowelSigns(blocks []Block) bool {
	marks, all := 0, 0
	for _, block := range blocks {
		for _, r := range block.Text {
			if unicode.In(r, unicode.Arabic, unicode.Hebrew) || 0x064B <= r && r <= 0x0655 {
				all++
				if unicode.IsMark(r) {
					marks++
				}
			}
		}
	}
	return marks > 0 && marks*20 >= all
}

// inOrder returns a row of PDFium in logical order. at is the index of the row's first character on the page.
func (p bidiPage) inOrder(at int, row string) string {
	toLeft, toRight := lettersByDirection(row)
	if toLeft == 0 {
		return row
	}
	glyphs := p.glyphs(at, []rune(strings.TrimRight(row, "\r\n")))
	if glyphs == nil {
		return row
	}
	slices.SortStableFunc(glyphs, func(a, b glyph) int {
		// PDFium gives a space that it inserts the place of the glyph before it.
		if a.x == b.x && (a.class == bidi.WS) != (b.class == bidi.WS) {
			return map[bool]int{true: 1, false: -1}[a.class == bidi.WS]
		}
		return cmp.Compare(a.x, b.x)
	})
	var areToLeft []bool
	for _, g := range glyphs {
		if isToLeft(g.class) || g.class == bidi.L {
			areToLeft = append(areToLeft, isToLeft(g.class))
		}
	}
	// A line is right-to-left if its first letter, its last letter and most of its letters are. On a right-to-left page,
	// one of the three is enough.
	order := fromLeft
	first, last, most := areToLeft[0], areToLeft[len(areToLeft)-1], toLeft > toRight
	if first && last && most || p.isRightToLeft && (first || last || most) {
		order = fromRight
	}
	var b strings.Builder
	for _, g := range order(glyphs) {
		b.WriteString(string(g.letters))
	}
	return b.String()
}

// glyphs returns the glyphs of a row, or nil if they are not on one horizontal line.
func (p bidiPage) glyphs(at int, row []rune) (glyphs []glyph) {
	box, err := p.reader.FPDFText_GetLooseCharBox(&requests.FPDFText_GetLooseCharBox{TextPage: p.page, Index: at})
	if err != nil {
		return nil
	}
	low, high := float64(box.Rect.Bottom-1), float64(box.Rect.Top+1)
	for i, r := range row {
		origin, err := p.reader.FPDFText_GetCharOrigin(&requests.FPDFText_GetCharOrigin{TextPage: p.page, Index: at + i})
		if err != nil || !unicode.IsMark(r) && (origin.Y < low || origin.Y > high) {
			return nil
		}
		class, last := classOf(r), len(glyphs)-1
		if last >= 0 && (unicode.IsMark(r) ||
			glyphs[last].x == origin.X && class != bidi.WS && glyphs[last].class != bidi.WS) {
			glyphs[last].letters = append(glyphs[last].letters, r)
			continue
		}
		glyphs = append(glyphs, glyph{letters: []rune{r}, x: origin.X, class: class})
	}
	for _, g := range glyphs {
		// PDFium reverses a ligature's letters, unless the PDF has one character for them. No ligature has an alef
		// before a lam.
		if isToLeft(g.class) && !slices.ContainsFunc(g.letters, unicode.IsMark) &&
			(len(g.letters) != 2 || g.letters[0] != 'ل') {
			slices.Reverse(g.letters)
		}
	}
	return glyphs
}

// fromLeft returns the glyphs of a left-to-right line in logical order.
func fromLeft(glyphs []glyph) (ordered []glyph) {
	for {
		start := slices.IndexFunc(glyphs, func(g glyph) bool { return isToLeft(g.class) })
		if start < 0 {
			return append(ordered, glyphs...)
		}
		end := start + 1
		for i := end; i < len(glyphs) && glyphs[i].class != bidi.L; i++ {
			if isToLeft(glyphs[i].class) {
				end = i + 1
			}
		}
		ordered = append(append(ordered, glyphs[:start]...), fromRight(glyphs[start:end])...)
		// PDFium also mirrors the brackets that follow right-to-left letters.
		for i := end; i < len(glyphs) && !slices.Contains(wordClasses, glyphs[i].class); i++ {
			glyphs[i].mirror()
		}
		glyphs = glyphs[end:]
	}
}

// fromRight returns the glyphs of a right-to-left line in logical order: from the right, but each left-to-right run and
// each number from the left.
func fromRight(glyphs []glyph) (ordered []glyph) {
	runs, before := leftToRightRuns(glyphs), bidi.R
	var brackets []int
	for end := len(glyphs); end > 0; {
		start, isRun := runs[end]
		switch {
		case isRun:
			before = bidi.L
		case numberAt(glyphs[:end], before) < end:
			start = numberAt(glyphs[:end], before)
		default:
			start = end - 1
			if isToLeft(glyphs[start].class) {
				before = glyphs[start].class
			}
			brackets = append(brackets, len(ordered))
		}
		ordered = append(ordered, glyphs[start:end]...)
		end = start
	}
	pairBrackets(ordered, brackets)
	return ordered
}

// leftToRightRuns returns the start of each left-to-right run by its end. A run begins with a letter and the digits
// before it. It contains everything up to its last letter or number, and that number's signs.
func leftToRightRuns(glyphs []glyph) map[int]int {
	runs := map[int]int{}
	for i := 0; i < len(glyphs); i++ {
		if glyphs[i].class != bidi.L {
			continue
		}
		start, end, open := i, i+1, 0
		for start > 0 && glyphs[start-1].class == bidi.EN {
			start--
		}
		for ; i < len(glyphs) && !isToLeft(glyphs[i].class) && glyphs[i].class != bidi.AN; i++ {
			g := glyphs[i]
			isInside := i+1 < len(glyphs) && (glyphs[i+1].class == bidi.L || glyphs[i+1].class == bidi.EN)
			opens, closes := slices.Index(openBrackets, g.letters[0]), slices.Index(closeBrackets, g.letters[0])
			switch {
			case opens >= 0 && (open == 0 || isInside):
				open++
			case max(opens, closes) >= 0 && open > 0:
				open--
				end = i + 1
				g.letters[0] = closeBrackets[max(opens, closes)]
			case g.class == bidi.L, g.class == bidi.EN, g.class == bidi.ET && end == i && glyphs[i-1].class == bidi.EN:
				end = i + 1
			}
		}
		runs[end] = start
	}
	return runs
}

// numberAt returns the start of the number that ends the glyphs, or len(glyphs). before is the class of the letter
// before the number: after an Arabic letter, signs do not belong to a number.
func numberAt(glyphs []glyph, before bidi.Class) int {
	start := len(glyphs)
	classAt := func(i int) bidi.Class {
		if i < 0 {
			return bidi.ON
		}
		return glyphs[i].class
	}
	hasSigns := before != bidi.AL
	i := start - 1
	for hasSigns && classAt(i) == bidi.ET {
		i--
	}
	digits := classAt(i)
	if digits != bidi.EN && digits != bidi.AN || digits == bidi.AN && i < start-1 {
		return start
	}
	for {
		for classAt(i) == digits {
			i--
		}
		joins := classAt(i) == bidi.CS || hasSigns && digits == bidi.EN && classAt(i) == bidi.ES
		if !joins || classAt(i-1) != digits {
			break
		}
		i--
	}
	for hasSigns && digits == bidi.EN && classAt(i) == bidi.ET {
		i--
	}
	return i + 1
}

var (
	openBrackets, closeBrackets = []rune("([{<«‹"), []rune(")]}>»›")
	wordClasses                 = []bidi.Class{bidi.L, bidi.R, bidi.AL, bidi.EN, bidi.AN}
)

// mirror replaces a bracket by its mirror image.
func (g glyph) mirror() {
	if i := slices.Index(openBrackets, g.letters[0]); i >= 0 {
		g.letters[0] = closeBrackets[i]
	} else if i := slices.Index(closeBrackets, g.letters[0]); i >= 0 {
		g.letters[0] = openBrackets[i]
	}
}

// pairBrackets mirrors the brackets of the glyphs at the indexes, unless they already make pairs. PDFium mirrors them,
// which is wrong for a PDF that has them in logical form, as most do. PDFium may also mirror only one of a pair.
func pairBrackets(glyphs []glyph, indexes []int) {
	for n, open := range openBrackets {
		found := slices.DeleteFunc(slices.Clone(indexes), func(i int) bool {
			return glyphs[i].letters[0] != open && glyphs[i].letters[0] != closeBrackets[n]
		})
		arePairs := func() bool {
			depth := 0
			for _, i := range found {
				if glyphs[i].letters[0] == open {
					depth++
				} else if depth--; depth < 0 {
					return false
				}
			}
			return depth == 0
		}
		if arePairs() {
			continue
		}
		for _, i := range found {
			glyphs[i].mirror()
		}
		if len(found)%2 == 0 && !arePairs() {
			for at, i := range found {
				glyphs[i].letters[0] = [2]rune{open, closeBrackets[n]}[at%2]
			}
		}
	}
}
