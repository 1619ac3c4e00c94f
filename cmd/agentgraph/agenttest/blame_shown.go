package agenttest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/model"
)

// blamedTest is a test and the reason why it is red, as the server sends them.
type blamedTest struct {
	ID    string      `json:"id"`
	Name  string      `json:"name"`
	Agent *namedRef   `json:"agent"`
	Blame *blameShown `json:"blame"`
	// isRed is set if the newest judged run of the test, or of one of its rows, failed.
	isRed bool
}

type blameShown struct {
	GoodVersion int           `json:"goodVersion"`
	BadVersion  int           `json:"badVersion"`
	GoodRun     blamedRun     `json:"goodRun"`
	BadRun      blamedRun     `json:"badRun"`
	RowNumber   *int          `json:"rowNumber,omitempty"`
	RowName     *string       `json:"rowName,omitempty"`
	DivergesAt  *int          `json:"partsAt"`
	Changes     []changeShown `json:"changes"`
	Suspects    []changeShown `json:"suspects"`
	Estimate    estimateShown `json:"estimate"`
	Search      *searchShown  `json:"search"`
}

type blamedRun struct {
	ID       string         `json:"id"`
	Messages []messageShown `json:"messages"`
}

type changeShown struct {
	Number       int          `json:"number"`
	Section      *string      `json:"section"`
	Before       *string      `json:"before"`
	After        *string      `json:"after"`
	BeforePieces []pieceShown `json:"beforePieces"`
	AfterPieces  []pieceShown `json:"afterPieces"`
	Needed       []string     `json:"needed"`
	IsSuspect    bool         `json:"isSuspect"`
}

type pieceShown struct {
	Text      string `json:"text"`
	IsChanged bool   `json:"isChanged"`
	IsNeeded  bool   `json:"isNeeded"`
}

type estimateShown struct {
	Runs          int      `json:"runs"`
	RunsAtMost    int      `json:"runsAtMost"`
	Credits       *float64 `json:"credits"`
	CreditsAtMost *float64 `json:"creditsAtMost"`
}

type searchShown struct {
	ID             string        `json:"id"`
	Status         string        `json:"status"`
	Verdict        *string       `json:"verdict"`
	Error          *string       `json:"error"`
	GoodVersion    int           `json:"goodVersion"`
	BadVersion     int           `json:"badVersion"`
	Repeats        int           `json:"repeats"`
	Changes        []changeShown `json:"changes"`
	Steps          []stepShown   `json:"steps"`
	Cause          []changeShown `json:"cause"`
	IsOnlyCause    *bool         `json:"isOnlyCause"`
	RestoredPrompt *string       `json:"restoredPrompt"`
}

type stepShown struct {
	Restored    []int  `json:"restored"`
	ExecutionID string `json:"executionId"`
	Judged      *int   `json:"judged"`
	Passed      *int   `json:"passed"`
	IsRepaired  *bool  `json:"isRepaired"`
}

const blameFields = `fragment change on PromptChange {
	number section before after beforePieces { text isChanged isNeeded } afterPieces { text isChanged isNeeded } needed
		isSuspect
}
fragment search on BlameSearch {
	id status verdict error goodVersion badVersion repeats changes { ...change }
	steps { restored executionId judged passed isRepaired } cause { ...change } isOnlyCause restoredPrompt
}
`

// blameDocument reads the pieces of all changes only for JSON. Together they can exceed the limit of a response.
const blameDocument = blameFields + `query ($id: ID!, $repeats: Int!, $all: Boolean!) { agentTest(id: $id) { id name agent { id name }
	failingSince { promptVersion } blame {
	goodVersion badVersion goodRun { id messages { role text } } badRun { id messages { role text } } rowNumber rowName
	partsAt changes { number ...change @include(if: $all) } suspects { ...change }
	estimate(repeats: $repeats) { runs runsAtMost credits creditsAtMost }
	search { ...search }
} } }`

