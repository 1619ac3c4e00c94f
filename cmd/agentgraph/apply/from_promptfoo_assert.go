package apply

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/model"
)

// assertImport is an assertion that is being imported.
type assertImport struct {
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
		if weight, _ := number(given); weight == 0 {
			t.noteLeftOut(kind, "its weight is 0, so it decides nothing")
			return
		}
	}
	for _, code := range []string{"transform", "contextTransform"} {
		if _, isGiven := assertion.get(code); isGiven {
			t.noteLeftOut(kind, "its %s is code, which agentgraph does not run", code)
			return
		}
	}
	value, _ := assertion.get("value")
	a := assertImport{t, kind, bare, isNot, value, nil}
	if !a.readValue() {
		return
	}
	a.weight = t.weight(assertion)
	if !a.importAsCheck(assertion) && !a.importAsCriterion(assertion) {
		t.noteLeftOut(kind, "%s", a.whyNot())
		return
	}
	if label, isGiven := assertion.get("metric"); isGiven {
		t.noteNotNeeded(kind, "its metric %s is only a label", asText(label))
	}
	t.importer.reportUnknown(t.owner()+": "+kind, assertion, t.at, "type", "value", "threshold", "weight", "metric", "provider",
		"rubricPrompt")
	for _, name := range []string{"provider", "rubricPrompt"} {
		if _, isGiven := assertion.get(name); isGiven {
			t.noteLeftOut(kind, "its %s is ignored: the server's judge decides", name)
		}
	}
}

