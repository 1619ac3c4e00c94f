package model

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// AgentTestBlame compares the newest failed run of a red test with the last run that passed.
type AgentTestBlame struct {
	Owned

	GoodVersion int32
	BadVersion  int32
	GoodRunID   string
	BadRunID    string
	// RowKey is the key of the test's row, empty without rows.
	RowKey    string
	RowNumber *int32
	RowName   *string
	// PartsAt is the index of the first message that differs, or nil if none does.
	PartsAt *int32
	// Changes are the changes from the good prompt to the bad one, in the order of the prompts.
	Changes []*PromptChange
	// RunCredits is the mean cost of the two runs. Nil if none is known.
	RunCredits *Credits
	// Search is the last search, or nil.
	Search *BlameSearch
}

// Suspects returns the changes with IsSuspect.
func (b *AgentTestBlame) Suspects() []*PromptChange {
	return slices.DeleteFunc(slices.Clone(b.Changes), func(c *PromptChange) bool { return !c.IsSuspect })
}

// Estimate returns what a search costs. It returns BAD_INPUT when repeats are out of bounds.
func (b *AgentTestBlame) Estimate(repeats int32) (*BlameEstimate, error) {
	var faults Fields
	faults.count("repeats", &repeats, minBlameRepeats, MaxRepeats)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	most := maxSteps(len(b.Changes))
	e := &BlameEstimate{Runs: min(usualSteps, most) * repeats, RunsAtMost: most * repeats}
	if b.RunCredits != nil {
		e.Credits, e.CreditsAtMost = new(*b.RunCredits*Credits(e.Runs)), new(*b.RunCredits*Credits(e.RunsAtMost))
	}
	return e, nil
}

// PromptChange is a sentence that differs between two prompts. It is stored in searches.
type PromptChange struct {
	// Number counts the changes of the prompts from 1.
	Number  int32   `json:"number"`
	Section *string `json:"section,omitempty"`
	// Was and Is are the sentence in the good and in the bad prompt, with the white space after it. At least one is
	// not empty. At is where Is begins in the bad prompt, in bytes.
	Was string `json:"was,omitempty"`
	Is  string `json:"is,omitempty"`
	At  int    `json:"at"`
	// BeginsLine is set if Was begins a line of the good prompt.
	BeginsLine   bool          `json:"beginsLine,omitempty"`
	BeforePieces []PromptPiece `json:"beforePieces"`
	AfterPieces  []PromptPiece `json:"afterPieces"`
	Needed       []string      `json:"needed"`
	// Suspicion orders the changes: those with a higher one are more likely to break the test.
	Suspicion int  `json:"suspicion"`
	IsSuspect bool `json:"isSuspect,omitempty"`
}

// PromptPiece is a part of a sentence.
type PromptPiece struct {
	Text      string `json:"text"`
	IsChanged bool   `json:"isChanged,omitempty"`
	IsNeeded  bool   `json:"isNeeded,omitempty"`
}

// Before returns the sentence in the good prompt, or nil.
func (c *PromptChange) Before() *string { return sentenceOf(c.Was) }

// After returns the sentence in the bad prompt, or nil.
func (c *PromptChange) After() *string { return sentenceOf(c.Is) }

func sentenceOf(text string) *string {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return &text
}

// RestorePrompt returns the bad prompt with some changes restored, by their numbers. It restores removed sentences with
// their heading, if that was removed too. All changes together give the good prompt, except for white space.
func RestorePrompt(bad string, changes []*PromptChange, numbers []int32) string {
	var text strings.Builder
	at := 0
	numbers = withHeadings(changes, numbers)
	keep := func(end int) {
		if at < end {
			text.WriteString(missingBreak(text.String(), bad[:at]))
			text.WriteString(bad[at:end])
		}
		at = end
	}
	for _, c := range onOwnLines(bad, changes) {
		keep(c.At)
		if !slices.Contains(numbers, c.Number) {
			keep(c.At + len(c.Is))
			continue
		}
		at += len(c.Is)
		written := text.String()
		gap := " "
		switch last, _ := utf8.DecodeLastRuneInString(written); {
		case c.BeginsLine:
			gap = "\n"
		case strings.ContainsRune("。！？｡", last):
			gap = "" // Chinese and Japanese have no blanks between sentences
		}
		if c.Was != "" && written != "" && !endsWith(written, gap) {
			text.WriteString(gap)
		}
		text.WriteString(c.Was)
	}
	keep(len(bad))
	return text.String()
}

