package model

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const maxPromptEdits = 50

// PromptEdits are changes of parts of a prompt, in order.
type PromptEdits []*PromptEditInput

// Validate checks the edits and the note against their bounds. Apply checks the edits against the prompt.
func (in EditAgentPromptInput) Validate() error {
	var faults Fields
	if len(in.Edits) == 0 {
		faults.Add("edits", "must have at least one edit")
	}
	if faults.list("edits", len(in.Edits), maxPromptEdits) {
		for i, edit := range in.Edits {
			faults.text(fmt.Sprintf("edits.%d.before", i), edit.Before, 1, MaxPromptLength)
			faults.text(fmt.Sprintf("edits.%d.after", i), edit.After, 0, MaxPromptLength)
		}
	}
	faults.note("note", in.Note)
	return faults.Err()
}

// Apply returns the prompt with all edits. Each edit applies to the result of the edits before it. Apply returns
// BAD_INPUT for the first edit whose text does not occur exactly once, and for a result beyond the bounds of a prompt.
func (e PromptEdits) Apply(prompt string) (string, error) {
	var faults Fields
	for i, edit := range e {
		path := fmt.Sprintf("edits.%d.before", i)
		switch at := strings.Index(prompt, edit.Before); {
		case at < 0:
			faults.Add(path, "does not occur in the prompt%s. Copy the text exactly, with its spaces and line breaks",
				afterOthers(i))
		case at != strings.LastIndex(prompt, edit.Before):
			faults.Add(path, "occurs %d times in the prompt%s. Add the words around it, so that it occurs exactly once",
				max(2, strings.Count(prompt, edit.Before)), afterOthers(i)) // Count omits occurrences that overlap.
		default:
			prompt = prompt[:at] + edit.After + prompt[at+len(edit.Before):]
		}
		if faults != nil {
			return "", faults.Err()
		}
	}
	if n := utf8.RuneCountInString(prompt); n < 1 || n > MaxPromptLength {
		faults.Add("edits", "must leave a prompt of 1 to %d characters, not %d", MaxPromptLength, n)
	}
	if prompt != "" && !strings.ContainsFunc(prompt, isVisible) {
		faults.Add("edits", "must not leave a blank prompt")
	}
	return prompt, faults.Err()
}

// afterOthers is the part of a message that mentions earlier edits, or "" for the first edit.
func afterOthers(i int) string {
	if i == 0 {
		return ""
	}
	return " after the edits before it"
}