func (a *assertImport) whyNot() string {
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
func (a *assertImport) readValue() bool {
	name, isText := a.value.(string)
	if !isText || !strings.HasPrefix(name, "file://") {
		return true
	}
	_, text, problem := a.p.file(name)
	if problem != "" {
		a.noteLeftOut(a.kind, "%s", problem)
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

// pattern returns a regular expression that matches the value literally. It returns false if the value is empty or
// cannot be filled.
func (a *assertImport) pattern(value any) (string, bool) {
	if value == nil {
		a.noteLeftOut(a.kind, "it has no value")
		return "", false
	}
	expression, missing, err := a.texts.fill(asText(value), regexp.QuoteMeta)
	switch {
	case err != nil:
		a.noteLeftOut(a.kind, "%v", err)
	case expression == "":
		a.noteLeftOut(a.kind, "it has no value")
	case len(missing) > 0:
		a.noteApproximated(a.kind, "no variable fills {{%s}}, so the text is empty there", strings.Join(missing, "}}, {{"))
	}
	return expression, err == nil && expression != ""
}

// says adds checks that require one of the agent's messages to match, or none of them. In a score, each of several
// expressions counts separately, instead of all or nothing.
func (a *assertImport) says(expressions ...string) {
	if a.weight != nil && len(expressions) > 1 {
		a.noteApproximated(a.kind, "each of its %d texts counts in the score, but promptfoo counts all as one",
			len(expressions))
	}
	expectation := map[bool]string{true: "neverSays", false: "says"}[a.isNot]
	for _, expression := range expressions {
		if _, err := model.NewExpression(expression); err != nil || utf8.RuneCountInString(expression) > 1000 {
			a.noteLeftOut(a.kind, "%s is not a regular expression (RE2) of at most 1,000 characters and %d instructions",
				asText(a.value), model.MaxExpressionSize)
			continue
		}
		said := object{{"matches", expression}}
		if a.turn > 0 {
			said = append(said, member{"turn", int64(a.turn)})
		}
		a.addCheck(expectation, said, a.weight)
	}
}

// patterns returns regular expressions for a list, or for a text that is separated by commas.
func (a *assertImport) patterns(prefix string) (all []string) {
	values, isList := a.value.(list)
	if text, isText := a.value.(string); isText && !isList {
		for part := range strings.SplitSeq(text, ",") {
			values = append(values, strings.Trim(strings.TrimSpace(part), `"`))
		}
	}
	if len(values) == 0 {
		a.noteLeftOut(a.kind, "it has no values")
	}
	for _, one := range values {
		if !isPlain(one) {
			a.noteLeftOut(a.kind, "%s in its list is not a string", asText(one))
		} else if expression, isWhole := a.pattern(one); isWhole {
			all = append(all, prefix+expression)
		}
	}
	return all
}

func isPlain(value any) bool {
	switch value.(type) {
	case list, object:
		return false
	}
	return true
}

// importAsCheck imports an assertion that needs no model. It returns false if agentgraph has no such check.
func (a *assertImport) importAsCheck(assertion object) bool {
	hasText := slices.Contains([]string{"contains", "icontains", "starts-with", "regex"}, a.bare)
	switch {
	case hasText && !isPlain(a.value):
		a.noteLeftOut(a.kind, "its value %s is not a string", asText(a.value))
		return true
	case (hasText || a.bare == "equals") && a.value == nil:
		a.noteLeftOut(a.kind, "it has no value")
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
		a.addRegexCheck()
	case "equals":
		switch text, isText := a.value.(string); {
		case isText && text == "":
			a.says(`\A\s*\z`)
		case isText || a.isNot || a.turn > 0:
			whole(`\A\s*`, `\s*\z`)
		case strings.Contains(asText(a.value), "{{"):
			a.noteLeftOut(a.kind, "its value has variables in it")
		default:
			a.addCheck("resultJson", object{{"schema", object{{"const", a.value}}}}, a.weight)
		}
	case "is-json":
		return a.addSchemaCheck()
	case "latency":
		threshold, _ := assertion.get("threshold")
		ms, isNumber := number(threshold)
		if !isNumber || a.isNot {
			return false
		}
		if a.turn > 0 {
			a.noteApproximated(a.kind, "the check limits the time of all turns together")
		}
		a.addCheck("durationAtMost", ms/1000, a.weight)
	default:
		return false
	}
	return true
}

// bracesInExpression matches text in a regular expression that a run would replace like a placeholder.
var bracesInExpression = regexp.MustCompile(`\\?\{[A-Za-z_][A-Za-z0-9_.]*\}`)

// addRegexCheck adds a check with a regular expression. Values of rows are inserted literally, so they must not be
// expressions themselves.
func (a *assertImport) addRegexCheck() {
	fillable := slices.Concat(a.texts.rows, a.texts.bag)
	expression, missing, err := a.texts.fill(asText(a.value), func(text string) string {
		return bracesInExpression.ReplaceAllStringFunc(text, func(found string) string {
			name := strings.Trim(found, `\{}`)
			if _, isFilled := valueAtPath(fillable, name); !isFilled {
				return found
			}
			return `\{` + name + `\}`
		})
	})
	if err != nil || len(missing) > 0 {
		a.noteLeftOut(a.kind, "%s cannot be filled", asText(a.value))
		return
	}
	for _, row := range a.more.list("rows") {
		for _, at := range expressionIn.FindAllStringSubmatch(asText(a.value), -1) {
			name, _ := splitFilters(at[1])
			value, isInRow := valueAtPath(row.(object).object("values"), name)
			if text := asText(value); isInRow && regexp.QuoteMeta(text) != text {
				a.noteLeftOut(a.kind, "{{%s}} is an expression in some rows, but rows are inserted verbatim: "+
					"create a test for each row", name)
				return
			}
		}
	}
	a.says(expression)
}

// addSchemaCheck adds a check that the agent's message is JSON, and that it matches the schema if there is one. It
// returns false if agentgraph has no such check.
func (a *assertImport) addSchemaCheck() bool {
	value := a.value
	if text, isText := value.(string); isText {
		read, err := decoded([]byte(text))
		if err != nil {
			a.noteLeftOut(a.kind, "its schema cannot be read")
			return true
		}
		value = read
	}
	schema, isObject := value.(object)
	if value != nil && !isObject || a.isNot || a.turn > 0 {
		return false
	}
	if text, err := json.Marshal(schema); err != nil || strings.Contains(string(text), "{{") {
		a.noteLeftOut(a.kind, "a schema with variables")
		return true
	}
	a.addCheck("resultJson", object{{"schema", append(object{}, schema...)}}, a.weight)
	return true
}

// importAsCriterion imports an assertion that a model judges. It returns false if the assertion is not of this kind.
func (a *assertImport) importAsCriterion(assertion object) bool {
	format := map[string]string{
		"llm-rubric": "%s", "model-graded-closedqa": "%s", "g-eval": "%s",
		"factuality": "What the agent says agrees with this: %s", "model-graded-factuality": "What the agent says agrees " +
			"with this: %s",
		"answer-relevance": "The agent answers what the contact asked.",
		"is-refusal":       "The agent declines to do what the contact asked.",
	}[a.bare]
	if format == "" {
		return false
	}
	if threshold, isGiven := assertion.get("threshold"); isGiven {
		a.noteApproximated(a.kind, "its threshold %s is ignored: the judge says only whether the criterion "+
			"holds", asText(threshold))
	} else if a.bare == "answer-relevance" || a.bare == "is-refusal" {
		a.noteApproximated(a.kind, "it becomes a criterion, which the judge decides")
	}
	texts, isList := a.value.(list)
	if !isList {
		texts = list{a.value}
	}
	for _, one := range texts {
		if !strings.Contains(format, "%s") {
			a.addJudgedCriterion(format)
			continue
		}
		text, isText := one.(string)
		if !isText || strings.TrimSpace(text) == "" || strings.HasPrefix(text, "file://") {
			a.noteLeftOut(a.kind, "%s is not a string", asText(one))
			continue
		}
		if filled, isFilled := a.fillTemplate(a.kind, strings.TrimSpace(text)); isFilled {
			a.addJudgedCriterion(strings.Replace(format, "%s", filled, 1))
		}
	}
	return true
}

func (a *assertImport) addJudgedCriterion(text string) {
	if a.turn > 0 {
		text = "In its answer to message " + asText(int64(a.turn)) + " of the contact: " + text
	}
	if a.isNot {
		text = "This is not so: " + text
	}
	a.addCriterion(text)
	a.weights = append(a.weights, a.weight)
}