func readBlame(ctx context.Context, server *client.Client, id string, repeats int, all bool) (*blamedTest, error) {
	var read struct {
		AgentTest *struct {
			blamedTest
			FailingSince *struct{}
		}
	}
	err := server.Query(ctx, blameDocument, client.Variables{"id": id, "repeats": repeats, "all": all}, &read)
	if err == nil && read.AgentTest == nil {
		err = client.NotFound(fmt.Sprintf("test %q no longer exists", id))
	}
	if err != nil {
		return nil, err
	}
	test := read.AgentTest
	test.isRed = test.FailingSince != nil
	return &test.blamedTest, nil
}

func (t *blamedTest) title() string { return nameWithRow(t.Name, t.Blame.RowName, t.Blame.RowNumber) }

func (b *blameShown) suspects() []changeShown { return b.Suspects[:min(len(b.Suspects), maxSuspects)] }

// maxSuspects is how many suspected changes are shown.
const maxSuspects = 5

// describe shows the suspected changes, the answers of the passed and the failed run, the result of the last search,
// and the price of a new one.
func (t *blamedTest) describe(style client.Style) string {
	var text strings.Builder
	b := t.Blame
	fmt.Fprintf(&text, "%s\nLast passed with prompt version %d, failed with version %d: %s\n", style.Bold(t.title()),
		b.GoodVersion, b.BadVersion, client.Pluralize(len(b.Changes), "change"))
	for _, c := range b.suspects() {
		text.WriteString(c.describe(style))
	}
	switch {
	case len(b.Changes) == 0:
		text.WriteString("The words of the prompt did not change. Check " + model.OtherCauses + ", changed since.\n")
	case len(b.suspects()) == 0:
		text.WriteString("No change contains words that the failed checks look for.\n")
	}
	if b.DivergesAt != nil {
		text.WriteString(b.GoodRun.describeAnswer("Passed", *b.DivergesAt) +
			b.BadRun.describeAnswer("Failed", *b.DivergesAt))
	}
	if b.Search != nil && b.Search.Status == "Completed" {
		fmt.Fprintf(&text, "The last search, of versions %d and %d:\n%s", b.Search.GoodVersion, b.Search.BadVersion,
			b.Search.conclusion(style))
	}
	switch {
	case len(b.Changes) == 0:
	case !b.isSearchable():
		fmt.Fprintf(&text, "A search can examine at most %d changes.\n", model.MaxBlameChanges)
	default:
		fmt.Fprintf(&text, "A search takes %s if a suspect is the cause, otherwise up to %d. Price: %s\n",
			client.Pluralize(b.Estimate.Runs, "run"), b.Estimate.RunsAtMost, b.Estimate.price())
	}
	return text.String()
}

// isSearchable reports whether a search can find the cause.
func (b *blameShown) isSearchable() bool {
	return len(b.Changes) > 0 && len(b.Changes) <= model.MaxBlameChanges
}

func (e estimateShown) price() string {
	if e.Credits == nil || e.CreditsAtMost == nil {
		return "unknown"
	}
	return fmt.Sprintf("%s credits, at most %s", formatCredits(*e.Credits), formatCredits(*e.CreditsAtMost))
}

// describe shows a changed sentence, with the words that the failed checks need.
func (c changeShown) describe(style client.Style) string {
	var text strings.Builder
	fmt.Fprintf(&text, "[%d] %s", c.Number, c.kind())
	if c.Section != nil {
		text.WriteString(" in " + client.Quoted(*c.Section))
	}
	text.WriteString(":\n")
	if c.Before != nil {
		fmt.Fprintf(&text, "  - %s\n", formatPieces(style, c.BeforePieces))
	}
	if c.After != nil {
		fmt.Fprintf(&text, "  + %s\n", formatPieces(style, c.AfterPieces))
	}
	for _, needed := range c.Needed {
		fmt.Fprintf(&text, "  looked for: “%s”\n", client.Printable(needed))
	}
	return text.String()
}

func (c changeShown) kind() string {
	switch {
	case c.After == nil:
		return "lost"
	case c.Before == nil:
		return "added"
	case *c.Before == *c.After:
		return "moved"
	}
	return "rewritten"
}

