package apply

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
)

// collectCSV gathers the tests of a table, one for each row.
func (p *promptfoo) collectCSV(file string) error {
	text, err := p.readFile(file)
	if err != nil {
		return err
	}
	reader := csv.NewReader(bytes.NewReader(text))
	reader.FieldsPerRecord, reader.LazyQuotes = -1, true
	header, err := reader.Read()
	if err != nil {
		return fmt.Errorf("%s contains no table", file)
	}
	at := position{&sourceLines{file, map[string]int{}}, ""}
	for n := 0; ; n++ {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		here := at.index(n)
		here.in.lines[here.path], _ = reader.FieldPos(0)
		p.cases = append(p.cases, promptfooCase{p.testOfRow(header, record, here), here})
	}
}

var numberedExpectation = regexp.MustCompile(`^__config:__expected(\d*):threshold$`)

// testOfRow converts a row to a test, as promptfoo does. Columns are variables, unless they begin with two underscores.
func (p *promptfoo) testOfRow(header, record []string, at position) (test object) {
	var vars, options, metadata object
	var asserts list
	thresholds := map[int]float64{}
	metric := ""
	for i, name := range header {
		name = strings.TrimSpace(name)
		if i >= len(record) || strings.TrimSpace(record[i]) == "" && strings.HasPrefix(name, "__") {
			continue
		}
		value := record[i]
		number, numberErr := strconv.ParseFloat(strings.TrimSpace(value), 64)
		numbered := numberedExpectation.FindStringSubmatch(name)
		switch {
		case strings.HasPrefix(name, "__expected"):
			asserts = append(asserts, expectationOf(strings.TrimSpace(value)))
		case name == "__prefix" || name == "__suffix":
			options = append(options, member{name[2:], value})
		case name == "__description":
			test = append(test, member{"description", value})
		case name == "__metric":
			metric = value
		case name == "__threshold" && numberErr == nil:
			test = append(test, member{"threshold", number})
		case numbered != nil && numberErr == nil:
			n, _ := strconv.Atoi(numbered[1])
			thresholds[max(0, n-1)] = number
		case strings.HasPrefix(name, "__metadata:"):
			metadata = metadata.with(strings.TrimPrefix(name, "__metadata:"), value)
		case strings.HasPrefix(name, "__"):
			p.report.addNote(leftOut, at, "the table", "the column %s: agentgraph has no equivalent", name)
		default:
			vars = vars.with(name, value)
		}
	}
	for i, one := range asserts {
		assertion := one.(object)
		if threshold, isGiven := thresholds[i]; isGiven {
			assertion = assertion.with("threshold", threshold)
		}
		if metric != "" {
			assertion = assertion.with("metric", metric)
		}
		asserts[i] = assertion
	}
	return append(test, member{"vars", vars}, member{"assert", asserts}, member{"options", options},
		member{"metadata", metadata})
}

var writtenExpectation = regexp.MustCompile(`(?s)^((?:not-)?[a-z][a-z0-9-]*)(?:\((\d+(?:\.\d+)?)\))?(?::(.*))?$`)

// expectationOf parses an assertion that is written as text, such as "contains: Hello". Any other text must equal the
// answer.
func expectationOf(text string) object {
	if strings.HasPrefix(text, "python:") {
		return object{{"type", "python"}, {"value", text}}
	}
	for _, prefix := range []string{"javascript:", "fn:", "eval:", "file://"} {
		if strings.HasPrefix(text, prefix) {
			return object{{"type", "javascript"}, {"value", text}}
		}
	}
	if rest, isGrade := strings.CutPrefix(text, "grade:"); isGrade {
		return object{{"type", "llm-rubric"}, {"value", strings.TrimSpace(rest)}}
	}
	parts := writtenExpectation.FindStringSubmatch(text)
	if parts == nil || !isAssertion(parts[1]) {
		return object{{"type", "equals"}, {"value", text}}
	}
	assertion := object{{"type", parts[1]}}
	if value := strings.TrimSpace(parts[3]); value != "" {
		assertion = append(assertion, member{"value", value})
	}
	if threshold, err := strconv.ParseFloat(parts[2], 64); err == nil {
		assertion = append(assertion, member{"threshold", threshold})
	}
	return assertion
}

// collectLines gathers the tests of a file with one JSON object per line.
func (p *promptfoo) collectLines(file string) error {
	text, err := p.readFile(file)
	if err != nil {
		return err
	}
	at := position{&sourceLines{file, map[string]int{}}, ""}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		value, err := decodeExactly(bytes.TrimSpace(line))
		if changed, isChanged := errors.AsType[cli.LostDigits](err); isChanged {
			return fmt.Errorf("%s:%d: %w", file, n, changed)
		}
		test, isObject := value.(object)
		if err != nil || !isObject {
			return fmt.Errorf("%s:%d: is not a JSON object", file, n)
		}
		here := at.index(n)
		here.in.lines[here.path] = n
		p.cases = append(p.cases, promptfooCase{test, here})
	}
	return nil
}
