package engine

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/model"
)

var (
	// citing matches a citation: "[1]", "[1, 3]". Longer numbers are years and the like.
	citing = regexp.MustCompile(`\[\d{1,3}(?:\s*[,;]\s*\d{1,3})*\]`)
	digits = regexp.MustCompile(`\d+`)
)

// cite returns a text without the citations of chunks that the model was not shown, and what the others stand for,
// each number once, lowest first. Nothing is cited when the chat does not show its sources.
func (r *retrieval) cite(text string) (string, []model.Citation) {
	var citations []model.Citation
	var kept strings.Builder
	rest := 0
	for _, at := range citing.FindAllStringIndex(text, -1) {
		// The text of a link.
		if strings.HasPrefix(text[at[1]:], "(") {
			continue
		}
		kept.WriteString(text[rest:at[0]])
		rest = at[1]
		var marks []string
		for _, written := range digits.FindAllString(text[at[0]:at[1]], -1) {
			number, _ := strconv.Atoi(written)
			if r.chat.PromptSettings.ShowQuote && number >= 1 && number <= len(r.shown) {
				marks = append(marks, strconv.Itoa(number))
				citations = append(citations, r.citation(number))
			}
		}
		if len(marks) > 0 {
			kept.WriteString("[" + strings.Join(marks, ", ") + "]")
			continue
		}
		// The blank that led to it goes as well.
		before := strings.TrimRight(kept.String(), " \t")
		kept.Reset()
		kept.WriteString(before)
		if before == "" || strings.HasSuffix(before, "\n") {
			rest += len(text[rest:]) - len(strings.TrimLeft(text[rest:], " \t"))
		}
	}
	kept.WriteString(text[rest:])
	slices.SortFunc(citations, func(a, b model.Citation) int { return int(a.Number - b.Number) })
	citations = slices.CompactFunc(citations, func(a, b model.Citation) bool { return a.Number == b.Number })
	return kept.String(), citations
}

func (r *retrieval) citation(number int) model.Citation {
	chunk := r.shown[number-1]
	return model.Citation{
		Number: int32(number), DocumentID: chunk.DocumentID, DocumentName: chunk.Document.Name,
		ChunkID: chunk.ID, Position: chunk.Position, Content: chunk.Content,
	}
}
