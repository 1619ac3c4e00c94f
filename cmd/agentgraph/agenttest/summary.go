package agenttest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

func (r report) summary(style client.Style) string {
	var text strings.Builder
	text.WriteString(r.Execution.summary(r.Runs))
	text.WriteString(variantsSummary(r.Execution.Variants))
	text.WriteString(simulatorShare(r.Runs) + flaky(r.Runs))
	if r.Comparison != nil {
		text.WriteString(r.Comparison.summary(r.Comparison.gateConclusion()))
	}
	fmt.Fprintf(&text, "%s: %s\n", colored(style, r.Outcome, r.Outcome), r.Reason)
	return text.String()
}

// simulatorShare returns a line about the runs that failed because of the simulated contact, or "".
func simulatorShare(runs []runShown) string {
	bad, simulators := 0, 0
	for _, run := range runs {
		if run.Status == "Failed" || run.Status == "Error" {
			bad++
		}
		if run.Error != nil && run.Error.Cause == "Simulator" {
			simulators++
		}
	}
	if simulators == 0 {
		return ""
	}
	return fmt.Sprintf("The simulated contact, not the agent, caused %d of %s that did not pass\n",
		simulators, client.Pluralize(bad, "run"))
}

// summary returns the counts and rates of an execution as lines. The rate that decides is first. The chance that
// several runs all pass is left out if tests stopped early, because it would count only the others.
func (e executionShown) summary(runs []runShown) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %v", client.Pluralize(e.Counts.Total, "run"), e.Counts)
	if e.StartedAt != nil && e.FinishedAt != nil {
		fmt.Fprintf(&text, ", in %s", e.FinishedAt.Sub(*e.StartedAt).Round(10*time.Millisecond))
	}
	text.WriteString("\n")
	if e.PassRate != nil {
		if rate, name := passRate(runs); name == meanPassRate {
			fmt.Fprintf(&text, "Mean pass rate of the tests: %s; of all %d judged runs: %s%s", percent(rate), e.Counts.judged(),
				percent(*e.PassRate), e.Interval)
		} else {
			fmt.Fprintf(&text, "Pass rate: %s of %d judged%s", percent(*e.PassRate), e.Counts.judged(), e.Interval)
		}
		if k := len(e.PassHatK); k > 1 && e.Counts.Skipped == 0 {
			fmt.Fprintf(&text, "; chance that %d runs of a test all pass: %s (%s)", k, percent(e.PassHatK[k-1]),
				client.Pluralize(e.PassHatKTests[k-1], "test"))
		}
		text.WriteString("\n")
	}
	if c := e.Corrected; c != nil {
		fmt.Fprintf(&text, "Corrected for the judge's errors: %s%s, by %s of people\n", percent(c.Rate), c.Interval,
			client.Pluralize(c.Labels, "label"))
	}
	if len(e.Variants) == 0 { // the usage of variants is in a table instead
		text.WriteString(e.Usage.summary())
	}
	if a := e.Agreement; a != nil {
		fmt.Fprintf(&text, "Judged by %s: same status in %d of %s, same verdict in %d of %s\n",
			client.Printable(orDash(e.JudgeModel)), a.SameRuns, client.Pluralize(a.Runs, "run"), a.SameCriteria,
			client.Pluralize(a.Criteria, "criterion", "criteria"))
	}
	if n := len(e.LeftOutTests); n > 0 {
		names := make([]string, n)
		for i, test := range e.LeftOutTests {
			names[i] = nameWithRow(test.TestName, test.RowName, nil)
		}
		fmt.Fprintf(&text, "Left out, because they were deleted: %s (%s)\n",
			client.Pluralize(n, "test or row", "tests or rows"), someOf(names))
	}
	return text.String()
}

// leftOut is a deleted test or row that an execution does not repeat or judge again.
type leftOut struct {
	TestName string  `json:"testName"`
	RowName  *string `json:"rowName,omitempty"`
}

