package knowledge

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

// withoutRunningLines drops the first and last lines of pages if more than half of the pages share them. A page number
// may differ. Text is never dropped if nothing else would be left.
func withoutRunningLines(pages [][]line) [][]line {
	if len(pages) < 4 {
		return pages
	}
	sizes := headingSizes(pages)
	edges := func(page int, l line) []edge { return edgesOf(l, page, slices.Contains(sizes, round(l.size))) }
	seen := map[edge]int{}
	for i, page := range pages {
		for j, l := range page {
			if isEdge(j, len(page)) {
				for _, e := range edges(i, l) {
					seen[e]++
				}
			}
		}
	}
	out, isEmpty := make([][]line, len(pages)), true
	for i, page := range pages {
		for j, l := range page {
			isShared := func(e edge) bool { return seen[e] > len(pages)/2 }
			if !isEdge(j, len(page)) || !slices.ContainsFunc(edges(i, l), isShared) {
				out[i] = append(out[i], l)
				isEmpty = false
			}
		}
	}
	if isEmpty {
		return pages
	}
	return out
}

func isEdge(i, lines int) bool { return i == 0 || i == lines-1 }

// edge is the height of a line and its text, in which a page number may be replaced.
type edge struct {
	text string
	top  int
}

// maxRunningLine is the maximum length of a line with a page number, in bytes. Each of its numbers costs a copy.
const maxRunningLine = 500

var digits = lazyregexp.New(`\d+`)

// edgesOf returns the line as it is, and a copy for each of its numbers. The copy has the number's distance from the
// page's index instead of the number, so pages share the copy if it is the page number. A title in larger type gets no
// copies, because its number only looks like a page number, as in "Article 1" and "Article 2".
func edgesOf(l line, page int, isTitle bool) []edge {
	edges := []edge{{l.text, round(l.top)}}
	if isTitle || len(l.text) > maxRunningLine {
		return edges
	}
	for _, at := range digits().FindAllStringIndex(l.text, -1) {
		if n, err := strconv.Atoi(l.text[at[0]:at[1]]); err == nil {
			text := fmt.Sprintf("%s\x00%d\x00%s", l.text[:at[0]], n-page, l.text[at[1]:])
			edges = append(edges, edge{text, round(l.top)})
		}
	}
	return edges
}
