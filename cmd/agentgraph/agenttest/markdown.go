package agenttest

import (
	"context"
	"fmt"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// maxBlamed is how many red tests a Markdown report explains.
const maxBlamed = 20

// writeMarkdown writes the report to the file: the outcome, the variants in tables, and for each failed test the words
// that its prompt lost. It does nothing if the path is empty.
func (r report) writeMarkdown(ctx context.Context, server *client.Client, path string) error {
	if path == "" {
		return nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "**%s**: %s\n", r.Outcome, escapeMarkdown(r.Reason))
	for _, table := range variantTables(r.Execution.Variants) {
		text.WriteString("\n" + markdownTable(table))
	}
	seen, left := map[string]bool{}, 0
	for _, run := range r.Runs {
		if r.isLost || run.Status != "Failed" || run.Test == nil || seen[run.Test.ID] {
			continue
		}
		if seen[run.Test.ID] = true; len(seen) > maxBlamed {
			left++
			continue
		}
		test, err := readBlame(ctx, server, run.Test.ID, 5, false)
		if err != nil {
			return err
		}
		switch {
		case test.Blame != nil:
			text.WriteString("\n" + test.markdown())
		case run.Variant == nil: // the passed runs of a variant are in a table instead
			text.WriteString("\n" + r.markdownWithoutBlame(test))
		}
	}
	if left > 0 {
		fmt.Fprintf(&text, "\n%s more failed.\n", client.Pluralize(left, "test"))
	}
	return client.WriteFile(path, []byte(text.String()), 0o644)
}

// markdownTable returns a table whose first row is the header.
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

// maxFailedRows is how many failed rows of a test a Markdown report lists.
const maxFailedRows = 5

// markdownWithoutBlame lists the failed rows of a test that has no run to compare with.
func (r report) markdownWithoutBlame(t *blamedTest) string {
	var text strings.Builder
	fmt.Fprintf(&text, "### %s\n\n", escapeMarkdown(t.Name))
	failed, passed := map[string]runShown{}, map[string]bool{}
	var subjects []string
	for _, run := range r.Runs {
		if run.Test == nil || run.Test.ID != t.ID {
			continue
		}
		subject := "The test"
		if row := rowLabel(run.RowName, run.RowNumber); row != "" {
			subject = "“" + escapeMarkdown(row) + "”"
		}
		passed[subject] = passed[subject] || run.Status == "Passed"
		if _, isKnown := failed[subject]; run.Status == "Failed" && !isKnown {
			subjects, failed[subject] = append(subjects, subject), run
		}
	}
	for _, subject := range subjects[:min(len(subjects), maxFailedRows)] {
		says := "failed"
		switch run := failed[subject]; {
		case passed[subject]:
			says = "failed in some runs and passed in others"
		case t.isRed && !run.IsDraft: // runs of drafts do not make a test red
			says = "never passed before"
		}
		fmt.Fprintf(&text, "%s %s.\n", subject, says)
	}
	if more := len(subjects) - maxFailedRows; more > 0 {
		fmt.Fprintf(&text, "%s more failed.\n", client.Pluralize(more, "row"))
	}
	return text.String()
}

// markdown describes why a test is red.
func (t *blamedTest) markdown() string {
	var text strings.Builder
	b := t.Blame
	fmt.Fprintf(&text, "### %s\n\n", escapeMarkdown(t.title()))
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
