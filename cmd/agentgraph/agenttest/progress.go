package agenttest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// progress shows runs as they end. A terminal shows a bar with the counts. Above the bar, it lists the runs that failed
// or ended with an error. Other outputs list every run that was not skipped.
type progress struct {
	out    io.Writer
	style  client.Style
	bars   *mpb.Progress // bars and bar are nil without a terminal
	bar    *mpb.Bar
	counts atomic.Value
	// err is the first error of writing.
	err error
}

func newProgress(out io.Writer, execution executionShown) *progress {
	p := &progress{out: out, style: client.StyleOf(out)}
	p.counts.Store(execution.Counts)
	p.write(fmt.Sprintf("Execution %s: %s\n", execution.ID, client.Pluralize(execution.Counts.Total, "run")))
	if cli.IsTerminal(out) {
		p.bars = mpb.New(mpb.WithOutput(out))
		// The bar's own spaces are left out on a narrow terminal, where there is no room for the bar.
		p.bar = p.bars.New(int64(execution.Counts.Total), mpb.BarStyle().Rbound("] "), mpb.BarFillerTrim(),
			mpb.PrependDecorators(decor.CountersNoUnit("%d/%d ")),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
				counts := p.counts.Load().(countsShown)
				return fmt.Sprintf("%v, %d running", counts, counts.Running)
			})))
	}
	return p
}

func (p *progress) changed(run runShown, counts countsShown) {
	if run.isEnded() && run.Status != "Skipped" && (p.bar == nil || run.Status == "Failed" || run.Status == "Error") {
		p.write(run.describe(p.style))
	}
	p.counts.Store(counts)
	if p.bar != nil {
		p.bar.SetCurrent(int64(counts.endedRuns()))
	}
}

func (p *progress) cancelling(why error) {
	text := "Cancelling the execution on the server"
	if errors.Is(why, errTimeout) {
		text = errTimeout.Error() + ": cancelling the execution on the server"
	}
	p.write(text + "\n")
}

// close ends the bar. It shows the outcome of the execution, and a link to its console page unless console is empty.
func (p *progress) close(final report, console string) {
	if p.bar != nil {
		p.bar.Abort(false)
		p.bars.Wait()
		p.bars = nil
	}
	p.write(final.summary(p.style))
	if page := final.page(); console != "" && page != "" {
		p.write("Console: " + console + page + "\n")
	}
}

// write writes whole lines, above the bar if there is one.
func (p *progress) write(lines string) {
	if p.bars != nil {
		if _, err := io.WriteString(p.bars, lines); err == nil {
			return
		}
	}
	_, err := io.WriteString(p.out, lines)
	p.err = cmp.Or(p.err, err)
}

// colored returns text in the color of a run's status or of an execution's outcome.
func colored(style client.Style, status, text string) string {
	switch status {
	case "Passed":
		return style.Green(text)
	case "Failed":
		return style.Red(text)
	case "Error", "Inconclusive":
		return style.Yellow(text)
	case "Cancelled", "Skipped":
		return style.Dim(text)
	}
	return text
}

// describe returns a line for the run, and further lines for what did not pass.
func (r runShown) describe(style client.Style) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s  %s", colored(style, r.Status, fmt.Sprintf("%-9s", r.Status)), r.title())
	if r.DurationMs != nil {
		fmt.Fprintf(&text, "  %s", milliseconds(*r.DurationMs))
	}
	fmt.Fprintf(&text, "  %s\n", r.ID)
	for _, verdict := range r.verdicts() {
		if !verdict.passed {
			verdict.describe(&text, style, "           ")
		}
	}
	if c := r.ClassificationResult; c != nil && !c.Passed {
		fmt.Fprintf(&text, "           %s %s\n             %s\n", style.Red("✗"), c.summary(), client.Printable(c.Rationale))
	}
	if r.Error != nil {
		fmt.Fprintf(&text, "           %s\n", r.Error)
	}
	return text.String()
}

// title returns the name of the run: its test, its row and its variant if it has them, and its attempt
// number.
func (r runShown) title() string {
	return fmt.Sprintf("%s [%d]", nameWithVariant(nameWithRow(r.TestName, r.RowName, r.RowNumber), r.Variant), r.Attempt)
}

func nameWithRow(testName string, rowName *string, rowNumber *int) string {
	if label := rowLabel(rowName, rowNumber); label != "" {
		testName += " (" + label + ")"
	}
	return client.Printable(testName)
}

// rowLabel returns the name of a row, or its number if it has no name. It returns "" if there is no row.
func rowLabel(name *string, number *int) string {
	switch {
	case name != nil:
		return client.Printable(*name)
	case number != nil:
		return fmt.Sprintf("row %d", *number)
	}
	return ""
}