func formatPieces(style client.Style, pieces []pieceShown) string {
	var text strings.Builder
	for _, piece := range pieces {
		part := client.Printable(piece.Text)
		if piece.IsNeeded {
			part = style.Bold(part)
		}
		text.WriteString(part)
	}
	return text.String()
}

// describeAnswer shows messages of a run, up to the agent's next answer. It starts at the index from, where the run
// first differs from the other run.
func (r blamedRun) describeAnswer(when string, from int) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s, %s:\n", when, r.ID)
	if from >= len(r.Messages) {
		text.WriteString("  the conversation had ended\n")
		return text.String()
	}
	for _, m := range r.Messages[from:] {
		fmt.Fprintf(&text, "  %s: %s\n", map[string]string{"assistant": "agent", "user": "contact"}[m.Role],
			client.Printable(m.Text))
		if m.Role == "assistant" {
			break
		}
	}
	return text.String()
}

func (s *searchShown) step(i int) string {
	step := s.Steps[i]
	return fmt.Sprintf("Step %d, restored %s: %d of %d passed\n", i+1, s.describeRestored(step.Restored), *step.Passed,
		*step.Judged)
}

// describeRestored names the restored changes by their numbers. If most changes are restored, it names the exceptions
// instead.
func (s *searchShown) describeRestored(numbers []int) string {
	var others []int
	for _, c := range s.Changes {
		if !slices.Contains(numbers, c.Number) {
			others = append(others, c.Number)
		}
	}
	switch {
	case len(numbers) == 0:
		return "nothing"
	case len(others) == 0:
		return "everything"
	case len(others) < len(numbers):
		return "everything except " + formatNumbers(others)
	}
	return formatNumbers(numbers)
}

// whole counts the runs with everything restored.
func (s *searchShown) whole() (passed, judged int) {
	for _, step := range s.Steps {
		if len(step.Restored) == len(s.Changes) && step.Judged != nil {
			passed, judged = passed+*step.Passed, judged+*step.Judged
		}
	}
	return passed, judged
}

func formatNumbers(numbers []int) string {
	parts := make([]string, len(numbers))
	for i, n := range numbers {
		parts[i] = fmt.Sprintf("[%d]", n)
	}
	return strings.Join(parts, " ")
}

func (s *searchShown) conclusion(style client.Style) string {
	var text strings.Builder
	text.WriteString(s.describeVerdict() + "\n")
	for _, c := range s.Cause {
		text.WriteString(c.describe(style))
	}
	return text.String()
}

func (s *searchShown) describeVerdict() string {
	if s.Verdict == nil {
		if s.Error == nil {
			return s.Status
		}
		return s.Status + ": " + client.Printable(*s.Error)
	}
	switch model.BlameVerdict(*s.Verdict) {
	case model.BlameVerdictFound:
		text := "Found: restoring one change repairs the test"
		if n := len(s.Cause); n > 1 {
			text = fmt.Sprintf("Found: restoring %d changes together repairs the test", n)
		}
		if s.IsOnlyCause != nil && *s.IsOnlyCause {
			return text + "; no other change does"
		}
		if s.IsOnlyCause != nil {
			return text + "; other changes repair it as well"
		}
		return text
	case model.BlameVerdictNotExplained:
		passed, judged := s.whole()
		return fmt.Sprintf("Not explained: with the whole prompt of version %d, %d of %d passed. The prompt is not the "+
			"cause, or not alone. Check %s, changed since", s.GoodVersion, passed, judged, model.OtherCauses)
	case model.BlameVerdictNotReproduced:
		return "Not reproduced: the test passes with the failing prompt now"
	}
	if len(s.Cause) > 0 {
		return fmt.Sprintf("Undecided: restoring %s repairs the test, but fewer changes may be enough",
			client.Pluralize(len(s.Cause), "change"))
	}
	return "Undecided: the results of the runs are too mixed. Search again with a larger --repeat"
}
