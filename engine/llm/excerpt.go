package llm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Excerpt is a piece of a document that instructions hold, so that the model answers from it.
type Excerpt struct {
	// Number is what the model cites it by, from 1; 0 when it is not to be cited.
	Number int
	// Document is the name of the document.
	Document string
	Text     string
}

const (
	excerptHead = `<excerpt document="`
	excerptTail = "</excerpt>"
)

// excerpt matches what String writes.
var excerpt = regexp.MustCompile(`(?s)(?:\[(\d{1,4})\] )?` + excerptHead + `([^"\n]*)">\n(.*?)\n` + excerptTail)

var (
	oneLine = strings.NewReplacer("\"", "'", "\n", " ", "\r", " ")
	// inside keeps a text from looking like the end of its excerpt, or the beginning of another.
	inside = strings.NewReplacer("<excerpt", "< excerpt", excerptTail, "</ excerpt>")
)

// String is the excerpt as it stands in instructions: between marks that its text cannot contain.
func (e Excerpt) String() string {
	number := ""
	if e.Number > 0 {
		number = fmt.Sprintf("[%d] ", e.Number)
	}
	return number + excerptHead + oneLine.Replace(e.Document) + "\">\n" + inside.Replace(e.Text) + "\n" + excerptTail
}

// Excerpts returns the excerpts of instructions, in order, and the instructions without them.
func Excerpts(system string) ([]Excerpt, string) {
	var excerpts []Excerpt
	for _, found := range excerpt.FindAllStringSubmatch(system, -1) {
		number, _ := strconv.Atoi(found[1])
		excerpts = append(excerpts, Excerpt{Number: number, Document: found[2], Text: found[3]})
	}
	if excerpts == nil {
		return nil, system
	}
	return excerpts, excerpt.ReplaceAllString(system, "")
}
