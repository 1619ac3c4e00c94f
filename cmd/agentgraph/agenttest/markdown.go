package agenttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

const (
	// maxBlamed is how many failed tests a Markdown report explains.
	maxBlamed = 20
	// maxListed is how many failed rows of a test, criteria of a run, or errors a Markdown report lists.
	maxListed = 5
	// maxMarkdown bounds a Markdown report, in bytes. GitHub refuses comments of more than 65,536 characters.
	maxMarkdown = 60_000
	// maxMarkdownPart bounds a table and the changes of a test's prompt, in bytes.
	maxMarkdownPart = 15_000
	// maxMarkdownLine bounds a text that people or models wrote, in characters.
	maxMarkdownLine = 300
)

// writeMarkdown writes the report to the file: the outcome, the counts, the comparison, the variants in tables, each
// failed test with its criteria and the words that its prompt lost, and the errors. The console is the address of the
// console, or "". writeMarkdown does nothing if the path is empty.
func (r report) writeMarkdown(ctx context.Context, server *client.Client, console, path string) error {
	if path == "" {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "**%s**: %s\n\n%s: %v\n", r.Outcome, markdownLine(r.Reason),
		client.Pluralize(r.Execution.Counts.Total, "run"), r.Execution.Counts)
	if r.Comparison != nil {
		line, _, _ := strings.Cut(r.Comparison.summary(r.Comparison.gateConclusion()), "\n")
		text.WriteString("\n" + escapeMarkdown(line) + "\n")
	}
	if page := r.page(); console != "" && page != "" {
		fmt.Fprintf(&text, "\n[Console](<%s%s>)\n", console, page)
	}
	for _, table := range variantTables(r.Execution.Variants) {
		if part := "\n" + markdownTable(table); len(part) <= maxMarkdownPart {
			text.WriteString(part)
		}
	}
	errorList := r.markdownErrors()
	failure := r.writeFailedTests(ctx, server, &text, maxMarkdown-len(errorList))
	text.WriteString(errorList)
	return errors.Join(failure, client.WriteFile(path, []byte(strings.TrimRight(text.String(), "\n")+"\n"), 0o644))
}

// writeFailedTests writes a section for each failed test, and counts those that exceed the limit.
func (r report) writeFailedTests(ctx context.Context, server *client.Client, text *strings.Builder,
	limit int) (failure error) {
	seen, left := map[string]bool{}, 0
	for _, run := range r.Runs {
		if run.Status != "Failed" || run.Test == nil || seen[run.Test.ID] {
			continue
		}
		if seen[run.Test.ID] = true; len(seen) > maxBlamed {
			left++
			continue
		}
		var test *blamedTest
		if !r.isLost && failure == nil {
			test, failure = readBlame(ctx, server, run.Test.ID, 5, false)
		}
		section := r.markdownFailed(run, test)
		if run.Variant != nil && section == "" { // the passed runs of a variant are in a table instead
			continue
		}
		if text.Len()+len(section) > limit {
			left++
			continue
		}
		text.WriteString(strings.TrimRight(section, "\n") + "\n")
	}
	if left > 0 {
		fmt.Fprintf(text, "\n%s more failed.\n", client.Pluralize(left, "test"))
	}
	return failure
}

// markdownFailed returns the section of a failed test. It has the words that the prompt lost if an earlier execution
// passed. The test is nil if the server was not asked.
func (r report) markdownFailed(run runShown, test *blamedTest) string {
	_, class := run.agentAndClass()
	heading := "\n### " + markdownLine(class) + ": "
	isOwn := test != nil && test.Blame != nil && slices.ContainsFunc(r.Runs, func(own runShown) bool {
		return own.ID == test.Blame.GoodRun.ID
	})
	if test != nil && test.Blame != nil && !isOwn {
		if changes := test.markdownChanges(); len(changes) <= maxMarkdownPart {
			failed := r.failedRunLike(run, test.Blame)
			return heading + markdownLine(test.title()) + "\n\n" + failed.markdownUnmet() + changes
		}
	}
	if run.Variant != nil {
		return ""
	}
	neverPassed := test != nil && test.isRed && test.Blame == nil
	return heading + markdownLine(run.TestName) + "\n\n" + r.markdownRows(run.Test.ID, neverPassed)
}

func (r report) failedRunLike(run runShown, blame *blameShown) runShown {
	for _, other := range r.Runs {
		if other.ID == blame.BadRun.ID {
			return other
		}
	}
	return run
}

func (r runShown) markdownUnmet() string {
	var unmet []string
	if r.ClassificationResult != nil {
		unmet = append(unmet, r.ClassificationResult.summary())
	}
	for _, verdict := range r.verdicts() {
		if !verdict.passed {
			unmet = append(unmet, "not met: "+verdict.title())
		}
	}
	return markdownList(unmet)
}

