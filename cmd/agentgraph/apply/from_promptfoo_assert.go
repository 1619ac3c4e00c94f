package apply

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
)

// asserts imports the default assertions, then the assertions of the test.
func (t *promptfooTest) asserts() {
	t.label = "defaultTest"
	t.assertAll(t.p.defaults.list("assert"), t.p.defaultsAt.member("assert"))
	t.label = t.title
	t.assertAll(t.own.list("assert"), t.ownAt.member("assert"))
	t.at = t.ownAt
}

func (t *promptfooTest) assertAll(all list, at place) {
	for i, one := range all {
		t.at = at.index(i)
		assertion, isObject := one.(object)
		switch {
		case isUnresolved(one):
			t.leave("an assertion", "the target of its $ref does not exist")
		case !isObject:
			t.leave("an assertion", "%s is not known", shown(one))
		case assertion.text("type") == "assert-set":
			t.in.others(t.of(), assertion, t.at, "type", "assert", "threshold")
			if threshold, isGiven := assertion.get("threshold"); isGiven {
				t.approximate("assert-set", "instead of its threshold %s, all of its assertions must hold", shown(threshold))
			}
			t.assertAll(assertion.list("assert"), t.at.member("assert"))
		default:
			t.assert(assertion)
		}
	}
}

// weight returns the weight of an assertion, nil if it is required.
func (t *promptfooTest) weight(assertion object) any {
	if !t.isScored {
		return nil
	}
	weight := 1.0
	if value, isGiven := assertion.get("weight"); isGiven {
		weight, _ = number(value)
	}
	whole := min(100, max(1, math.Round(weight)))
	if whole != weight {
		t.approximate(assertion.text("type"), "its weight %v is rounded to %v", weight, whole)
	}
	return int64(whole)
}

// phrase is an assertion that is being imported.
type phrase struct {
	*promptfooTest
	kind, bare string
	isNot      bool
	value      any
	weight     any
}

func (t *promptfooTest) assert(assertion object) {
	kind := assertion.text("type")
	bare, isNot := strings.CutPrefix(kind, "not-")
	if given, isGiven := assertion.get("weight"); isGiven {
		if of, _ := number(given); of == 0 {
			t.leave(kind, "its weight is 0, so it decides nothing")
			return
		}
	}
	for _, code := range []string{"transform", "contextTransform"} {
		if _, isGiven := assertion.get(code); isGiven {
			t.leave(kind, "its %s is code, which agentgraph does not run", code)
			return
		}
	}
	value, _ := assertion.get("value")
	a := phrase{t, kind, bare, isNot, value, nil}
	if !a.readValue() {
		return
	}
	a.weight = t.weight(assertion)
	if !a.decided(assertion) && !a.graded(assertion) {
		t.leave(kind, "%s", a.whyNot())
		return
	}
	if label, isGiven := assertion.get("metric"); isGiven {
		t.skip(kind, "its metric %s is only a label", shown(label))
	}
	t.in.others(t.of()+": "+kind, assertion, t.at, "type", "value", "threshold", "weight", "metric", "provider",
		"rubricPrompt")
	for _, name := range []string{"provider", "rubricPrompt"} {
		if _, isGiven := assertion.get(name); isGiven {
			t.leave(kind, "its %s is ignored: the server's judge decides", name)
		}
	}
}

func (a *phrase) whyNot() string {
	switch a.bare {
	case "javascript", "python", "ruby", "webhook":
		return "agentgraph does not run code in tests"
	case "cost":
		return "it limits dollars: use the check creditsAtMost instead"
	}
	return "agentgraph has no such check"
}

// isAssertion reports whether promptfoo has assertions of the kind.
func isAssertion(kind string) bool {
	return slices.Contains(
		strings.Fields(`answer-relevance bleu classifier contains contains-all contains-any contains-html contains-json contains-sql
		contains-xml context-faithfulness context-recall context-relevance conversation-relevance cost equals factuality
		finish-reason g-eval gleu guardrails human icontains icontains-all icontains-any is-html is-json is-refusal is-sql
		is-valid-function-call is-valid-openai-function-call is-valid-openai-tools-call is-xml javascript latency
		levenshtein llm-rubric max-score meteor model-graded-closedqa model-graded-factuality moderation perplexity
		perplexity-score pi python regex rouge-n ruby select-best similar starts-with trace-error-spans trace-span-count
		trace-span-duration webhook word-count`), strings.TrimPrefix(kind, "not-"))
}

// readValue replaces a reference to a file by its content. It returns false if the file cannot be read.
func (a *phrase) readValue() bool {
	name, isText := a.value.(string)
	if !isText || !strings.HasPrefix(name, "file://") {
		return true
	}
	_, text, problem := a.p.file(name)
	if problem != "" {
		a.leave(a.kind, "%s", problem)
		return false
	}
	a.value = strings.TrimSpace(string(text))
	if strings.HasSuffix(a.bare, "json") || strings.HasSuffix(a.bare, "-all") || strings.HasSuffix(a.bare, "-any") {
		if value, err := decoded(text); err == nil {
			a.value = value
		}
	}
	return true
}

// pattern returns a regular expression that matches the value literally.
func (a *phrase) pattern(value any) (string, bool) {
	if value == nil {
		a.leave(a.kind, "it has no value")
		return "", false
	}
	expression, missing, err := a.texts.fill(shown(value), regexp.QuoteMeta)
	switch {
	case err != nil:
		a.leave(a.kind, "%v", err)
	case expression == "":
		a.leave(a.kind, "it has no value")
	case len(missing) > 0:
		a.approximate(a.kind, "no variable fills {{%s}}, so the text is empty there", strings.Join(missing, "}}, {{"))
	}
	return expression, err == nil && expression != ""
}

