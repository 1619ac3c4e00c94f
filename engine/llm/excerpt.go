package llm

import (
	"fmt"
	"strconv"
	"strings"
)

// Excerpt is a part of a document in the instructions, for the model to answer from.
type Excerpt struct {
	// Number is the citation number, from 1, or 0 if the excerpt is not to be cited.
	Number int
	// Document is the name of the document.
	Document string
	Text     string
}

const (
	excerptHead = `<excerpt document="`
	excerptTail = "</excerpt>"
	// textHead and textTail enclose an excerpt's text.
	textHead, textTail = "\">\n", "\n" + excerptTail
	// maxDigits bounds the digits of an excerpt's number.
	maxDigits = 4
)

var (
	oneLine = strings.NewReplacer("\"", "'", "\n", " ", "\r", " ")
	// inside keeps a text from containing the marks of excerpts.
	inside = strings.NewReplacer("<excerpt", "< excerpt", excerptTail, "</ excerpt>")
)

// String returns the excerpt between marks that its text cannot contain.
func (e Excerpt) String() string {
	number := ""
	if e.Number > 0 {
		number = fmt.Sprintf("[%d] ", e.Number)
	}
	return number + excerptHead + oneLine.Replace(e.Document) + textHead + inside.Replace(e.Text) + textTail
}

// Excerpts returns the excerpts of instructions, in order, and the instructions without them.
func Excerpts(system string) ([]Excerpt, string) {
	var excerpts []Excerpt
	var without strings.Builder
	done, at := 0, 0
	for {
		head := strings.Index(system[at:], excerptHead)
		if head < 0 {
			break
		}
		head += at
		at = head + len(excerptHead)
		length := strings.IndexAny(system[at:], "\"\n")
		if length < 0 {
			break
		}
		text, isHead := strings.CutPrefix(system[at+length:], textHead)
		if !isHead {
			continue
		}
		text, _, isWhole := strings.Cut(text, textTail)
		if !isWhole {
			break // later ones have no end either
		}
		before, number := cutNumber(system[done:head])
		without.WriteString(before)
		excerpts = append(excerpts, Excerpt{Number: number, Document: system[at : at+length], Text: text})
		at += length + len(textHead) + len(text) + len(textTail)
		done = at
	}
	if excerpts == nil {
		return nil, system
	}
	return excerpts, without.String() + system[done:]
}

// cutNumber cuts the number of the following excerpt off the end of a text. The number is 0 if there is none.
func cutNumber(text string) (string, int) {
	marked, isMarked := strings.CutSuffix(text, "] ")
	open := strings.LastIndexByte(marked, '[')
	digits := marked[open+1:]
	isNumber := !strings.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' })
	if !isMarked || open < 0 || len(digits) == 0 || len(digits) > maxDigits || !isNumber {
		return text, 0
	}
	number, _ := strconv.Atoi(digits) // so few digits always fit
	return marked[:open], number
}
