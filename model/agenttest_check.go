package model

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
)

// Bounds of the checks of a test.
const (
	maxChecks         = 50
	maxCheckSchemas   = 5
	maxCheckText      = 2_000
	maxExpectedCalls  = 1_000
	maxExpectedTime   = 86_400
	maxExpectedCredit = 1_000_000_000
	maxWeight         = 100
)

// TestCheck is an expectation about a simulation that the program checks without a judge.
type TestCheck struct {
	Expect TestExpectation `json:"expect"`
	// Weight is the weight of the check in the score. Nil if the check is required.
	Weight *int32 `json:"weight,omitempty"`
}

// TestExpectation is what a check expects. Exactly one of its fields is set.
type TestExpectation struct {
	Called           *CalledExpectation      `json:"called,omitempty"`
	NeverCalled      *NeverCalledExpectation `json:"neverCalled,omitempty"`
	Says             *SaidExpectation        `json:"says,omitempty"`
	NeverSays        *SaidExpectation        `json:"neverSays,omitempty"`
	EndedBy          *ConversationEnder      `json:"endedBy,omitempty"`
	Tag              *string                 `json:"tag,omitempty"`
	TurnsAtMost      *int32                  `json:"turnsAtMost,omitempty"`
	DurationAtMost   *float64                `json:"durationAtMost,omitempty"`
	FirstTokenAtMost *float64                `json:"firstTokenAtMost,omitempty"`
	CreditsAtMost    *float64                `json:"creditsAtMost,omitempty"`
	ResultJSON       *ResultExpectation      `json:"resultJson,omitempty"`
	Extracts         *ExtractsExpectation    `json:"extracts,omitempty"`
}

// CalledExpectation expects Min to Max matching calls. The first of them must precede every call of the target named
// by Before.
type CalledExpectation struct {
	NeverCalledExpectation
	// Succeeded excludes failed calls.
	Succeeded bool    `json:"succeeded,omitempty"`
	Min       int32   `json:"min"`
	Max       *int32  `json:"max,omitempty"`
	Before    *string `json:"before,omitempty"`
}

// NeverCalledExpectation matches calls that have the name and the kind and satisfy all conditions. A nil name or kind
// matches any.
type NeverCalledExpectation struct {
	TechnicalName *string         `json:"technicalName,omitempty"`
	Kind          *ToolCallKind   `json:"kind,omitempty"`
	Where         []MockCondition `json:"where"`
}

// SaidExpectation matches messages of the role in the turn that contain the text or match the expression.
type SaidExpectation struct {
	Text    *string     `json:"text,omitempty"`
	Matches *string     `json:"matches,omitempty"`
	Role    MessageRole `json:"role"`
	// Turn is 0 for the welcome message. Negative turns count from the end. Nil matches any turn.
	Turn *int32 `json:"turn,omitempty"`
}

// ResultExpectation expects that JSON matches a schema: the result of a call, or the agent's last message if
// TechnicalName is nil.
type ResultExpectation struct {
	TechnicalName *string    `json:"technicalName,omitempty"`
	Schema        JSONObject `json:"schema"`
}

// ExtractsExpectation expects that a value extracted from the conversation equals the text, or matches the expression.
type ExtractsExpectation struct {
	Name    string  `json:"name"`
	Equals  *string `json:"equals,omitempty"`
	Matches *string `json:"matches,omitempty"`
}

// CheckResult is the result of a check.
type CheckResult struct {
	Check TestCheck `json:"check"`
	// Filled is the description of the check with its placeholders filled; empty if it has none.
	Filled   string     `json:"expected,omitempty"`
	Passed   bool       `json:"passed"`
	Observed string     `json:"observed"`
	Evidence []Evidence `json:"evidence"`
}

// Expected says what was expected, with placeholders filled.
func (r *CheckResult) Expected() string { return cmp.Or(r.Filled, r.Check.Description()) }

