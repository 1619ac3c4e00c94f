package apply

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/model"
)

// fromPromptfoo carries over a configuration of promptfoo, or its list of tests. Each test is a message, which the agent answers once.
func fromPromptfoo(text []byte) (list, []string, error) {
	value, err := decoded(text)
	if err != nil {
		return nil, nil, err
	}
	config, _ := value.(object)
	if tests, isList := value.(list); isList {
		config = object{{"tests", tests}}
	}
	cases, isList := config.get("tests")
	entries, _ := cases.(list)
	if !isList || entries == nil {
		return nil, nil, fmt.Errorf("must have the list tests itself, not %v", shown(cases))
	}
	c := &carriedTests{}
	for _, name := range []string{"providers", "scenarios", "assertionTemplates", "derivedMetrics", "extensions", "nunjucksFilters"} {
		if _, isGiven := config.get(name); isGiven {
			c.left = append(c.left, name+": belongs to the configuration: the agent answers with its own model")
		}
	}
	defaults := config.object("defaultTest")
	for i, entry := range entries {
		test, isObject := entry.(object)
		name := fmt.Sprintf("promptfoo test %d", i+1)
		if !isObject {
			c.left = append(c.left, name+": "+shown(entry)+" is another file: import that")
			continue
		}
		p := promptfooTest{c.begin(test.text("description"), name), nil, false}
		p.isScored = p.threshold(test, defaults)
		p.vars(test, defaults)
		p.ask(config, test, defaults)
		for _, of := range []object{defaults, test} {
			p.asserts(of.list("assert"))
			for _, name := range []string{"options", "provider", "providers", "assertScoreFunction"} {
				if _, isGiven := of.get(name); isGiven {
					p.leave(name, "a test here has no such thing")
				}
			}
		}
		if len(p.weights) > 0 && p.isScored {
			p.with("criteriaWeights", p.weights)
		}
		c.add(p.carried)
	}
	return c.done()
}

// promptfooTest is a test of promptfoo that is being carried over.
type promptfooTest struct {
	*carried
	weights list
	// isScored: a part of the assertions may fail.
	isScored bool
}

func (p *promptfooTest) threshold(of ...object) bool {
	for _, o := range of {
		value, _ := o.get("threshold")
		if at, isNumber := number(value); isNumber && at >= 0 && at <= 1 {
			p.with("passAt", at)
			return true
		}
	}
	return false
}

// vars carries over variables. Lists of them are combined, as rows.
func (p *promptfooTest) vars(test, defaults object) {
	fixed, rows, all := object{}, list{object{}}, 1.0
	together := defaults.object("vars")
	for _, m := range test.object("vars") {
		together = together.with(m.name, m.value)
	}
	for _, m := range together {
		values, isList := m.value.(list)
		if text, isText := m.value.(string); isText && strings.Contains(text, "://") && !strings.Contains(text, " ") {
			p.leave("vars."+m.name, "%s is not read", text)
		}
		if !isList {
			fixed = fixed.with(m.name, m.value)
			continue
		}
		var combined list
		for _, row := range rows {
			for _, value := range values {
				combined = append(combined, row.(object).with(m.name, value))
			}
		}
		// The first combinations come of the first ones so far.
		rows, all = combined[:min(len(combined), model.MaxRows)], all*float64(len(values))
	}
	if len(fixed) > 0 {
		p.with("variables", fixed)
	}
	if all > model.MaxRows {
		p.leave("vars", "of %.0f combinations of values the first %d are left", all, model.MaxRows)
	}
	if len(rows) > 1 || len(rows) == 1 && len(rows[0].(object)) > 0 {
		for i, row := range rows {
			rows[i] = object{{"values", row}}
		}
		p.with("rows", rows)
	}
}

// spoken are variables that usually hold what the user says.
var spoken = []string{"question", "query", "input", "message", "user_input", "userInput", "user_message", "text"}

// ask makes the message that the agent answers.
func (p *promptfooTest) ask(config, test, defaults object) {
	text := ""
	for _, of := range []object{test.object("vars"), defaults.object("vars")} {
		for _, m := range of {
			if text == "" && (slices.Contains(spoken, m.name) || len(test.object("vars")) == 1) {
				text = "{" + m.name + "}"
			}
		}
	}
	if prompts := config.list("prompts"); text == "" && len(prompts) > 0 {
		text = p.messageIn(prompts[0])
	}
	if text == "" {
		p.leave("the message", "no variable is known to hold it, such as question: write it into conversationContext")
		text = "Hello"
	}
	p.scenario = "You have asked all you wanted to know."
	values, _ := p.more.get("variables")
	variables, _ := values.(object)
	messages := list{object{{"role", "user"}, {"text", cutTo(text, 10_000)}}}
	if len(p.more.list("rows")) == 0 {
		messages = inserted(messages, variables)
	}
	p.with("conversationContext", messages)
	p.with("maxTurns", int64(1))
}

