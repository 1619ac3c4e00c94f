package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

// importers import the tests of other tools as simulations. The key is the name of the tool.
var importers = map[string]func(c *importedTests) error{
	"promptfoo": fromPromptfoo, "tau2-bench": fromTau2Bench, "retell": fromRetell, "elevenlabs": fromElevenLabs,
}

// maxForeign bounds a file of another tool, in bytes.
const maxForeign = 64 << 20

// importedTests has the tests that were imported from a file, each with a unique name. Its report lists what was
// imported, approximated and left out.
type importedTests struct {
	// folder is the directory of the file. name is the file's name in it.
	folder *os.Root
	name   string
	tests  list
	report report
	names  map[string]bool
}

// importFile imports a file of another tool, with the files that it refers to in the same directory. It returns an
// error if no test can be imported. The result is never nil.
func importFile(tool, file string) (*importedTests, error) {
	folder, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return &importedTests{}, err
	}
	defer func() { _ = folder.Close() }()
	c := &importedTests{folder: folder, name: filepath.Base(file), names: map[string]bool{}}
	if err := importers[tool](c); err != nil {
		return c, fmt.Errorf("%s: %w", file, err)
	}
	if len(c.tests) == 0 {
		return c, fmt.Errorf("%s: has no test that can be converted", file)
	}
	return c, nil
}

// readFile returns a file in the folder.
func (c *importedTests) readFile(name string) ([]byte, error) {
	file, err := c.folder.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, errors.Unwrap(err))
	}
	defer func() { _ = file.Close() }()
	text, err := cli.ReadText(file, maxForeign)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// newTest returns a new test with a unique name.
func (c *importedTests) newTest(at position, name, orElse string) *importedTest {
	if name = firstLine(name, 240); name == "" {
		name = orElse
	}
	unique := name
	for n := 2; c.names[unique]; n++ {
		unique = fmt.Sprintf("%s (%d)", name, n)
	}
	c.names[unique] = true
	return &importedTest{name: unique, at: at, importer: c}
}

// reportUnknown reports the members that are not among the known ones, so that none is lost silently.
func (c *importedTests) reportUnknown(owner string, o object, at position, known ...string) {
	for _, m := range o {
		if m.value != nil && !slices.Contains(known, m.name) {
			c.report.addNote(leftOut, at.member(m.name), owner, "%s: agentgraph has no equivalent", m.name)
		}
	}
}

// importedTest is a test that is being imported.
type importedTest struct {
	importer         *importedTests
	name, scenario   string
	criteria, checks list
	more             object
	// at has the place of the part that is being imported.
	at position
	// isDropped is set if the test would have another meaning without a part that cannot be imported.
	isDropped bool
	// label names the owner of the part in the report, if it is not the test itself.
	label string
}

func (t *importedTest) owner() string {
	if t.label != "" {
		return t.label
	}
	return t.name
}

func (t *importedTest) noteLeftOut(what, why string, args ...any) {
	t.importer.report.addNote(leftOut, t.at, t.owner(), what+": "+why, args...)
}

func (t *importedTest) noteApproximated(what, why string, args ...any) {
	t.importer.report.addNote(approximated, t.at, t.owner(), what+": "+why, args...)
}

func (t *importedTest) noteNotNeeded(what, why string, args ...any) {
	t.importer.report.addNote(notNeeded, t.at, t.owner(), what+": "+why, args...)
}

// drop leaves the whole test out of the import.
func (t *importedTest) drop(why string, args ...any) {
	if !t.isDropped {
		t.noteLeftOut("the whole test", why, args...)
	}
	t.isDropped = true
}

func (t *importedTest) addCheck(expectation string, value any, weight any) {
	check := object{{"expect", object{{expectation, value}}}}
	if weight != nil {
		check = append(check, member{"weight", weight})
	}
	t.checks = append(t.checks, check)
}

func (t *importedTest) addCriterion(text string) {
	if cut := truncate(text, 2000); cut != text {
		t.noteApproximated("a criterion", "only its first 2,000 characters are kept")
		text = cut
	}
	t.criteria = append(t.criteria, text)
}

func (t *importedTest) setMember(name string, value any) {
	t.more = append(t.more, member{name, value})
}

// addTest adds the test, unless it was dropped or has nothing that can be judged.
func (c *importedTests) addTest(t *importedTest, at position) {
	t.at = at
	if len(t.criteria)+len(t.checks) == 0 {
		t.drop("none of its checks and criteria can be converted")
	}
	if t.isDropped {
		return
	}
	t.enforceLimits()
	if truncate(t.scenario, 10_000) != t.scenario {
		t.noteApproximated("the scenario", "only its first 10,000 characters are kept")
	}
	test := object{{"name", t.name}, {"scenario", truncate(t.scenario, 10_000)},
		{"criteria", append(list{}, t.criteria...)}}
	if len(t.checks) > 0 {
		test = append(test, member{"checks", t.checks})
	}
	test = append(test, t.more...)
	c.tests = append(c.tests, test)
	parts := []string{client.Pluralize(len(t.checks), "check"), client.Pluralize(len(t.criteria), "criterion", "criteria")}
	if rows := test.list("rows"); len(rows) > 0 {
		parts = append(parts, client.Pluralize(len(rows), "row"))
	}
	c.report.addNote(carriedOver, at, t.name, strings.Join(parts, ", "))
}