func someOf(names []string) string {
	const most = 3
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// flaky returns a line for each test, or row of a test, with both passed and failed runs.
func flaky(runs []runShown) string {
	type tally struct{ passed, failed int }
	var names []string
	tallies := map[string]*tally{}
	for _, run := range runs {
		key := run.testKey()
		if tallies[key] == nil {
			tallies[key] = &tally{}
			names = append(names, key)
		}
		switch run.Status {
		case "Passed":
			tallies[key].passed++
		case "Failed":
			tallies[key].failed++
		}
	}
	var lines strings.Builder
	for _, key := range names {
		if t := tallies[key]; t.passed > 0 && t.failed > 0 {
			_, name, _ := strings.Cut(key, " ")
			fmt.Fprintf(&lines, "Flaky: %s passed %d of %d\n", client.Printable(name), t.passed, t.passed+t.failed)
		}
	}
	return lines.String()
}

// testKey identifies a test, its row and its variant, even if another test has the same name. A deleted test is
// identified by its name only.
func (r runShown) testKey() string {
	id := ""
	if r.Test != nil {
		id = r.Test.ID
	}
	if r.RowNumber != nil {
		id += "#" + strconv.Itoa(*r.RowNumber) // another row can have the name "row 2"
	}
	return id + " " + nameWithVariant(nameWithRow(r.TestName, r.RowName, r.RowNumber), r.Variant)
}

// usageShown has the tokens, times and credits of the agent's answers, as the server sends them.
type usageShown struct {
	Answers      int          `json:"answers"`
	Fallbacks    int          `json:"fallbacks"`
	Models       []string     `json:"models"`
	InputTokens  float64      `json:"inputTokens"`
	CachedTokens float64      `json:"cachedTokens"`
	OutputTokens float64      `json:"outputTokens"`
	Credits      float64      `json:"credits"`
	FirstTokenMs *percentiles `json:"firstTokenMs"`
	TookMs       *percentiles `json:"tookMs"`
}

type percentiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

const usageFields = `usage { answers fallbacks models inputTokens cachedTokens outputTokens credits
	firstTokenMs { p50 p90 p95 p99 max } tookMs { p50 p90 p95 p99 max } }`

// offlineModel is the name of the model that answers by rules. Its times and tokens mean nothing.
const offlineModel = "offline"

// isMeasured reports whether a language model wrote some of the answers.
func (u *usageShown) isMeasured() bool {
	return u != nil && u.Answers > 0 && u.TookMs != nil &&
		slices.ContainsFunc(u.Models, func(name string) bool { return name != offlineModel })
}

// summary returns lines about the answers of language models, or "".
func (u *usageShown) summary() string {
	if !u.isMeasured() {
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s by %s: %.0f tokens read (%.0f cached), %.0f written, %s credits\n",
		client.Pluralize(u.Answers, "answer"), client.Printable(strings.Join(u.Models, ", ")), u.InputTokens, u.CachedTokens,
		u.OutputTokens, formatCredits(u.Credits))
	if u.Fallbacks > 0 {
		fmt.Fprintf(&text, "Fallback: %s, because the agent's own model was unavailable\n",
			client.Pluralize(u.Fallbacks, "answer"))
	}
	if first := u.FirstTokenMs; first != nil {
		fmt.Fprintf(&text, "First text: median %s, 90 %% within %s. Whole answer: median %s, 90 %% within %s\n",
			seconds(first.P50), seconds(first.P90), seconds(u.TookMs.P50), seconds(u.TookMs.P90))
	}
	return text.String()
}

// formatCredits returns credits with four digits, so that small prices can be compared.
func formatCredits(n float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(n, 'g', 4, 64), 64)
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// fallback returns how many of the answers a fallback wrote. It returns "" if none.
func (u *usageShown) fallback() string {
	if u == nil || u.Fallbacks == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %s by a fallback", u.Fallbacks, client.Pluralize(u.Answers, "answer"))
	if u.Fallbacks == u.Answers {
		text += " (" + client.Printable(strings.Join(u.Models, ", ")) + ")"
	}
	return text + ", because the chosen model was unavailable"
}

func seconds(ms float64) string { return strconv.FormatFloat(ms/1000, 'f', 2, 64) + " s" }