// messageIn returns what the user says in a prompt: all of it, or the last message of the user in a chat.
func (p *promptfooTest) messageIn(prompt any) (text string) {
	text, _ = prompt.(string)
	if strings.Contains(text, "://") {
		return ""
	}
	chat, err := decodeJSON([]byte(text))
	if messages, isList := chat.(list); err == nil && isList {
		text = ""
		for _, one := range messages {
			if message, _ := one.(object); message.text("role") == "user" {
				text = message.text("content")
			}
		}
		p.leave("the prompt", "its system message: the agent has its own prompt")
	}
	return placeholders(text)
}

func (p *promptfooTest) asserts(all list) {
	for _, one := range all {
		assertion, isObject := one.(object)
		if !isObject {
			p.leave("an assertion", "%s is not known", shown(one))
			continue
		}
		if assertion.text("type") == "assert-set" {
			if _, isGiven := assertion.get("threshold"); isGiven {
				p.leave("assert-set", "its threshold; all of its assertions must hold")
			}
			p.asserts(assertion.list("assert"))
			continue
		}
		p.assert(assertion)
	}
}

// weight is what an assertion counts for; nil if it is required.
func (p *promptfooTest) weight(assertion object) any {
	if !p.isScored {
		return nil
	}
	value, _ := assertion.get("weight")
	weight, isNumber := number(value)
	if !isNumber {
		weight = 1
	}
	return int64(min(100, max(1, math.Ceil(weight))))
}

func (p *promptfooTest) assert(assertion object) {
	kind := assertion.text("type")
	value, _ := assertion.get("value")
	weight := p.weight(assertion)
	if given, _ := assertion.get("weight"); given != nil {
		if of, _ := number(given); of == 0 {
			p.leave(kind, "its weight is 0, so it decides nothing")
			return
		}
	}
	bare, isNot := strings.CutPrefix(kind, "not-")
	says := map[bool]string{true: "neverSays", false: "says"}[isNot]
	matching := func(expressions ...string) {
		for _, expression := range expressions {
			if _, err := regexp.Compile(expression); err != nil || len(expression) > 1000 {
				p.leave(kind, "%s is no regular expression (RE2) of at most 1,000 characters", shown(value))
				continue
			}
			p.check(says, object{{"matches", expression}}, weight)
		}
	}
	each := func(prefix string) (expressions []string) {
		values, _ := value.(list)
		for _, one := range values {
			expressions = append(expressions, prefix+literally(shown(one)))
		}
		return expressions
	}
	prefix := map[bool]string{true: "(?i)"}[strings.HasPrefix(bare, "i") && bare != "is-json"]
	switch bare {
	case "contains", "icontains":
		matching(prefix + literally(shown(value)))
	case "contains-any", "icontains-any":
		matching(strings.Join(each(prefix), "|"))
	case "contains-all", "icontains-all":
		if isNot {
			p.leave(kind, "there is no such check")
			return
		}
		matching(each(prefix)...)
	case "starts-with":
		matching(`\A` + literally(shown(value)))
	case "regex":
		matching(placeholders(shown(value)))
	case "equals":
		if _, isText := value.(string); isText || isNot {
			matching(`\A\s*` + literally(shown(value)) + `\s*\z`)
			return
		}
		p.check("resultJson", object{{"schema", object{{"const", value}}}}, weight)
	case "is-json":
		schema, _ := value.(object)
		if _, isText := value.(string); isNot || isText {
			p.leave(kind, "%s is not read", shown(value))
			return
		}
		p.check("resultJson", object{{"schema", append(object{}, schema...)}}, weight)
	case "latency":
		threshold, _ := assertion.get("threshold")
		if ms, isNumber := number(threshold); isNumber && !isNot {
			p.check("durationAtMost", ms/1000, weight)
			return
		}
		p.leave(kind, "it has no threshold")
	case "llm-rubric", "model-graded-closedqa", "g-eval", "factuality", "model-graded-factuality", "answer-relevance":
		p.judge(kind, bare, value, weight, isNot)
	case "cost":
		p.leave(kind, "it counts dollars: see the check creditsAtMost")
	case "javascript", "python", "ruby", "webhook":
		p.leave(kind, "code of others is not run")
	default:
		p.leave(kind, "there is no such check")
	}
}

// judge carries over what a model grades.
func (p *promptfooTest) judge(kind, bare string, value, weight any, isNot bool) {
	texts, isList := value.(list)
	if !isList {
		texts = list{value}
	}
	for _, one := range texts {
		text, isText := one.(string)
		switch {
		case !isText || text == "" || strings.Contains(text, "file://"):
			p.leave(kind, "%s is no text", shown(one))
			continue
		case strings.HasSuffix(bare, "factuality"):
			text = "What the agent says agrees with this: " + text
		case isNot:
			text = "This is not so: " + text
		}
		p.criteria, p.weights = append(p.criteria, cutTo(placeholders(text), 2000)), append(p.weights, weight)
	}
}
