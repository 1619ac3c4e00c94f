package apply

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/model"
)

// promptfooTest is a test of promptfoo that is being carried over.
type promptfooTest struct {
	*carried
	p *promptfoo
	// test is the test case with the defaults applied, except the default assertions. own is the test case as written.
	test, own object
	ownAt     place
	texts     texts
	weights   list
	// isScored: a part of the assertions may fail.
	isScored bool
	// turn is the exchange of a conversation that the test is; 0 for a test of its own. title is what the test is called there.
	turn  int
	title string
}

// carryCases carries the tests over. Those of one conversation become one.
func (p *promptfoo) carryCases() {
	goesOn := len(p.prompts) > 0 && strings.Contains(p.prompts[0].text, "_conversation")
	conversations, order := map[string][]int{}, []string{}
	for i, one := range p.cases {
		if name := one.test.object("options").text("storeOutputAs"); name != "" {
			p.outputs = append(p.outputs, name)
		}
		merged := merge(p.defaults, one.test)
		id, isGiven := merged.object("metadata").get("conversationId")
		key := "conversation " + shown(id)
		if !isGiven && goesOn {
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
		c := p.begin(one.at, merge(p.defaults, one.test).text("description"), fmt.Sprintf("promptfoo test %d", i+1))
		t := p.of(c, one)
		t.readThreshold()
		if t.vars() {
			t.ask()
			t.asserts()
		}
		t.rest()
		p.add(t.carried, one.at)
	}
}

func (p *promptfoo) of(c *carried, one promptfooCase) *promptfooTest {
	c.at = one.at
	return &promptfooTest{carried: c, p: p, test: merge(p.defaults, one.test), own: one.test, ownAt: one.at}
}

// rest adds what is known at the end, and reports the members that were not looked at.
func (t *promptfooTest) rest() {
	if len(t.weights) > 0 && t.isScored {
		t.with("criteriaWeights", t.weights)
	}
	known := []string{"description", "vars", "assert", "threshold", "options", "metadata", "provider", "providers"}
	t.in.others(cmp.Or(t.title, t.name), t.own, t.ownAt, known...)
	t.in.others("defaultTest", t.p.defaults, t.p.defaultsAt, known...)
	for i, of := range []struct {
		o  object
		at place
	}{{t.p.defaults, t.p.defaultsAt}, {t.own, t.ownAt}} {
		t.at, t.label = of.at, map[bool]string{true: "defaultTest", false: t.title}[i == 0]
		for _, m := range of.o.object("options") {
			switch m.name {
			case "prefix", "suffix", "disableVarExpansion":
			case "provider", "rubricPrompt":
				t.leave("options."+m.name, "the server's judge decides")
			case "transform", "postprocess":
				t.leave("options."+m.name, "it is code: checks look at what the agent says")
			default:
				t.leave("options."+m.name, "there is no such thing here")
			}
		}
		for _, m := range of.o.object("metadata") {
			if m.name != "conversationId" {
				t.skip("metadata."+m.name, "it is a label")
			}
		}
		for _, name := range []string{"provider", "providers"} {
			if value, isGiven := of.o.get(name); isGiven && !isSimulatedUser(value) {
				t.skip(name, "the agent answers instead")
			}
		}
	}
	t.at = t.ownAt
}

func (t *promptfooTest) readThreshold() {
	value, isGiven := t.test.get("threshold")
	at, isNumber := number(value)
	if t.isScored = isNumber && at >= 0 && at <= 1; t.isScored {
		t.with("passAt", at)
	} else if isGiven {
		t.leave("threshold", "%s is no number from 0 to 1", shown(value))
	}
}

// conversation carries over tests that go on from each other, as the turns of one.
func (p *promptfoo) conversation(name string, of []int) {
	first := p.cases[of[0]]
	c := p.begin(first.at, p.cases[of[0]].test.text("description"), "promptfoo "+name)
	c.scenario = "You have asked all you wanted to know."
	var says list
	var variables object
	for n, i := range of {
		t := p.of(c, p.cases[i])
		t.turn = len(says) + 1
		t.title = p.titleOf(c.name, n, i)
		c.label = t.title
		if len(says) == model.MaxTurns {
			t.leave("the whole test", "a conversation has at most %d turns", model.MaxTurns)
			continue
		}
		if c.isDropped {
			t.leave("the whole test", "the conversation that it belongs to is left out")
			continue
		}
		if value, isGiven := t.test.get("threshold"); isGiven {
			c.approximate("threshold", "%s: all assertions of the turn must hold", shown(value))
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
		t.rest()
	}
	c.at, c.label = first.at, p.titleOf(c.name, 0, of[0])
	if len(c.criteria)+len(c.checks) == 0 {
		c.drop("nothing is left of its conversation that could be decided")
	}
	if c.isDropped {
		p.leaveTurns(c, of)
	}
	c.label = ""
	if len(variables) > 0 {
		c.with("variables", variables)
	}
	c.with("contactSays", says)
	c.with("maxTurns", int64(max(1, len(says))))
	p.add(c, first.at)
}

// titleOf returns what a test is called that is a turn of a conversation.
func (p *promptfoo) titleOf(conversation string, turn, i int) string {
	if title := firstLine(p.cases[i].test.text("description"), 240); title != "" {
		return title
	}
	return fmt.Sprintf("%s, turn %d", conversation, turn+1)
}

// leaveTurns reports the tests of a conversation that is left out, as none of them goes on without the others.
func (p *promptfoo) leaveTurns(c *carried, of []int) {
	for n, i := range of {
		at, title := p.cases[i].at, p.titleOf(c.name, n, i)
		isSaid := slices.ContainsFunc(p.report.notes, func(n note) bool {
			return n.outcome == leftOut && n.at == at && n.of == title && strings.HasPrefix(n.text, "the whole test")
		})
		if !isSaid {
			p.report.add(leftOut, at, title, "the whole test: the conversation that it belongs to is left out")
		}
	}
}

// said returns what the contact says in a turn of a conversation; "" if the turn is left out, or the conversation with it.
func (t *promptfooTest) said() string {
	if !t.vars() {
		return ""
	}
	if len(t.texts.rows) > 0 {
		t.drop("it has several values of a variable, and is a turn of a conversation")
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
		t.leave("the whole test", "it says nothing, so the conversation goes on without it")
		return ""
	case cutTo(text, 4000) != text:
		t.drop("what it says has more than 4,000 characters")
		return ""
	}
	return text
}

// maxVariable is how many characters a variable may have.
const maxVariable = 10_000

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// vars carries over variables. Lists of texts are combined, as rows.
func (t *promptfooTest) vars() bool {
	bags, all := []object{{}}, 1.0
	given, _ := t.test.get("vars")
	at := t.at.member("vars")
	if name, isText := given.(string); isText {
		given = t.p.referred(name, "vars", &at)
	}
	together, _ := given.(object)
	isWhole, _ := t.test.object("options").get("disableVarExpansion")
	for _, m := range together {
		value, problem := t.valueOf(m.value)
		if problem != "" {
			t.drop("vars.%s: %s", m.name, problem)
			return false
		}
		values, isList := value.(list)
		if _, areTexts := first(values).(string); !isList || !areTexts || isWhole == true {
			values = list{value}
		}
		var combined []object
		for _, bag := range bags {
			for _, one := range values {
				if len(combined) < model.MaxRows {
					combined = append(combined, bag.with(m.name, one))
				}
			}
		}
		bags, all = combined, all*float64(len(values))
	}
	if all > model.MaxRows {
		t.leave("vars", "of %.0f combinations of values the first %d are left", all, model.MaxRows)
	}
	for i, bag := range bags {
		settled, missing, err := settle(bag)
		if err != nil {
			t.drop("%v", err)
			return false
		}
		if !t.misses("vars", missing) {
			t.drop("its variables cannot be filled")
			return false
		}
		bags[i] = settled
	}
	t.split(bags)
	return true
}

func first(values list) any {
	if len(values) == 0 {
		return nil
	}
	return values[0]
}

// valueOf returns the value of a variable, which may stand in a file.
func (t *promptfooTest) valueOf(value any) (any, string) {
	name, isText := value.(string)
	if !isText || !strings.HasPrefix(name, "file://") {
		return value, ""
	}
	if problem := unreadable(name); problem != "" {
		return nil, name + " " + problem
	}
	file := filepath.Clean(strings.TrimPrefix(name, "file://"))
	text, err := t.p.read(file)
	if err != nil {
		return nil, err.Error()
	}
	if ending := filepath.Ext(file); ending == ".json" || ending == ".yaml" || ending == ".yml" {
		if value, err := decoded(text); err == nil {
			return value, ""
		}
	}
	return strings.TrimSpace(string(text)), ""
}

// split makes variables of what is the same in all rows, and rows of the rest.
func (t *promptfooTest) split(bags []object) {
	for _, m := range bags[0] {
		isSame := !slices.ContainsFunc(bags, func(bag object) bool {
			value, _ := bag.get(m.name)
			return !isEqual(value, m.value)
		})
		switch {
		case isSame:
			t.texts.bag = append(t.texts.bag, m)
		default:
			t.texts.rows = append(t.texts.rows, m)
		}
	}
	var named object
	for _, m := range t.texts.bag {
		switch {
		case m.value == nil:
		case !variableName.MatchString(m.name) || len([]rune(shown(m.value))) > maxVariable:
			t.skip("vars."+m.name, "it is filled in, and too long or oddly named to be a variable of the agent")
		default:
			named = append(named, m)
		}
	}
	if len(named) > 0 && t.turn == 0 {
		t.with("variables", named)
	}
	if len(t.texts.rows) == 0 {
		return
	}
	rows := list{}
	for _, bag := range bags {
		values := object{}
		for _, m := range t.texts.rows {
			value, _ := bag.get(m.name)
			values = append(values, member{m.name, value})
		}
		if !slices.ContainsFunc(rows, func(row any) bool { return isEqual(row.(object).object("values"), values) }) {
			rows = append(rows, object{{"values", values}})
		}
	}
	t.with("rows", rows)
}