// onOwnLines moves removed lines that RestorePrompt would insert within a line or a section of the bad prompt. It moves
// them after the sentences that were added there. The changes remain in the order of the bad prompt.
func onOwnLines(bad string, changes []*PromptChange) []*PromptChange {
	moved := make([]*PromptChange, len(changes))
	from, place := -1, 0
	for i, c := range changes {
		if c.Is == "" && c.BeginsLine && (c.At != from || c.headingLevel() > 0) {
			from, place = c.At, c.placeIn(bad, changes[i+1:])
		}
		if c.Is == "" && c.At == from {
			c = new(*c)
			c.At = place
		}
		moved[i] = c
	}
	slices.SortStableFunc(moved, func(a, b *PromptChange) int { return cmp.Compare(a.At, b.At) })
	return moved
}

// placeIn returns where a removed line goes in the bad prompt: after the sentences that were added where it was, as far
// as the line would split a line. A heading goes to the end of the section, so that these sentences stay in it.
func (c *PromptChange) placeIn(bad string, next []*PromptChange) int {
	at, place := c.At, c.At
	for _, n := range next {
		if n.Is == "" && n.At == c.At {
			continue
		}
		isPlace := beginsLine(bad, at) && (c.headingLevel() == 0 || strings.HasPrefix(bad[at:], "#"))
		if isPlace || n.Was != "" || n.At != at {
			break
		}
		if at += len(n.Is); beginsLine(bad, at) {
			place = at
		}
	}
	return place
}

// withHeadings adds the removed headings of removed sentences to the numbers of changes. Otherwise the sentences would
// be restored in another section.
func withHeadings(changes []*PromptChange, numbers []int32) []int32 {
	numbers = slices.Clone(numbers)
	for i, c := range slices.Backward(changes) {
		if c.Is != "" || c.Section == nil || !slices.Contains(numbers, c.Number) {
			continue
		}
		for _, above := range slices.Backward(changes[:i]) {
			level, own := above.headingLevel(), c.headingLevel()
			if level == 0 || strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(above.Was), "#")) != *c.Section {
				continue
			}
			if above.Is == "" && (own == 0 || own > level) {
				numbers = append(numbers, above.Number)
			}
			break
		}
	}
	return numbers
}

// headingLevel returns the number of marks of the sentence in the good prompt if it is a heading, else 0.
func (c *PromptChange) headingLevel() int {
	line := strings.TrimSpace(c.Was)
	if !c.BeginsLine {
		return 0
	}
	return len(line) - len(strings.TrimLeft(line, "#"))
}

// beginsLine reports whether a line of a text begins at a position, in bytes. The end of the text counts as well.
func beginsLine(text string, at int) bool {
	return at == 0 || at == len(text) || text[at-1] == '\n'
}

// missingBreak returns the line feeds to append to a text, so that it ends with a line feed or an empty line if like
// does.
func missingBreak(text, like string) string {
	for _, end := range []string{"\n\n", "\n"} {
		if text != "" && strings.HasSuffix(like, end) {
			return end[min(len(end), len(text)-len(strings.TrimRight(text, "\n"))):]
		}
	}
	return ""
}

// endsWith reports whether a text ends with a line feed or, if the gap is a blank, with any white space.
func endsWith(text, gap string) bool {
	return strings.HasSuffix(text, "\n") || gap == " " && strings.TrimRight(text, " \t") != text
}

// bySuspicion returns the numbers of the changes, the most suspicious first.
func bySuspicion(changes []*PromptChange) []int32 {
	sorted := slices.SortedStableFunc(slices.Values(changes),
		func(a, b *PromptChange) int { return cmp.Compare(b.Suspicion, a.Suspicion) })
	return Map(sorted, func(c *PromptChange) int32 { return c.Number })
}
