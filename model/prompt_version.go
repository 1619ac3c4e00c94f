package model

import (
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// MaxNoteLength bounds the note of a prompt version, in characters.
const MaxNoteLength = 500

// PromptVersion is a current or former prompt of an agent. Only its note changes.
type PromptVersion struct {
	bun.BaseModel `bun:"table:prompt_versions,alias:prompt_version"`
	Owned

	ID        string `bun:",pk"`
	AgentID   string
	Version   int32
	Prompt    string
	CreatedAt time.Time
	APIKeyID  *string
	// Note says why the version was written. It is nil or not blank.
	Note *string
}

// SetNote replaces the note, without the white space around it. nil and a blank note become nil.
func (v *PromptVersion) SetNote(note *string) {
	v.Note = nil
	if note != nil {
		if text := strings.TrimSpace(*note); text != "" {
			v.Note = &text
		}
	}
}

// Validate checks a new note against its bounds.
func (in UpdatePromptVersionInput) Validate() error {
	var faults Fields
	faults.note("note", &in.Note)
	return faults.Err()
}

func (f *Fields) note(path string, note *string) {
	if note != nil {
		f.text(path, *note, 0, MaxNoteLength)
	}
}

// draft records the faults of a draft prompt.
func (f *Fields) draft(path string, prompt *string) {
	if prompt != nil {
		f.text(path, *prompt, 1, MaxPromptLength)
	}
}

// PromptVersionTestRuns counts the judged runs of an agent's tests with one prompt version.
type PromptVersionTestRuns struct {
	Judged int32
	Passed int32
}

// Cursor returns the position of this object in a list of versions.
func (v *PromptVersion) Cursor() Cursor { return Cursor{v.CreatedAt, v.ID} }