// Limits of a test, which importers enforce.
const (
	maxChecks      = 50
	maxExpressions = 20
	maxSchemas     = 5
	maxCriteria    = 30
	maxRowBytes    = 450_000
)

// enforceLimits removes checks, criteria and rows that exceed the limits.
func (t *importedTest) enforceLimits() {
	expressions, schemas := 0, 0
	var kept list
	for _, check := range t.checks {
		wantsSchemas, wantsExpressions := 0, 0
		if text := asText(check); strings.Contains(text, `{"resultJson":`) {
			wantsSchemas = 1 // a schema may have members of any name
		} else {
			wantsExpressions = strings.Count(text, `"matches":`)
		}
		if len(kept) < maxChecks && expressions+wantsExpressions <= maxExpressions && schemas+wantsSchemas <= maxSchemas {
			kept = append(kept, check)
			expressions, schemas = expressions+wantsExpressions, schemas+wantsSchemas
		}
	}
	if len(kept) < len(t.checks) {
		t.noteLeftOut("checks", "of its %d checks, only %d are kept: a test has at most %d, with %d regular expressions and "+
			"%d schemas", len(t.checks), len(kept), maxChecks, maxExpressions, maxSchemas)
		t.checks = kept
	}
	if len(t.criteria) > maxCriteria {
		t.noteLeftOut("criteria", "of its %d criteria, only the first %d are kept", len(t.criteria), maxCriteria)
		t.criteria = t.criteria[:maxCriteria]
	}
	rows, size := t.more.list("rows"), 0
	for i, row := range rows {
		if size += len(asText(row)); size > maxRowBytes {
			t.noteLeftOut("rows", "of its %d rows, only the first %d are kept: the rows of a test have at most %d bytes",
				len(rows), i, maxRowBytes)
			t.more = t.more.with("rows", rows[:i])
			break
		}
	}
}

// decoded returns the content of a YAML or JSON file.
func decoded(text []byte) (any, error) {
	if json.Valid(text) {
		return decodeExactly(text)
	}
	var value any
	if err := cli.DecodeYAML(text, &value, yaml.UseOrderedMap()); err != nil {
		return nil, err
	}
	return valueOf(value), nil
}

// cases returns the objects of the file, and the place of their list. The file is a list, a single object, or an object
// with the list in one of the members.
func (c *importedTests) cases(members ...string) ([]object, position, error) {
	text, err := c.readFile(c.name)
	if err != nil {
		return nil, position{}, err
	}
	value, err := decoded(text)
	if err != nil {
		return nil, position{}, err
	}
	at := position{linesOf(c.name, text), ""}
	if whole, isObject := value.(object); isObject {
		value = list{whole}
		for _, name := range members {
			if inner := whole.list(name); inner != nil {
				value, at = inner, at.member(name)
				c.reportUnknown("the file", whole, position{at.in, ""}, name, "has_more", "next_cursor", "pagination_key")
			}
		}
	}
	values, _ := value.(list)
	var cases []object
	for i, one := range values {
		o, isObject := one.(object)
		if !isObject {
			return nil, at, fmt.Errorf("entry %d is not an object", i+1)
		}
		cases = append(cases, o)
	}
	if len(cases) == 0 {
		return nil, at, errors.New("contains no tests")
	}
	return cases, at, nil
}

// asText returns any value as text, in the form that conditions on arguments compare.
func asText(value any) string {
	if text, isText := value.(string); isText {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

func number(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func firstLine(text string, limit int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(truncate(line, limit))
}

func truncate(text string, limit int) string {
	characters := []rune(text)
	return string(characters[:min(len(characters), limit)])
}

var doubleBraces = regexp.MustCompile(`\{\{\s*([A-Za-z_][A-Za-z0-9_.]*)\s*\}\}`)

// convertPlaceholders converts the placeholders of other tools, which have two braces, to ours.
func convertPlaceholders(text string) string { return doubleBraces.ReplaceAllString(text, "{$1}") }

// fillVariables replaces the placeholders in messages by the values of the variables. In a test without rows, nothing
// else fills them.
func fillVariables(messages list, variables object) list {
	for i, one := range messages {
		message := one.(object)
		text := message.text("text")
		for _, m := range variables {
			text = strings.ReplaceAll(text, "{"+m.name+"}", asText(m.value))
		}
		messages[i] = message.with("text", truncate(text, 10_000))
	}
	return messages
}

// mockOf adds a rule to the mock of a tool.
func mockOf(mocks list, toolID string, rule object) list {
	for i, one := range mocks {
		if mock := one.(object); mock.text("toolId") == toolID {
			mocks[i] = mock.with("rules", append(mock.list("rules"), rule))
			return mocks
		}
	}
	return append(mocks, object{{"toolId", toolID}, {"rules", list{rule}}})
}
