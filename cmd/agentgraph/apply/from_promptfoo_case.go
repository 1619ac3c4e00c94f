package apply

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/model"
)

// promptfooTest is a promptfoo test that is being imported.
type promptfooTest struct {
	*importedTest
	p *promptfoo
	// test is the test case with the defaults applied, except the default assertions. testCase is the test case as
	// written.
	test, testCase object
	testCaseAt     position
	texts          templateVariables
	weights        list
	// isScored is set if the test has a valid threshold. It can then pass although some assertions fail.
	isScored bool
	// turn is the number of the test's turn in a conversation, from 1. It is 0 if the test is not part of one. title is
	// the name of the turn.
	turn  int
	title string
}

// importCases imports the tests. Tests of the same conversation become one.
func (p *promptfoo) importCases() {
	hasHistory := len(p.prompts) > 0 && strings.Contains(p.prompts[0].text, "_conversation")
	conversations, order := map[string][]int{}, []string{}
	for i, one := range p.cases {
		if name := one.test.object("options").text("storeOutputAs"); name != "" {
			p.outputs = append(p.outputs, name)
		}
		merged := merge(p.defaults, one.test)
		id, isGiven := merged.object("metadata").get("conversationId")
		key := "conversation " + asText(id)
		if !isGiven && hasHistory {
			key = "conversation"
		} else if !isGiven {
			key = fmt.Sprint(i)
		}
		if conversations[key] == nil {
			order = append(order, key)
		}
		conversations[key] = append(conversations[key], i)
	}
	for _, key := range order {
		if several := conversations[key]; len(several) > 1 {
			p.conversation(key, several)
			continue
		}
		i := conversations[key][0]
		one := p.cases[i]
		c := p.newTest(one.at, merge(p.defaults, one.test).text("description"), fmt.Sprintf("promptfoo test %d", i+1))
		t := p.newPromptfooTest(c, one)
		t.readThreshold()
		if t.importVars() {
			t.importInput()
			t.asserts()
		}
		t.finish()
		p.addTest(t.importedTest, one.at)
	}
}

func (p *promptfoo) newPromptfooTest(c *importedTest, one promptfooCase) *promptfooTest {
	c.at = one.at
	return &promptfooTest{importedTest: c, p: p, test: merge(p.defaults, one.test), testCase: one.test, testCaseAt: one.at}
}

// finish adds the weights, and reports the members that were not imported.
func (t *promptfooTest) finish() {
	if len(t.weights) > 0 && t.isScored {
		t.setMember("criteriaWeights", t.weights)
	}
	known := []string{"description", "vars", "assert", "threshold", "options", "metadata", "provider", "providers"}
	t.importer.reportUnknown(cmp.Or(t.title, t.name), t.testCase, t.testCaseAt, known...)
	t.importer.reportUnknown("defaultTest", t.p.defaults, t.p.defaultsAt, known...)
	for i, section := range []struct {
		o  object
		at position
	}{{t.p.defaults, t.p.defaultsAt}, {t.testCase, t.testCaseAt}} {
		t.at, t.label = section.at, map[bool]string{true: "defaultTest", false: t.title}[i == 0]
		for _, m := range section.o.object("options") {
			switch m.name {
			case "prefix", "suffix", "disableVarExpansion":
			case "provider", "rubricPrompt":
				t.noteLeftOut("options."+m.name, "the server's judge decides")
			case "transform", "postprocess":
				t.noteLeftOut("options."+m.name, "it is code, which agentgraph does not run")
			default:
				t.noteLeftOut("options."+m.name, "agentgraph has no equivalent")
			}
		}
		for _, m := range section.o.object("metadata") {
			if m.name != "conversationId" {
				t.noteNotNeeded("metadata."+m.name, "it is a label")
			}
		}
		for _, name := range []string{"provider", "providers"} {
			if value, isGiven := section.o.get(name); isGiven && !isSimulatedUser(value) {
				t.noteNotNeeded(name, "the agent answers instead")
			}
		}
	}
	t.at = t.testCaseAt
}

func (t *promptfooTest) readThreshold() {
	value, isGiven := t.test.get("threshold")
	at, isNumber := number(value)
	if t.isScored = isNumber && at >= 0 && at <= 1; t.isScored {
		t.setMember("passAt", at)
	} else if isGiven {
		t.noteLeftOut("threshold", "%s is not a number from 0 to 1", asText(value))
	}
}