// verdict is the outcome of a check or a criterion.
type verdict struct {
	what, why string
	weight    *int
	passed    bool
	// isInapplicable is set if the check or criterion does not apply to the conversation.
	isInapplicable bool
	evidence       []evidenceShown
	// agreement is the share of the judge's votes for the verdict, nil without votes.
	agreement *float64
}

func (r runShown) verdicts() []verdict {
	var all []verdict
	for _, c := range r.CheckResults {
		all = append(all, verdict{c.Expected, "Observed: " + c.Observed, c.Check.Weight, c.Passed, false, c.Evidence, nil})
	}
	for _, c := range r.CriteriaResults {
		all = append(all, verdict{c.Expected, c.Rationale, c.Weight, c.Passed, !c.Applies, c.Evidence, c.Agreement})
	}
	return all
}

// title returns the check or criterion, with its weight if it has one.
func (v verdict) title() string {
	if v.weight == nil {
		return client.Printable(v.what)
	}
	return fmt.Sprintf("%s (weight %d)", client.Printable(v.what), *v.weight)
}

func (v verdict) describe(text io.Writer, style client.Style, indent string) {
	mark := style.Red("✗")
	switch {
	case v.isInapplicable:
		mark = style.Dim("–")
	case v.passed:
		mark = style.Green("✓")
	}
	votes := ""
	if v.agreement != nil {
		votes = fmt.Sprintf(" (%.0f %% of votes)", 100**v.agreement)
	}
	_, _ = fmt.Fprintf(text, "%s%s %s%s\n%s  %s\n", indent, mark, v.title(), votes, indent, client.Printable(v.why))
	for _, evidence := range v.evidence {
		_, _ = fmt.Fprintf(text, "%s  %s: “%s”\n", indent, evidence.place(), client.Printable(evidence.Quote))
	}
}

func (c *classificationShown) summary() string {
	produced := "none"
	if c.TagProduced != nil {
		produced = client.Quoted(*c.TagProduced)
	}
	return "expected the tag " + client.Quoted(c.TagExpected) + ", produced " + produced
}

func (e *runErrorShown) String() string { return e.Cause + ": " + client.Printable(e.Message) }

func milliseconds(ms int) string {
	return (time.Duration(ms) * time.Millisecond).Round(time.Millisecond).String()
}

type checkShown struct {
	Check    describedCheck  `json:"check"`
	Expected string          `json:"expected"`
	Passed   bool            `json:"passed"`
	Observed string          `json:"observed"`
	Evidence []evidenceShown `json:"evidence"`
}

type describedCheck struct {
	Description string `json:"description"`
	Weight      *int   `json:"weight"`
}

type criterionShown struct {
	Criterion string          `json:"criterion"`
	Expected  string          `json:"expected"`
	Weight    *int            `json:"weight"`
	Passed    bool            `json:"passed"`
	Applies   bool            `json:"applies"`
	Agreement *float64        `json:"agreement,omitempty"`
	Rationale string          `json:"rationale"`
	Evidence  []evidenceShown `json:"evidence"`
}

type evidenceShown struct {
	MessageIndex int    `json:"messageIndex"`
	Quote        string `json:"quote"`
	// Kind is Said, Called or Result. It is nil in verdicts of older versions, which did not store it.
	Kind *string `json:"kind"`
}

// place returns where in the conversation the quote occurs.
func (e evidenceShown) place() string {
	switch {
	case e.Kind != nil && *e.Kind == "Called":
		return fmt.Sprintf("tool call before message %d", e.MessageIndex)
	case e.Kind != nil && *e.Kind == "Result":
		return fmt.Sprintf("tool result before message %d", e.MessageIndex)
	}
	return fmt.Sprintf("message %d", e.MessageIndex)
}

// writeMessages writes a conversation, each message with its index. The calls for an answer precede it.
func writeMessages(text io.Writer, messages []messageShown, calls []callShown) {
	for i, message := range messages {
		for _, call := range calls {
			if call.MessageSequence == i-1 {
				_, _ = fmt.Fprintf(text, "      %s\n", call)
			}
		}
		who := "contact"
		if message.Role == "assistant" {
			who = "agent"
		}
		_, _ = fmt.Fprintf(text, "[%d] %s: %s\n", i, who, client.Printable(message.Text))
	}
	// The calls of a failed turn have no answer after them.
	for _, call := range calls {
		if call.MessageSequence >= len(messages)-1 {
			_, _ = fmt.Fprintf(text, "      %s\n", call)
		}
	}
}

func (c callShown) String() string {
	outcome := "nothing"
	switch {
	case c.Error != nil:
		outcome = "error: " + *c.Error
	case c.Result != nil:
		outcome = *c.Result
	}
	mocked := ""
	if c.Mocked {
		mocked = " (mocked)"
	}
	return client.Printable(fmt.Sprintf("%s %s%s → %s", c.TechnicalName, c.Arguments, mocked, outcome))
}
