package content

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/model"
)

// MaxRendered bounds a text with its placeholders filled, in bytes. Values can be much longer than their names.
const MaxRendered = 1 << 20

// Placeholder matches placeholders. It never matches JSON objects, whose names are quoted.
var Placeholder = lazyregexp.New(`\{[A-Za-z_][A-Za-z0-9_.]*\}`)

// Render fills the placeholders of a text, but not placeholders within values. A placeholder without a value stays, and
// its name is returned: each name once, in order. The error is UNPROCESSABLE if the result is too long.
func Render(text string, values Values) (string, []string, error) {
	filled, unknown := Fill(text, values.Text)
	if len(filled) > MaxRendered {
		return "", nil, model.Errorf(model.Unprocessable, "the agent's text is too long after the data bag's values are "+
			"filled in")
	}
	return filled, unknown, nil
}

// Filled returns a text with its placeholders filled, cut to MaxRendered. Placeholders without a value stay.
func (b Values) Filled(text string) string {
	filled, _ := Fill(text, b.Text)
	return Cut(filled, MaxRendered)
}

// FillOptional fills the placeholders of a text that may be nil. write encodes each value.
func (b Values) FillOptional(text *string, write func(value string) string) *string {
	if text == nil {
		return nil
	}
	filled, _ := Fill(*text, func(name string) (string, bool) {
		value, known := b.Text(name)
		return write(value), known
	})
	return &filled
}

// Unfilled returns warnings about placeholders without a value. The argument where names the text in the warnings.
func Unfilled(where string, unknown []string) []string {
	warnings := make([]string, len(unknown))
	for i, name := range unknown {
		warnings[i] = fmt.Sprintf("%s has the placeholder {%s}, which has no value and is left unchanged", where, name)
	}
	return warnings
}

// Fill does the same as Render, with values from a function. If the result becomes too long, Fill stops and returns it.
func Fill(text string, valueOf func(name string) (string, bool)) (string, []string) {
	return FillAt(text, Placeholder().FindAllStringIndex(text, -1), MaxRendered,
		func(_ int, name string) (string, bool) { return valueOf(name) })
}

// FillAt fills the placeholders at the given positions. Their values may depend on their index. If the result has more
// bytes than the limit, FillAt stops and returns it.
func FillAt(text string, places [][]int, limit int, valueOf func(i int, name string) (string, bool)) (string,
	[]string) {
	var filled strings.Builder
	var unknown []string
	copied := 0
	for i, at := range places {
		name := text[at[0]+1 : at[1]-1]
		value, ok := valueOf(i, name)
		if !ok {
			if !slices.Contains(unknown, name) {
				unknown = append(unknown, name)
			}
			continue
		}
		filled.WriteString(text[copied:at[0]])
		filled.WriteString(value)
		copied = at[1]
		if filled.Len() > limit {
			return filled.String(), unknown
		}
	}
	filled.WriteString(text[copied:])
	return filled.String(), unknown
}