func (r report) markdownErrors() string {
	var lines []string
	for _, run := range r.Runs {
		if run.Error != nil {
			_, class := run.agentAndClass()
			lines = append(lines, class+": "+run.title()+": "+run.Error.String())
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "\n### Not judged\n\n" + markdownList(lines)
}

// markdownList returns a list of the first lines, and the number of the others. It ends with an empty line.
func markdownList(lines []string) string {
	var text strings.Builder
	for _, line := range lines[:min(len(lines), maxListed)] {
		text.WriteString("- " + markdownLine(line) + "\n")
	}
	if more := len(lines) - maxListed; more > 0 {
		fmt.Fprintf(&text, "- %d more\n", more)
	}
	if text.Len() > 0 {
		text.WriteString("\n")
	}
	return text.String()
}

// markdownLine escapes the first characters of a text.
func markdownLine(text string) string {
	if runes := []rune(client.Printable(text)); len(runes) > maxMarkdownLine {
		text = string(runes[:maxMarkdownLine]) + "…"
	}
	return escapeMarkdown(text)
}

func markdownTable(rows [][]string) string {
	var text strings.Builder
	for i, row := range rows {
		for _, cell := range row {
			text.WriteString("| " + escapeMarkdown(cell) + " ")
		}
		if text.WriteString("|\n"); i == 0 {
			text.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return text.String()
}

// markdownRows lists the failed rows of a test, with what they did not meet.
func (r report) markdownRows(testID string, neverPassed bool) string {
	var text strings.Builder
	failed, passed := map[string]runShown{}, map[string]bool{}
	var subjects []string
	for _, run := range r.Runs {
		if run.Test == nil || run.Test.ID != testID {
			continue
		}
		subject := "The test"
		if row := rowLabel(run.RowName, run.RowNumber); row != "" {
			subject = "“" + markdownLine(row) + "”"
		}
		passed[subject] = passed[subject] || run.Status == "Passed"
		if _, isKnown := failed[subject]; run.Status == "Failed" && !isKnown {
			subjects, failed[subject] = append(subjects, subject), run
		}
	}
	for _, subject := range subjects[:min(len(subjects), maxListed)] {
		says, run := "failed", failed[subject]
		switch {
		case passed[subject]:
			says = "failed in some runs and passed in others"
		case neverPassed && !run.IsDraft: // runs of drafts do not make a test red
			says = "never passed before"
		}
		fmt.Fprintf(&text, "%s %s.\n\n%s", subject, says, run.markdownUnmet())
	}
	if more := len(subjects) - maxListed; more > 0 {
		fmt.Fprintf(&text, "%s more failed.\n", client.Pluralize(more, "row"))
	}
	return text.String()
}

func (t *blamedTest) markdown() string {
	return fmt.Sprintf("### %s\n\n%s", escapeMarkdown(t.title()), t.markdownChanges())
}

func (t *blamedTest) markdownChanges() string {
	var text strings.Builder
	b := t.Blame
	changes := b.suspects()
	if b.Search != nil && b.Search.Verdict != nil && b.Search.GoodVersion == b.GoodVersion &&
		b.Search.BadVersion == b.BadVersion {
		fmt.Fprintf(&text, "%s.\n", b.Search.describeVerdict())
		if len(b.Search.Cause) > 0 {
			changes = b.Search.Cause
		}
	}
	switch {
	case len(b.Changes) == 0:
		fmt.Fprintf(&text, "It passed before with the same prompt, version %d.\n", b.GoodVersion)
	case len(changes) == 0:
		fmt.Fprintf(&text, "None of the %s from prompt version %d to %d contains words that the failed checks look for.\n",
			client.Pluralize(len(b.Changes), "change"), b.GoodVersion, b.BadVersion)
	default:
		fmt.Fprintf(&text, "From prompt version %d to %d:\n\n", b.GoodVersion, b.BadVersion)
	}
	for _, c := range changes {
		text.WriteString(c.markdown())
	}
	return text.String()
}

// markdown returns an item with a changed sentence. The words that the failed checks need are bold.
func (c changeShown) markdown() string {
	var text strings.Builder
	text.WriteString("- " + c.kind())
	if c.Section != nil {
		fmt.Fprintf(&text, " in “%s”", escapeMarkdown(*c.Section))
	}
	text.WriteString(": ")
	if c.Before != nil {
		fmt.Fprintf(&text, "“%s”", boldInMarkdown(c.BeforePieces))
	}
	if c.Before != nil && c.After != nil {
		text.WriteString(" became ")
	}
	if c.After != nil {
		fmt.Fprintf(&text, "“%s”", boldInMarkdown(c.AfterPieces))
	}
	return text.String() + "\n"
}

func boldInMarkdown(pieces []pieceShown) string {
	var text strings.Builder
	for _, piece := range pieces {
		part := escapeMarkdown(piece.Text)
		if piece.IsNeeded {
			part = "**" + part + "**"
		}
		text.WriteString(part)
	}
	return text.String()
}

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`,
	"<", "&lt;", ">", "&gt;", "#", `\#`, "@", "&#64;", "|", `\|`, "~", `\~`)

// escapeMarkdown escapes a text for one line of Markdown. An @ in it does not notify a user.
func escapeMarkdown(text string) string { return markdownEscapes.Replace(client.Printable(text)) }