// checks records the faults of the checks themselves. The caller checks whether the agent has the tools that they
// name.
func (f *Fields) checks(path string, checks []TestCheck) {
	if !f.list(path, len(checks), maxChecks) {
		return
	}
	expressions, schemas := 0, 0
	for _, c := range checks {
		expressions += c.Expect.expressions()
		if c.Expect.ResultJSON != nil {
			schemas++
		}
	}
	if expressions > maxExpressions {
		f.Add(path, "must have at most %d regular expressions, not %d", maxExpressions, expressions)
	}
	if schemas > maxCheckSchemas {
		f.Add(path, "must have at most %d checks with resultJson, not %d", maxCheckSchemas, schemas)
	}
	if expressions > maxExpressions || schemas > maxCheckSchemas {
		return // checking each would take too long
	}
	for i, c := range checks {
		f.expectation(fmt.Sprintf("%s.%d.expect", path, i), c.Expect)
		f.count(fmt.Sprintf("%s.%d.weight", path, i), c.Weight, 1, maxWeight)
	}
}

// weights records the faults of criteriaWeights. The test has the given number of criteria.
func (f *Fields) weights(weights []*int32, criteria int) {
	if !f.list("criteriaWeights", len(weights), maxCriteria) {
		return
	}
	if len(weights) > criteria {
		f.Add("criteriaWeights", "must not have more entries than there are criteria, %d", criteria)
		return
	}
	for i, weight := range weights {
		f.count(fmt.Sprintf("criteriaWeights.%d", i), weight, 1, maxWeight)
	}
}

// expressions counts the regular expressions, so that a list with too many is refused before any is compiled.
func (e *TestExpectation) expressions() (n int) {
	for _, said := range []*SaidExpectation{e.Says, e.NeverSays} {
		if said != nil && said.Matches != nil {
			n++
		}
	}
	if e.Extracts != nil && e.Extracts.Matches != nil {
		n++
	}
	conditions := e.conditions()
	if len(conditions) > maxRules {
		return n
	}
	for _, c := range conditions {
		if c.Matches != nil {
			n++
		}
	}
	return n
}

// conditions returns the conditions on the arguments of calls.
func (e *TestExpectation) conditions() []MockCondition {
	switch {
	case e.Called != nil:
		return e.Called.Where
	case e.NeverCalled != nil:
		return e.NeverCalled.Where
	}
	return nil
}

// given counts the fields that are set.
func (e *TestExpectation) given() (n int) {
	for _, value := range reflect.ValueOf(*e).Fields() {
		if !value.IsNil() {
			n++
		}
	}
	return n
}

func (f *Fields) expectation(path string, e TestExpectation) {
	if n := e.given(); n != 1 {
		f.Add(path, "must give exactly one expectation, not %d", n)
		return
	}
	switch {
	case e.Called != nil:
		f.called(path+".called", e.Called)
	case e.NeverCalled != nil:
		f.calls(path+".neverCalled", e.NeverCalled)
	case e.Says != nil:
		f.said(path+".says", e.Says)
	case e.NeverSays != nil:
		f.said(path+".neverSays", e.NeverSays)
	case e.EndedBy != nil && !e.EndedBy.IsValid():
		f.Add(path+".endedBy", "must be one of Agent, Contact, Limit")
	case e.Tag != nil:
		f.text(path+".tag", *e.Tag, 1, 100)
	case e.Extracts != nil:
		f.extracts(path+".extracts", e.Extracts)
	case e.ResultJSON != nil:
		f.named(path+".resultJson.technicalName", e.ResultJSON.TechnicalName)
		f.resultSchema(path+".resultJson.schema", e.ResultJSON.Schema)
	}
	f.count(path+".turnsAtMost", e.TurnsAtMost, 1, MaxTurns)
	f.number(path+".durationAtMost", e.DurationAtMost, 0, maxExpectedTime)
	f.number(path+".firstTokenAtMost", e.FirstTokenAtMost, 0, maxExpectedTime)
	f.number(path+".creditsAtMost", e.CreditsAtMost, 0, maxExpectedCredit)
}

