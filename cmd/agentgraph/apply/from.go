package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
)

// importers turn files of other tools into simulations as files have them, by the name of the tool. left says what cannot be
// carried over, and why.
var importers = map[string]func(text []byte) (tests list, left []string, err error){
	"promptfoo": fromPromptfoo, "tau2-bench": fromTau2Bench, "retell": fromRetell, "elevenlabs": fromElevenLabs,
}

// carried is a test that is being carried over.
type carried struct {
	name, scenario   string
	criteria, checks list
	more             object
	left             *[]string
}

func (t *carried) leave(what, why string, args ...any) {
	*t.left = append(*t.left, fmt.Sprintf("%s: %s: %s", t.name, what, fmt.Sprintf(why, args...)))
}

func (t *carried) check(expectation string, value any, weight any) {
	check := object{{"expect", object{{expectation, value}}}}
	if weight != nil {
		check = append(check, member{"weight", weight})
	}
	t.checks = append(t.checks, check)
}

func (t *carried) with(name string, value any) { t.more = append(t.more, member{name, value}) }

// carriedTests are the tests of a file that are carried over, with names of their own.
type carriedTests struct {
	tests list
	left  []string
	names map[string]bool
}

// begin returns a test with a name that no other has.
func (c *carriedTests) begin(name, orElse string) *carried {
	if name = firstLine(name, 240); name == "" {
		name = orElse
	}
	if c.names == nil {
		c.names = map[string]bool{}
	}
	unique := name
	for n := 2; c.names[unique]; n++ {
		unique = fmt.Sprintf("%s (%d)", name, n)
	}
	c.names[unique] = true
	return &carried{name: unique, left: &c.left}
}

// add carries the test over, unless nothing of it could be decided.
func (c *carriedTests) add(t *carried) {
	if len(t.criteria)+len(t.checks) == 0 {
		t.leave("the whole test", "nothing is left of it that could be decided")
		return
	}
	test := object{{"name", t.name}, {"scenario", cutTo(t.scenario, 10_000)}, {"criteria", append(list{}, t.criteria...)}}
	if len(t.checks) > 0 {
		test = append(test, member{"checks", t.checks})
	}
	c.tests = append(c.tests, append(test, t.more...))
}

func (c *carriedTests) done() (list, []string, error) {
	if len(c.tests) == 0 {
		return nil, c.left, fmt.Errorf("has no test that can be carried over%s", strings.Join(append([]string{""}, c.left...), "\n"))
	}
	return c.tests, c.left, nil
}

// decoded returns what a file in YAML or JSON holds.
func decoded(text []byte) (any, error) {
	if json.Valid(text) {
		return decodeJSON(text)
	}
	var value any
	if err := cli.DecodeYAML(text, &value, yaml.UseOrderedMap()); err != nil {
		return nil, err
	}
	return fromYAML(value), nil
}

// casesIn returns the objects of a file: a list, a single one, or those in one of the members.
func casesIn(text []byte, members ...string) ([]object, error) {
	value, err := decoded(text)
	if err != nil {
		return nil, err
	}
	if whole, isObject := value.(object); isObject {
		value = list{whole}
		for _, name := range members {
			if inner := whole.list(name); inner != nil {
				value = inner
			}
		}
	}
	values, _ := value.(list)
	var cases []object
	for i, one := range values {
		o, isObject := one.(object)
		if !isObject {
			return nil, fmt.Errorf("entry %d is no object", i+1)
		}
		cases = append(cases, o)
	}
	if len(cases) == 0 {
		return nil, errors.New("holds no tests")
	}
	return cases, nil
}

// member returns the object in a member; nil if there is none.
func (o object) object(name string) object {
	value, _ := o.get(name)
	inner, _ := value.(object)
	return inner
}

// shown writes any value as text, as conditions on arguments compare it.
func shown(value any) string {
	if text, isText := value.(string); isText {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// number returns a number of any kind.
func number(value any) (float64, bool) {
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func firstLine(text string, most int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(cutTo(line, most))
}

func cutTo(text string, most int) string {
	characters := []rune(text)
	return string(characters[:min(len(characters), most)])
}

var doubleBraces = regexp.MustCompile(`\{\{\s*([A-Za-z_][A-Za-z0-9_.]*)\s*\}\}`)

// placeholders writes the placeholders of other tools, which have two braces, as ours.
func placeholders(text string) string { return doubleBraces.ReplaceAllString(text, "{$1}") }

// literally returns a regular expression that matches the text, and what its placeholders stand for.
func literally(text string) string {
	var expression strings.Builder
	rest := 0
	for _, at := range doubleBraces.FindAllStringSubmatchIndex(text, -1) {
		expression.WriteString(regexp.QuoteMeta(text[rest:at[0]]) + "{" + text[at[2]:at[3]] + "}")
		rest = at[1]
	}
	return expression.String() + regexp.QuoteMeta(text[rest:])
}

// inserted returns messages with the values of variables in place of their placeholders, which nothing fills in a test without rows.
func inserted(messages list, variables object) list {
	for i, one := range messages {
		message := one.(object)
		text := message.text("text")
		for _, m := range variables {
			text = strings.ReplaceAll(text, "{"+m.name+"}", shown(m.value))
		}
		messages[i] = message.with("text", cutTo(text, 10_000))
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