// conversation imports tests that continue each other as the turns of one test.
func (p *promptfoo) conversation(name string, caseIndexes []int) {
	first := p.cases[caseIndexes[0]]
	c := p.newTest(first.at, p.cases[caseIndexes[0]].test.text("description"), "promptfoo "+name)
	c.scenario = "You have asked all you wanted to know."
	var says list
	var variables object
	for n, i := range caseIndexes {
		t := p.newPromptfooTest(c, p.cases[i])
		t.turn = len(says) + 1
		t.title = p.titleOf(c.name, n, i)
		c.label = t.title
		if len(says) == model.MaxTurns {
			t.noteLeftOut("the whole test", "a conversation has at most %d turns", model.MaxTurns)
			continue
		}
		if c.isDropped {
			t.noteLeftOut("the whole test", "its conversation cannot be converted")
			continue
		}
		if value, isGiven := t.test.get("threshold"); isGiven {
			c.noteApproximated("threshold", "instead of %s, all assertions of the turn must hold", asText(value))
		}
		if text := t.said(); text != "" {
			says = append(says, text)
			for _, m := range t.texts.bag {
				if _, isKnown := variables.get(m.name); !isKnown {
					variables = append(variables, m)
				}
			}
			t.asserts()
		}
		t.finish()
	}
	c.at, c.label = first.at, p.titleOf(c.name, 0, caseIndexes[0])
	if len(c.criteria)+len(c.checks) == 0 {
		c.drop("none of the checks in its conversation can be converted")
	}
	if c.isDropped {
		p.leaveTurns(c, caseIndexes)
	}
	c.label = ""
	if len(variables) > 0 {
		c.setMember("variables", variables)
	}
	c.setMember("contactSays", says)
	c.setMember("maxTurns", int64(max(1, len(says))))
	p.addTest(c, first.at)
}

// titleOf returns the name of a turn: the description of its test, if it has one.
func (p *promptfoo) titleOf(conversation string, turn, i int) string {
	if title := firstLine(p.cases[i].test.text("description"), 240); title != "" {
		return title
	}
	return fmt.Sprintf("%s, turn %d", conversation, turn+1)
}

// leaveTurns reports the tests of a conversation that is left out, because each turn needs the others.
func (p *promptfoo) leaveTurns(c *importedTest, caseIndexes []int) {
	for n, i := range caseIndexes {
		at, title := p.cases[i].at, p.titleOf(c.name, n, i)
		isSaid := slices.ContainsFunc(p.report.notes, func(n note) bool {
			return n.outcome == leftOut && n.at == at && n.owner == title && strings.HasPrefix(n.text, "the whole test")
		})
		if !isSaid {
			p.report.addNote(leftOut, at, title, "the whole test: its conversation cannot be converted")
		}
	}
}

// said returns what the contact says in a turn. It returns "" if the turn or the whole conversation is left out.
func (t *promptfooTest) said() string {
	if !t.importVars() {
		return ""
	}
	if len(t.texts.rows) > 0 {
		t.drop("it is a turn of a conversation, and a turn cannot have several values of a variable")
		return ""
	}
	messages := t.message()
	if t.isDropped {
		return ""
	}
	text := ""
	if len(messages) > 0 {
		text = messages[len(messages)-1].(object).text("content")
	}
	switch {
	case strings.TrimSpace(text) == "":
		t.noteLeftOut("the whole test", "the contact says nothing in it, so the conversation continues without this turn")
		return ""
	case truncate(text, 4000) != text:
		t.drop("its message has more than 4,000 characters")
		return ""
	}
	return text
}

// asserts imports the default assertions, then the assertions of the test.
func (t *promptfooTest) asserts() {
	t.label = "defaultTest"
	t.assertAll(t.p.defaults.list("assert"), t.p.defaultsAt.member("assert"))
	t.label = t.title
	t.assertAll(t.testCase.list("assert"), t.testCaseAt.member("assert"))
	t.at = t.testCaseAt
}

func (t *promptfooTest) assertAll(all list, at position) {
	for i, one := range all {
		t.at = at.index(i)
		assertion, isObject := one.(object)
		switch {
		case isUnresolved(one):
			t.noteLeftOut("an assertion", "the target of its $ref does not exist")
		case !isObject:
			t.noteLeftOut("an assertion", "%s is not known", asText(one))
		case assertion.text("type") == "assert-set":
			t.importer.reportUnknown(t.owner(), assertion, t.at, "type", "assert", "threshold")
			if threshold, isGiven := assertion.get("threshold"); isGiven {
				t.noteApproximated("assert-set", "instead of its threshold %s, all of its assertions must hold", asText(threshold))
			}
			t.assertAll(assertion.list("assert"), t.at.member("assert"))
		default:
			t.assert(assertion)
		}
	}
}

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
		t.noteApproximated(assertion.text("type"), "its weight %v is rounded to %v", weight, whole)
	}
	return int64(whole)
}
