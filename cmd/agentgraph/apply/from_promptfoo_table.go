package apply

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
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

// promptfooPrompt is a prompt. Its text is a template.
type promptfooPrompt struct {
	text string
	at   position
}

// readPrompts reads the prompts of a configuration. The importer uses the first one as the contact's message.
func (p *promptfoo) readPrompts(value any, at position) {
	switch v := value.(type) {
	case string:
		p.readPrompt(v, at)
	case list:
		for i, one := range v {
			p.readPrompts(one, at.index(i))
		}
	case object:
		for _, name := range []string{"raw", "id"} {
			if text := v.text(name); text != "" {
				p.reportUnknown("a prompt", v, at, "raw", "id", "label", "description")
				p.readPrompt(text, at)
				return
			}
		}
		for _, m := range v { // a file and its label
			p.readPrompt(m.name, at.member(m.name))
		}
	}
	if at.path == "/prompts" && len(p.prompts) > 1 {
		p.report.addNote(approximated, at, "the configuration", "prompts: only the first of %d is used", len(p.prompts))
	}
}

var promptFiles = regexp.MustCompile(
	`^[^\s{}]+\.(txt|md|json|jsonl|ya?ml|j2|csv|prompty|js|cjs|mjs|ts|mts|cts|py|rb|sh)(:[\w.]+)?$`)

func (p *promptfoo) readPrompt(text string, at position) {
	leave := func(format string, args ...any) { p.report.addNote(leftOut, at, "a prompt", format, args...) }
	switch {
	case strings.HasPrefix(text, "exec:"):
		leave("%s is code, which agentgraph does not run", text)
		return
	case !strings.HasPrefix(text, "file://") && (strings.Contains(text, "\n") || !promptFiles.MatchString(text)):
		if unread := unreadableReason(text); strings.Contains(text, "://") && !strings.ContainsAny(text, " \n") {
			leave("%s %s", text, unread)
			return
		}
		p.prompts = append(p.prompts, promptfooPrompt{text, at})
		return
	}
	file, content, problem := p.file(text)
	if problem != "" {
		leave("%s", problem)
		return
	}
	at = position{&sourceLines{file, map[string]int{}}, ""}
	before := len(p.prompts)
	lines := strings.ReplaceAll(string(content), "\r\n", "\n")
	for _, part := range promptsIn(strings.ToLower(filepath.Ext(file)), lines) {
		if part = strings.TrimSpace(part); part != "" {
			p.prompts = append(p.prompts, promptfooPrompt{part, at})
		}
	}
	if len(p.prompts) == before {
		leave("%s contains no prompt", text)
	}
}

var promptSeparator = regexp.MustCompile(`(?m)^[ \t]*---[ \t]*$`)

// promptsIn returns the prompts of a file. The extension determines how they are separated.
func promptsIn(ending, content string) []string {
	switch ending {
	case ".csv":
		return promptsOfTable(content)
	case ".jsonl":
		return strings.Split(content, "\n")
	case ".json", ".md", ".j2":
		return []string{content}
	case ".yaml", ".yml":
		if value, err := decoded([]byte(content)); err == nil {
			if messages, isList := value.(list); isList && areMessages(messages) {
				return []string{asText(messages)}
			}
		}
	}
	return promptSeparator.Split(content, -1)
}

// promptsOfTable returns the column "prompt" of a table. If the file has no commas or is no table, each line is a
// prompt, except a first line "prompt".
func promptsOfTable(content string) (prompts []string) {
	reader := csv.NewReader(strings.NewReader(content))
	reader.FieldsPerRecord, reader.LazyQuotes, reader.TrimLeadingSpace = -1, true, true
	table, err := reader.ReadAll()
	if !strings.Contains(content, ",") || err != nil {
		prompts = strings.Split(strings.TrimSpace(content), "\n")
		if strings.EqualFold(strings.TrimSpace(prompts[0]), "prompt") {
			prompts = prompts[1:]
		}
		return prompts
	}
	column := slices.IndexFunc(table[0], func(name string) bool { return strings.TrimSpace(name) == "prompt" })
	for _, cells := range table[1:] {
		if column >= 0 && column < len(cells) {
			prompts = append(prompts, cells[column])
		}
	}
	return prompts
}
