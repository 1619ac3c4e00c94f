package offline

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
)

// maxKnown bounds the sentences of an excerpt that one reply quotes.
const maxKnown = 3

// quotation is what a reply quotes.
type quotation struct {
	sentences []string
	// isKnown: the sentences are knowledge, not instructions.
	isKnown bool
	// number is the number of their excerpt, 0 if there is none or it is not to be cited.
	number int
}

// relevant returns the sentences that share words with the subject, if any: of the excerpts of documents, else of other
// knowledge, else of the instructions.
func (c *conversation) relevant(subject []string) quotation {
	subject = slices.DeleteFunc(slices.Clone(subject), read.IsEmpty)
	if found := c.excerpt(subject); len(found.sentences) > 0 {
		return found
	}
	found, isKnown := c.quotable(subject)
	return quotation{sentences: found, isKnown: isKnown}
}

// excerpt returns the sentences of one excerpt that share most words with the subject, in their original order.
func (c *conversation) excerpt(subject []string) quotation {
	var passages []passage
	var owners []int
	for i, e := range c.excerpts {
		for _, p := range recall(c.memory, "excerpt", func() []passage { return sentencesOf(e) }, e.Document, e.Text) {
			passages, owners = append(passages, p), append(owners, i)
		}
	}
	scores, shared := sharing(passages, subject)
	best := -1
	for i := range passages {
		if shared[i] >= max(1, leastShared(subject)) && (best < 0 || scores[i] > scores[best]) {
			best = i
		}
	}
	if best < 0 {
		return quotation{}
	}
	var chosen []int
	for i := range passages {
		if owners[i] == owners[best] && scores[i] >= scores[best]/2 {
			chosen = append(chosen, i)
		}
	}
	slices.SortStableFunc(chosen, func(i, j int) int { return cmp.Compare(scores[j], scores[i]) })
	chosen = chosen[:min(len(chosen), maxKnown)]
	slices.Sort(chosen)
	found := quotation{isKnown: true, number: c.excerpts[owners[best]].Number}
	for _, i := range chosen {
		found.sentences = append(found.sentences, passages[i].text)
	}
	return found
}

// sentencesOf splits an excerpt into what may be quoted. A sentence is also about the words of the headings above it,
// and an answer about those of its question.
func sentencesOf(e llm.Excerpt) []passage {
	var passages []passage
	above := read.Concepts(e.Document)
	var asked []string
	lines := read.Sentences(e.Text)
	for i, line := range lines {
		sentence, isItem := read.CutListMark(strings.TrimSpace(line))
		isHeading := strings.HasPrefix(line, "#") ||
			i == 0 && len(lines) > 1 && !isItem && !strings.ContainsAny(lastOf(line), ".!?;:")
		switch {
		case sentence == "" || strings.HasSuffix(sentence, ":"):
		case isHeading:
			above = append(above, read.Concepts(sentence)...)
		case strings.HasSuffix(sentence, "?"):
			asked = read.Concepts(sentence)
		default:
			passages = append(passages, passage{text: read.Ended(sentence), content: slices.Concat(read.Concepts(sentence),
				asked, above)})
		}
	}
	return passages
}

func lastOf(text string) string {
	text = strings.TrimSpace(text)
	return text[max(0, len(text)-1):]
}

func (q quotation) cited(text string) string {
	if q.number == 0 {
		return text
	}
	return text + " [" + strconv.Itoa(q.number) + "]"
}
