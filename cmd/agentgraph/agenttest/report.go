package agenttest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// writeJSON writes the report to the file. It does nothing if the path is empty.
func (r report) writeJSON(path string) error {
	if path == "" {
		return nil
	}
	var text bytes.Buffer
	if err := cli.WriteJSON(&text, r); err != nil {
		return err
	}
	return client.WriteFile(path, text.Bytes(), 0o644)
}

// page returns the path of a console page. It is the page of the execution's variants if there are any. It is the page
// of the execution if all runs belong to one agent. Otherwise it is the page of the first run that did not pass, or of
// the first run if all passed. Without runs, it is "".
func (r report) page() string {
	if len(r.Execution.Variants) > 0 {
		return "/compare?variants=" + r.Execution.ID
	}
	agents, shown := map[string]bool{}, ""
	for _, run := range r.Runs {
		if run.Test != nil && run.Test.Agent != nil {
			agents[run.Test.Agent.ID] = true
		}
		if shown == "" && run.isEnded() && run.Status != "Passed" && run.Status != "Skipped" {
			shown = run.ID
		}
	}
	if len(agents) == 1 {
		for id := range agents {
			return "/tests?agent=" + id + "&execution=" + r.Execution.ID
		}
	}
	if shown == "" && len(r.Runs) > 0 {
		shown = r.Runs[0].ID
	}
	if shown == "" {
		return ""
	}
	return "/runs/" + shown
}

// junitSuites is a report that matches the schema of Jenkins' xUnit plugin, junit-10.xsd. The plugin refuses a report
// with any other attribute or element, such as properties of a testcase.
type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitTotals
	Suites []*junitSuite `xml:"testsuite"`
}

type junitTotals struct {
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Time     string `xml:"time,attr"`
	skipped  int
	seconds  float64
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitTotals
	Skipped    int             `xml:"skipped,attr"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string       `xml:"classname,attr"`
	Name    string       `xml:"name,attr"`
	Time    string       `xml:"time,attr"`
	Failure *junitResult `xml:"failure"`
	Error   *junitResult `xml:"error"`
	Skipped *junitResult `xml:"skipped"`
	// Output has the tokens, times and credits of the agent's answers. If the run did not pass, the transcript precedes.
	Output string `xml:"system-out,omitempty"`
}

type junitResult struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes the report to the file. Each agent has a suite, or a suite for each variant if there are variants.
// Each run is a case. If the execution was lost, a further suite has a case with the reason. writeJUnit does nothing if
// the path is empty.
func (r report) writeJUnit(path string) error {
	if path == "" {
		return nil
	}
	all := junitSuites{Name: r.Execution.ID}
	suites := map[string]*junitSuite{}
	type titleKey struct{ class, title string }
	titles := map[titleKey]int{}
	for _, run := range r.Runs {
		_, class := run.agentAndClass()
		titles[titleKey{class, run.title()}]++
		titles[titleKey{class, run.title() + " " + run.testID()}]++
	}
	for _, run := range r.Runs {
		agent, class := run.agentAndClass()
		agent = nameWithVariant(agent, run.Variant)
		suite := suites[agent]
		if suite == nil {
			suite = &junitSuite{Name: agent, Timestamp: r.Execution.CreatedAt.UTC().Format(time.RFC3339),
				Properties: []junitProperty{
					{"execution", r.Execution.ID}, {"server", r.Server}, {"outcome", r.Outcome}, {"reason", r.Reason},
				}}
			suites[agent] = suite
			all.Suites = append(all.Suites, suite)
		}
		suffix := ""
		switch {
		case titles[titleKey{class, run.title() + " " + run.testID()}] > 1:
			suffix = " " + run.ID // one row can have the name "row 2", and row 2 no name
		case titles[titleKey{class, run.title()}] > 1:
			suffix = " " + run.testID()
		}
		suite.Cases = append(suite.Cases, run.junit(class, suffix))
		all.countRun(run)
		suite.countRun(run)
	}
	if r.isLost {
		lost := runShown{TestName: "Execution " + r.Execution.ID, Attempt: 1, Error: &runErrorShown{Cause: "Infrastructure",
			Message: r.Reason}}
		suite := &junitSuite{Name: "agentgraph", Cases: []junitCase{lost.junit("agentgraph", "")}}
		suite.countRun(lost)
		all.countRun(lost)
		all.Suites = append(all.Suites, suite)
	}
	for _, suite := range all.Suites {
		suite.Skipped = suite.skipped
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return client.WriteFile(path, append([]byte(xml.Header), append(text, '\n')...), 0o644)
}

// agentAndClass returns the name of the run's agent, and the name of its JUnit class. The class is named after the
// agent and the test's folder. Both names are "deleted tests" if the test was deleted.
func (r runShown) agentAndClass() (agent, class string) {
	switch {
	case r.Test == nil:
		return "deleted tests", "deleted tests"
	case r.Test.Folder == nil:
		return r.Test.Agent.String(), r.Test.Agent.String()
	}
	return r.Test.Agent.String(), r.Test.Agent.String() + " / " + r.Test.Folder.String()
}

// countRun counts a run. A run whose end was not seen counts as an error.
func (t *junitTotals) countRun(run runShown) {
	t.Tests++
	switch run.Status {
	case "Passed":
	case "Failed":
		t.Failures++
	case "Cancelled", "Skipped":
		t.skipped++
	default:
		t.Errors++
	}
	if run.DurationMs != nil {
		t.seconds += float64(*run.DurationMs) / 1000
	}
	t.Time = fmt.Sprintf("%.3f", t.seconds)
}

// junit returns the case of the run. JUnit readers identify cases by class and name, so the suffix contains an id if
// names would repeat.
func (r runShown) junit(class, suffix string) junitCase {
	var duration junitTotals
	duration.countRun(r)
	c := junitCase{Class: class, Name: r.title() + suffix, Time: duration.Time, Output: r.Usage.summary()}
	switch {
	case r.Status == "Passed":
		return c
	case r.Status == "Cancelled":
		c.Skipped = &junitResult{Message: "cancelled"}
		return c
	case r.Status == "Skipped":
		c.Skipped = &junitResult{Message: "skipped: earlier runs had already decided the test"}
		return c
	case r.Status == "Failed":
		c.Failure = &junitResult{Type: "Failed", Message: r.failure(), Text: r.describe(false)}
	case r.Error != nil:
		c.Error = &junitResult{Type: r.Error.Cause, Message: r.Error.String(), Text: r.describe(false)}
	default:
		c.Error = &junitResult{Type: "Infrastructure", Message: "the result of the run could not be " +
			"read", Text: r.describe(false)}
	}
	c.Output = r.transcript() + c.Output
	return c
}

func (r runShown) testID() string {
	if r.Test == nil {
		return r.ID
	}
	return r.Test.ID
}

// failure explains in one sentence why the run failed.
func (r runShown) failure() string {
	if r.ClassificationResult != nil {
		return r.ClassificationResult.summary()
	}
	var unmet []string
	for _, verdict := range r.verdicts() {
		if !verdict.passed {
			unmet = append(unmet, verdict.title())
		}
	}
	return "not met: " + strings.Join(unmet, "; ")
}

// checkWritable returns an error if the path is a directory or its directory does not exist.
func checkWritable(flag, path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return fmt.Errorf("%s: the directory %s does not exist; create it first", flag, filepath.Dir(path))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s: %s is a directory", flag, path)
	}
	return nil
}

// removeReport removes an earlier report, so that it cannot be mistaken for this execution's report. It removes only a
// regular file.
func removeReport(path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		return os.Remove(path)
	}
	return nil
}
