package knowledge

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxColumnGap is the maximum distance between lines of a column, in font sizes.
	maxColumnGap = 4
	// minGutter is the minimum distance between columns, in font sizes. Most spaces in justified text are narrower.
	minGutter = 0.7
	// minTable is the minimum number of rows of a table, and minTableGap the minimum distance between two of its columns,
	// in font sizes.
	minTable, minTableGap = 3, 1
)

type span struct{ from, to float32 }

// pageRow has the lines of a page at the same height, from left to right.
type pageRow struct {
	parts []line
	// lines are the indexes of this row's lines in the page.
	lines []int
}

// inReadingOrder returns the lines of a page column by column, and a line for each row of a table.
func inReadingOrder(lines []line) []line {
	rows := pageRows(lines)
	moved := make([]bool, len(lines))
	before := map[int][]line{}
	for start := 0; start < len(rows); {
		end, gap := columnsFrom(rows[start:])
		if end == 0 {
			start++
			continue
		}
		group := rows[start : start+end]
		start += end
		gutter := (gap.from + gap.to) / 2
		left, right := sides(group, gutter)
		var ordered []line
		switch {
		case isProse(left) && isProse(right) && !hasHoles(group, gutter):
			ordered = append(inReadingOrder(left), inReadingOrder(right)...)
		case isTable(group, gap):
			ordered = tableRows(group, gutter)
		default:
			continue
		}
		first := len(lines)
		for _, row := range group {
			for _, i := range row.lines {
				moved[i] = true
				first = min(first, i)
			}
		}
		before[first] = ordered
	}
	if len(before) == 0 {
		return lines
	}
	var out []line
	for i, l := range lines {
		out = append(out, before[i]...)
		if !moved[i] {
			out = append(out, l)
		}
	}
	return out
}

func (l line) bottom() float32 { return l.top - l.size }

// isBeside reports whether l is in the same row as first. first must be at the same height as l, or above it.
func isBeside(first, l line) bool {
	return first.bottom()-l.bottom() < 0.6*min(first.size, l.size)
}

func pageRows(lines []line) []pageRow {
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(lines[b].bottom(), lines[a].bottom()) })
	var rows []pageRow
	for _, i := range order {
		l := lines[i]
		parts := l.parts
		if len(parts) == 0 {
			parts = []line{l}
		}
		if last := len(rows) - 1; last >= 0 && isBeside(rows[last].parts[0], l) {
			rows[last].parts = append(rows[last].parts, parts...)
			rows[last].lines = append(rows[last].lines, i)
			continue
		}
		rows = append(rows, pageRow{parts: slices.Clone(parts), lines: []int{i}})
	}
	for _, row := range rows {
		slices.SortStableFunc(row.parts, func(a, b line) int { return cmp.Compare(a.left, b.left) })
	}
	return rows
}

// columnsFrom counts the leading rows that share a vertical gap. It also returns the gap. The count is 0 if there is no
// gap.
func columnsFrom(rows []pageRow) (count int, gap span) {
	var gaps []span
	first := rows[0].parts
	for i := 1; i < len(first); i++ {
		gaps = append(gaps, span{first[i-1].right, first[i].left})
	}
	for ; count < len(rows); count++ {
		if count > 0 && rows[count-1].parts[0].top-rows[count].parts[0].top > maxColumnGap*rows[count].parts[0].size {
			break
		}
		var left []span
		for _, gap := range gaps {
			if gap = gap.without(rows[count].parts); gap.to-gap.from >= minGutter*rows[count].parts[0].size {
				left = append(left, gap)
			}
		}
		if len(left) == 0 {
			break
		}
		gaps = left
	}
	if len(gaps) == 0 {
		return 0, span{}
	}
	return count, gaps[0]
}

// without returns the part of a gap that the parts of a row leave free.
func (s span) without(parts []line) span {
	for _, p := range parts {
		switch {
		case p.right <= s.from || p.left >= s.to:
		case p.left <= s.from:
			s.from = p.right
		case p.right >= s.to:
			s.to = p.left
		default:
			return span{}
		}
	}
	return s
}

func sides(rows []pageRow, gutter float32) (left, right []line) {
	for _, row := range rows {
		n := 0
		for n < len(row.parts) && row.parts[n].left < gutter {
			n++
		}
		left, right = beside(left, row.parts[:n]), beside(right, row.parts[n:])
	}
	return left, right
}

// beside appends one line made of the parts of a row.
func beside(lines []line, parts []line) []line {
	if len(parts) == 0 {
		return lines
	}
	l := parts[0]
	for _, p := range parts[1:] {
		l.text += " " + p.text
		l.right = max(l.right, p.right)
	}
	if l.parts = nil; len(parts) > 1 {
		l.parts = parts
	}
	return append(lines, l)
}

// isProse reports whether lines are running text: most fill the column, and many begin within a sentence. Cells of
// tables are short, or rarely begin in lower case.
func isProse(lines []line) bool {
	if len(lines) < 3 {
		return false
	}
	left, right := lines[0].left, lines[0].right
	for _, l := range lines {
		left, right = min(left, l.left), max(right, l.right)
	}
	full, inside, cased, characters := 0, 0, 0, 0
	for _, l := range lines {
		if l.right-l.left >= 0.7*(right-left) {
			full++
		}
		first, _ := utf8.DecodeRuneInString(strings.TrimLeftFunc(l.text, unicode.IsPunct))
		if unicode.IsLower(first) {
			inside++
		}
		if unicode.IsLower(first) || unicode.IsUpper(first) {
			cased++
		}
		characters += utf8.RuneCountInString(l.text)
	}
	isRunning := cased*2 < len(lines) || inside*10 >= cased*3
	return isRunning && full*100 >= len(lines)*55 && characters >= 12*len(lines)
}

// hasHoles reports whether one side is blank in many rows between its first and its last line. Short table cells leave
// such blanks.
func hasHoles(rows []pageRow, gutter float32) bool {
	isAt := [2]func(line) bool{
		func(l line) bool { return l.left < gutter },
		func(l line) bool { return l.left >= gutter },
	}
	for _, is := range isAt {
		first, last, filled := -1, 0, 0
		for i, row := range rows {
			if slices.ContainsFunc(row.parts, is) {
				if first < 0 {
					first = i
				}
				last = i
				filled++
			}
		}
		if 10*filled < 7*(last-first+1) {
			return true
		}
	}
	return false
}
