package knowledge

import (
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

var (
	question = lazyregexp.New(`^(?i:questions?\s*(?:n[°o]\s*)?\d*\s*[:.)–—-]|q\s*\d*\s*[:.)])\s*(.*)$`)
	answer   = lazyregexp.New(
		`^(?i:(?:answer|réponse|reponse)s?\s*(?:n[°o]\s*)?\d*\s*[:.)–—-]|(?:ans|rép|rep|a|r)\s*\d*\s*[:.)])\s*(.*)$`)

	questionColumns = []string{"question", "questions", "q"}
	answerColumns   = []string{"answer", "answers", "réponse", "réponses", "reponse", "reponses", "a", "r"}
)

// cutPairs keeps each question with its answer. Pairs are two columns of a row, lines with marks such as "Q:" and "A:",
// or lines with a tab between them. Without any of these, each heading and the text under it are a pair. Text between
// pairs is cut by cutAtDelimiters.
func (c *cutter) cutPairs(text Text) string {
	blocks, _ := asRows(text)
	p := pairing{cutter: c}
	for _, b := range blocks {
		if b.Kind == Row {
			p.row(b)
			continue
		}
		for line := range strings.SplitSeq(b.String(), "\n") {
			p.line(line)
		}
	}
	p.closePair()
	if p.found {
		c.cutAtDelimiters(p.between.String())
		return ""
	}
	if c.bySection(outlineOf(text, nil), maxWhole) {
		return "The document contains no marked questions and answers; each heading was used as a question."
	}
	c.cutAtDelimiters(text.String())
	return "The document contains no questions and answers; it was split by the method naive."
}

type pairing struct {
	*cutter
	found bool
	// question and answer are the current pair. hasAnswer is set once the answer has started.
	question, answer       strings.Builder
	hasQuestion, hasAnswer bool
	// header is the header of the current table.
	header []string
	// between has the text outside of pairs.
	between strings.Builder
}

// pair adds the text before a pair, and then the question with its answer.
func (p *pairing) pair(question, answer string) {
	p.cutAtDelimiters(p.between.String())
	p.between.Reset()
	p.keepTogether(strings.TrimSpace(question), strings.TrimSpace(answer))
	p.found = true
}

// closePair closes the current pair. A question without an answer becomes ordinary text.
func (p *pairing) closePair() {
	switch {
	case p.hasAnswer:
		p.pair(p.question.String(), p.answer.String())
	case p.hasQuestion:
		p.between.WriteString(p.question.String())
	}
	p.question.Reset()
	p.answer.Reset()
	p.hasQuestion, p.hasAnswer = false, false
}

// row reads a pair from the columns with the names of questions and answers. Without these, the first non-empty column
// is the question, and the others are its answer.
func (p *pairing) row(b Block) {
	p.closePair()
	q, a := column(b.Header, questionColumns), column(b.Header, answerColumns)
	if q >= 0 && a >= 0 && q < len(b.Cells) && a < len(b.Cells) {
		p.cells(b.Cells[q], b.Cells[a])
		return
	}
	// A table of two columns often has no header. Then its first pair was read as the header.
	if !slices.Equal(p.header, b.Header) && len(b.Header) == 2 && strings.ContainsAny(b.Header[0], " ?") {
		p.cells(b.Header[0], b.Header[1])
	}
	p.header = b.Header
	if cells := nonBlank(b.Cells); len(cells) >= 2 {
		p.cells(cells[0], strings.Join(cells[1:], "\n"))
	} else {
		p.between.WriteString(strings.Join(cells, "") + "\n")
	}
}

func (p *pairing) cells(question, answer string) {
	if question == "" || answer == "" {
		p.between.WriteString(question + answer + "\n")
		return
	}
	p.pair(question, answer)
}

func column(header, names []string) int {
	return slices.IndexFunc(header, func(name string) bool { return slices.Contains(names, strings.ToLower(name)) })
}

func (p *pairing) line(line string) {
	text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- "))
	if asked := question().FindStringSubmatch(text); asked != nil {
		p.closePair()
		p.hasQuestion = true
		p.question.WriteString(asked[1] + "\n")
		return
	}
	if answered := answer().FindStringSubmatch(text); answered != nil && p.hasQuestion && !p.hasAnswer {
		p.hasAnswer = true
		p.answer.WriteString(answered[1] + "\n")
		return
	}
	left, right, tab := strings.Cut(text, "\t")
	switch right = strings.TrimSpace(right); {
	case tab && right != "" && !strings.Contains(right, "\t"):
		p.closePair()
		p.hasQuestion, p.hasAnswer = true, true
		p.question.WriteString(left)
		p.answer.WriteString(right + "\n")
	case p.hasAnswer:
		p.answer.WriteString(text + "\n")
	case p.hasQuestion:
		p.question.WriteString(text + "\n")
	default:
		p.between.WriteString(text + "\n")
	}
}
