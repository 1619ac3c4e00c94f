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
	// A single change takes two steps: with it, and without it.
	usual := int32(min(usualSteps, 2*len(b.Changes)))
	if repeats == minBlameRepeats {
		usual += usual / 2 // the step with all changes restored and the one with the suspect are repeated
	}
	e := &BlameEstimate{Runs: usual * repeats, RunsAtMost: most * repeats}
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
	// MovedTo is where Is begins if the sentence was moved. At is then where Was would be.
	MovedTo *int `json:"movedTo,omitempty"`
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
	text, at, isJoined, isCut := "", 0, false, false
	changes = splitMoved(changes)
	numbers = withHeadings(changes, numbers)
	keep := func(end int) {
		if at < end {
			text = separate(text, bad, at, isJoined) + bad[at:end]
			isJoined = false
		}
		at = end
	}
	placed := onOwnLines(bad, changes)
	for i, c := range placed {
		if at < c.At {
			isCut = false
		}
		keep(c.At)
		if !slices.Contains(numbers, c.Number) {
			keep(c.At + len(c.Is))
			isCut = c.Is == ""
			continue
		}
		at += len(c.Is)
		text = c.appendTo(text, isCut)
		isInPlace := slices.Contains(changes, c) // onOwnLines did not move it
		isJoined = isInPlace && c.precedes(bad[at:], placed[i+1:])
		isCut = false
	}
	keep(len(bad))
	return text
}

// precedes reports whether the sentence was removed from the line of the text that follows it in the bad prompt. next
// are the changes after it.
func (c *PromptChange) precedes(rest string, next []*PromptChange) bool {
	isMidLine := c.Is == "" && (strings.HasSuffix(c.Was, " ") || endsUnspaced(c.Was))
	isNewLine := rest == "" || strings.IndexAny(rest, "-*+#0123456789") == 0
	isReplaced := len(next) == 0 || next[0].At > c.At || next[0].Was != "" && next[0].Is != ""
	return isMidLine && !isNewLine && isReplaced
}

// separate returns a text with the white space that parts it from the rest of the bad prompt at a position. isJoined is
// set if both are in one line.
func separate(text, bad string, at int, isJoined bool) string {
	if gap := missingBreak(text, bad[:at]); gap != "" && !isJoined {
		return strings.TrimRight(text, " \t") + gap
	}
	isGlued := text != "" && !strings.ContainsAny(text[len(text)-1:], " \t\r\n") && !endsUnspaced(text)
	if isGlued && strings.HasSuffix(bad[:at], " ") {
		return text + " "
	}
	return text
}

// endsUnspaced reports whether a text ends with a mark of Chinese or Japanese, which have no blanks between sentences.
func endsUnspaced(text string) bool {
	last, _ := utf8.DecodeLastRuneInString(text)
	return strings.ContainsRune("。！？｡", last)
}

// splitMoved returns moved sentences as a removed and an added one with the same number.
func splitMoved(changes []*PromptChange) []*PromptChange {
	var split, added []*PromptChange
	for _, c := range changes {
		if c.MovedTo != nil {
			added = append(added, &PromptChange{Number: c.Number, Is: c.Is, At: *c.MovedTo})
			c = new(*c)
			c.Is = ""
		}
		split = append(split, c)
	}
	split = append(split, added...)
	slices.SortStableFunc(split, func(a, b *PromptChange) int { return cmp.Compare(a.At, b.At) })
	return split
}

// appendTo appends the sentence in the good prompt to a text. isCut is set if the sentence before it is missing, too.
func (c *PromptChange) appendTo(text string, isCut bool) string {
	before := strings.TrimRight(text, " \t\r\n")
	switch {
	case text == "":
		return c.Was
	case c.Was == "" && before == strings.TrimRight(text, " \t"):
		return before + c.Is[len(strings.TrimRight(c.Is, " \t\r\n")):]
	case c.Was == "":
		return text
	}
	gap := " "
	if endsUnspaced(before) {
		gap = ""
	}
	endsLine := strings.HasSuffix(text, "\n")
	switch {
	case c.BeginsLine && !endsLine:
		return strings.TrimRight(text, " \t") + "\n" + c.Was
	case c.Is == "" && !c.BeginsLine && !isCut && endsLine && before != "":
		return before + gap + strings.TrimRight(c.Was, " \t\r\n") + text[len(before):] // it ended the line
	case endsLine || c.BeginsLine || len(before) < len(text):
		gap = ""
	}
	return text + gap + c.Was
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
		if c.Is == "" && c.At == from && c.At != place {
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
	if like == "" {
		like = "\n"
	}
	for _, end := range []string{"\n\n", "\n"} {
		if text != "" && strings.HasSuffix(like, end) {
			return end[min(len(end), len(text)-len(strings.TrimRight(text, "\n"))):]
		}
	}
	return ""
}

// bySuspicion returns the numbers of the changes, the most suspicious first.
func bySuspicion(changes []*PromptChange) []int32 {
	sorted := slices.SortedStableFunc(slices.Values(changes),
		func(a, b *PromptChange) int { return cmp.Compare(b.Suspicion, a.Suspicion) })
	return Map(sorted, func(c *PromptChange) int32 { return c.Number })
}