func (f *Fields) called(path string, c *CalledExpectation) {
	f.calls(path, &c.NeverCalledExpectation)
	f.count(path+".min", &c.Min, 1, maxExpectedCalls)
	f.count(path+".max", c.Max, c.Min, maxExpectedCalls)
	f.named(path+".before", c.Before)
}

func (f *Fields) calls(path string, c *NeverCalledExpectation) {
	if c.TechnicalName == nil && c.Kind == nil {
		f.Add(path, "must give at least one of technicalName and kind")
	}
	f.named(path+".technicalName", c.TechnicalName)
	if c.Kind != nil && !c.Kind.IsValid() {
		f.Add(path+".kind", "must be one of Tool, SubAgent, CallTransfer, Retrieval")
	}
	if f.list(path+".where", len(c.Where), maxRules) {
		for i, condition := range c.Where {
			f.condition(fmt.Sprintf("%s.where.%d", path, i), condition)
		}
	}
}

func (f *Fields) said(path string, s *SaidExpectation) {
	f.either(path, "text", s.Text, s.Matches)
	if !s.Role.IsValid() {
		f.Add(path+".role", "must be one of assistant, user")
	}
	f.count(path+".turn", s.Turn, -MaxTurns, MaxTurns)
}

func (f *Fields) extracts(path string, e *ExtractsExpectation) {
	f.text(path+".name", e.Name, 1, 100)
	f.either(path, "equals", e.Equals, e.Matches)
}

// either records the faults of a text and of an expression. Exactly one of them must be set.
func (f *Fields) either(path, name string, text, matches *string) {
	if (text == nil) == (matches == nil) {
		f.Add(path, "must give exactly one of %s and matches", name)
	}
	if text != nil {
		f.name(path+"."+name, *text, maxCheckText)
	}
	if matches != nil {
		f.text(path+".matches", *matches, 1, 1_000)
	}
	f.expression(path+".matches", matches)
}

func (f *Fields) named(path string, name *string) {
	if name != nil {
		f.text(path, *name, 1, 64)
	}
}

func (f *Fields) resultSchema(path string, schema JSONObject) {
	if len(schema) > 20_000 {
		f.Add(path, "must have at most 20,000 bytes")
	} else if _, err := NewJSONSchema(string(schema.text())); err != nil {
		f.Add(path, "%s", err.Error())
	}
}

// expression records a fault when a text is not a regular expression of bounded cost. Nil is valid.
func (f *Fields) expression(path string, text *string) {
	if text == nil {
		return
	}
	switch _, err := NewExpression(*text); {
	case errors.Is(err, errExpressionSize):
		f.Add(path, "must compile to at most %d instructions: use fewer or shorter repetitions", MaxExpressionSize)
	case err != nil:
		f.Add(path, "must be a regular expression in RE2 syntax")
	}
}

// Sought returns the texts and regular expressions that are searched for in other texts. They may contain placeholders.
func (e *TestExpectation) Sought() []string { return e.texts(false) }

// Texts returns the texts that may contain placeholders.
func (e *TestExpectation) Texts() []string { return e.texts(true) }

// texts returns the texts that are searched for. withEqual adds those that a whole text must equal.
func (e *TestExpectation) texts(withEqual bool) (texts []string) {
	add := func(equal *string, sought ...*string) {
		if withEqual {
			sought = append([]*string{equal}, sought...)
		}
		for _, text := range sought {
			if text != nil {
				texts = append(texts, *text)
			}
		}
	}
	add(e.Tag)
	for _, said := range []*SaidExpectation{e.Says, e.NeverSays} {
		if said != nil {
			add(nil, said.Text, said.Matches)
		}
	}
	if e.Extracts != nil {
		add(e.Extracts.Equals, e.Extracts.Matches)
	}
	for _, condition := range e.conditions() {
		add(condition.Equals, condition.Matches)
	}
	return texts
}