// says adds checks that require one of the agent's messages to match, or none of them.
func (a *phrase) says(expressions ...string) {
	expectation := map[bool]string{true: "neverSays", false: "says"}[a.isNot]
	for _, expression := range expressions {
		if _, err := regexp.Compile(expression); err != nil || len(expression) > 1000 {
			a.leave(a.kind, "%s is not a regular expression (RE2) of at most 1,000 characters", shown(a.value))
			continue
		}
		said := object{{"matches", expression}}
		if a.turn > 0 {
			said = append(said, member{"turn", int64(a.turn)})
		}
		a.check(expectation, said, a.weight)
	}
}

// patterns returns regular expressions for a list, or for a text that is separated by commas.
func (a *phrase) patterns(prefix string) (all []string) {
	values, isList := a.value.(list)
	if text, isText := a.value.(string); isText && !isList {
		for part := range strings.SplitSeq(text, ",") {
			values = append(values, strings.Trim(strings.TrimSpace(part), `"`))
		}
	}
	if len(values) == 0 {
		a.leave(a.kind, "it has no values")
	}
	for _, one := range values {
		if !isPlain(one) {
			a.leave(a.kind, "%s in its list is not a string", shown(one))
		} else if expression, isWhole := a.pattern(one); isWhole {
			all = append(all, prefix+expression)
		}
	}
	return all
}

// isPlain reports whether a value is neither a list nor an object.
func isPlain(value any) bool {
	switch value.(type) {
	case list, object:
		return false
	}
	return true
}

// decided imports an assertion that needs no model. It returns false if agentgraph has no such check.
func (a *phrase) decided(assertion object) bool {
	hasText := slices.Contains([]string{"contains", "icontains", "starts-with", "regex"}, a.bare)
	switch {
	case hasText && !isPlain(a.value):
		a.leave(a.kind, "its value %s is not a string", shown(a.value))
		return true
	case (hasText || a.bare == "equals") && a.value == nil:
		a.leave(a.kind, "it has no value")
		return true
	}
	prefix := map[bool]string{true: "(?i)"}[strings.HasPrefix(a.bare, "icontains")]
	whole := func(before, after string) {
		if expression, isWhole := a.pattern(a.value); isWhole {
			a.says(before + expression + after)
		}
	}
	switch a.bare {
	case "contains", "icontains":
		whole(prefix, "")
	case "contains-any", "icontains-any":
		if all := a.patterns(prefix); len(all) > 0 {
			a.says(strings.Join(all, "|"))
		}
	case "contains-all", "icontains-all":
		if a.isNot {
			return false
		}
		a.says(a.patterns(prefix)...)
	case "starts-with":
		whole(`\A`, "")
	case "regex":
		a.matches()
	case "equals":
		switch text, isText := a.value.(string); {
		case isText && text == "":
			a.says(`\A\s*\z`)
		case isText || a.isNot || a.turn > 0:
			whole(`\A\s*`, `\s*\z`)
		case strings.Contains(shown(a.value), "{{"):
			a.leave(a.kind, "its value has variables in it")
		default:
			a.check("resultJson", object{{"schema", object{{"const", a.value}}}}, a.weight)
		}
	case "is-json":
		return a.fits()
	case "latency":
		threshold, _ := assertion.get("threshold")
		ms, isNumber := number(threshold)
		if !isNumber || a.isNot {
			return false
		}
		if a.turn > 0 {
			a.approximate(a.kind, "the check limits the time of all turns together")
		}
		a.check("durationAtMost", ms/1000, a.weight)
	default:
		return false
	}
	return true
}

// bracesInExpression matches text in a regular expression that a run would replace like a placeholder.
var bracesInExpression = regexp.MustCompile(`\\?\{[A-Za-z_][A-Za-z0-9_.]*\}`)

// matches adds a check with a regular expression. Values of rows are inserted literally, so they must not be
// expressions themselves.
func (a *phrase) matches() {
	fillable := slices.Concat(a.texts.rows, a.texts.bag)
	expression, missing, err := a.texts.fill(shown(a.value), func(text string) string {
		return bracesInExpression.ReplaceAllStringFunc(text, func(found string) string {
			name := strings.Trim(found, `\{}`)
			if _, isFilled := reachAll(fillable, name); !isFilled {
				return found
			}
			return `\{` + name + `\}`
		})
	})
	if err != nil || len(missing) > 0 {
		a.leave(a.kind, "%s cannot be filled", shown(a.value))
		return
	}
	for _, row := range a.more.list("rows") {
		for _, at := range expressionIn.FindAllStringSubmatch(shown(a.value), -1) {
			name, _ := splitFilters(at[1])
			value, isInRow := reachAll(row.(object).object("values"), name)
			if text := shown(value); isInRow && regexp.QuoteMeta(text) != text {
				a.leave(a.kind, "{{%s}} is an expression in some rows, but rows are inserted verbatim: create a test for each "+
					"row", name)
				return
			}
		}
	}
	a.says(expression)
}

// fits adds a check that the agent's message is JSON, and that it matches the schema if there is one. It returns false
// if agentgraph has no such check.
func (a *phrase) fits() bool {
	value := a.value
	if text, isText := value.(string); isText {
		read, err := decoded([]byte(text))
		if err != nil {
			a.leave(a.kind, "its schema cannot be read")
			return true
		}
		value = read
	}
	schema, isObject := value.(object)
	if value != nil && !isObject || a.isNot || a.turn > 0 {
		return false
	}
	if text, err := json.Marshal(schema); err != nil || strings.Contains(string(text), "{{") {
		a.leave(a.kind, "a schema with variables")
		return true
	}
	a.check("resultJson", object{{"schema", append(object{}, schema...)}}, a.weight)
	return true
}
