package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/model"
)

const (
	cited = `\d{1,3}(?:\s*[-–]\s*\d{1,3})?`
	// listed matches the numbers of a citation.
	listed = `\s*` + cited + `(?:\s*[,;]\s*` + cited + `)*\s*`
)

var (
	// citing matches a citation: "[1]", "[1, 3]", "[1-3]". Some models write "【1】" or "【1†source】" instead. Longer
	// numbers, such as years, are not citations.
	citing = lazyregexp.New(`\[` + listed + `\]|【` + listed + `(?:†[^【】]*)?】`)
	// citedRange matches a number or a range of numbers.
	citedRange = lazyregexp.New(`(\d+)(?:\s*[-–]\s*(\d+))?`)
)

// cite removes citations of chunks that the model did not see. It returns the sources of the remaining citations, each
// number once, lowest first. If the contact may not see sources, cite removes all citations.
func (c *conversation) cite(text string) (string, []model.Citation) {
	r := c.knowledge
	var citations []model.Citation
	var kept strings.Builder
	copied := 0
	for _, at := range citing().FindAllStringIndex(text, -1) {
		// The brackets hold the text of a link, not a citation.
		if strings.HasPrefix(text[at[1]:], "(") {
			continue
		}
		kept.WriteString(text[copied:at[0]])
		copied = at[1]
		var marks []string
		for _, number := range numbersOf(text[at[0]:at[1]]) {
			if c.showsSources() && number >= 1 && number <= len(r.shown) {
				marks = append(marks, strconv.Itoa(number))
				citations = append(citations, r.citation(number))
			}
		}
		if len(marks) > 0 {
			kept.WriteString("[" + strings.Join(marks, ", ") + "]")
			continue
		}
		// Remove the space before the citation, too.
		before := strings.TrimRight(kept.String(), " \t")
		kept.Reset()
		kept.WriteString(before)
		if before == "" || strings.HasSuffix(before, "\n") {
			copied += len(text[copied:]) - len(strings.TrimLeft(text[copied:], " \t"))
		}
	}
	kept.WriteString(text[copied:])
	slices.SortFunc(citations, func(a, b model.Citation) int { return int(a.Number - b.Number) })
	citations = slices.CompactFunc(citations, func(a, b model.Citation) bool { return a.Number == b.Number })
	return kept.String(), citations
}

// numbersOf returns the numbers that a citation names, including those within its ranges.
func numbersOf(citation string) (numbers []int) {
	citation, _, _ = strings.Cut(citation, "†")
	for _, part := range citedRange().FindAllStringSubmatch(citation, -1) {
		first, _ := strconv.Atoi(part[1])
		last, err := strconv.Atoi(part[2])
		if err != nil {
			last = first
		}
		for number := min(first, last); number <= max(first, last); number++ {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

func (r *retrieval) citation(number int) model.Citation {
	chunk := r.shown[number-1]
	return model.Citation{
		Number: int32(number), DocumentID: chunk.DocumentID, DocumentName: chunk.Document.Name,
		ChunkID: chunk.ID, Position: chunk.Position, Content: chunk.Content,
	}
}
