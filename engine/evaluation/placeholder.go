package evaluation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// maxVariables bounds all variables in the instructions of contact and judge, and maxVariable each value, in bytes.
	maxVariables = 10_000
	maxVariable  = 500
)

// filledExpectation returns an expectation with the placeholders of its texts filled. In regular expressions, it
// escapes the values.
func filledExpectation(b content.Values, e model.TestExpectation) model.TestExpectation {
	if e.Called != nil {
		called := *e.Called
		called.Where, e.Called = filledConditions(called.Where, b.FillOptional), &called
	}
	if e.NeverCalled != nil {
		avoided := *e.NeverCalled
		avoided.Where, e.NeverCalled = filledConditions(avoided.Where, b.FillOptional), &avoided
	}
	for _, said := range []**model.SaidExpectation{&e.Says, &e.NeverSays} {
		if *said != nil {
			*said = new(**said)
			(*said).Text, (*said).Matches = b.FillOptional((*said).Text, identity),
				b.FillOptional((*said).Matches, regexp.QuoteMeta)
		}
	}
	if e.Extracts != nil {
		copied := *e.Extracts
		copied.Equals, copied.Matches, e.Extracts = b.FillOptional(copied.Equals, identity),
			b.FillOptional(copied.Matches, regexp.QuoteMeta), &copied
	}
	e.Tag = b.FillOptional(e.Tag, identity)
	return e
}

// unfilledIn returns warnings about placeholders without a value in a test's texts.
func unfilledIn(b content.Values, test *model.AgentTestRow) []string {
	var warnings []string
	warnUnfilled := func(where, text string) {
		_, unknown := content.Fill(text, b.Text)
		warnings = append(warnings, content.Unfilled(where, unknown)...)
	}
	warnUnfilled("the scenario", test.Scenario)
	if test.Persona != nil && test.Persona.Knowledge != nil {
		warnUnfilled("what the contact knows", *test.Persona.Knowledge)
	}
	for i, said := range test.ContactSays {
		if said != nil {
			warnUnfilled(fmt.Sprintf("message %d of the contact", i+1), *said)
		}
	}
	if len(test.Rows) > 0 {
		for i, message := range test.ConversationMessages {
			warnUnfilled(fmt.Sprintf("message %d", i+1), message.Text)
		}
	}
	for i, criterion := range test.Criteria {
		warnUnfilled(fmt.Sprintf("criterion %d", i+1), criterion)
	}
	for i, check := range test.Checks {
		warnUnfilled(fmt.Sprintf("check %d", i+1), strings.Join(check.Expect.Texts(), "\n"))
	}
	return warnings
}

// shownVariables returns the values for the instructions of contact and judge, in the order of their names, up to
// maxVariables.
func shownVariables(b content.Values) map[string]string {
	shown, size := map[string]string{}, 0
	for _, name := range slices.Sorted(maps.Keys(b)) {
		value, known := b.Text(name)
		value = content.Cut(value, maxVariable)
		if size += len(name) + len(value); size > maxVariables {
			break
		}
		if known && strings.TrimSpace(value) != "" {
			shown[name] = value
		}
	}
	return shown
}

// withVariables returns the contact's instructions with the variables, which come before the scenario.
func withVariables(b content.Values, instruction string) string {
	shown := shownVariables(b)
	if len(shown) == 0 {
		return instruction
	}
	return instruction + "\n- This is what the assistant knows of you, as JSON; it is true unless the scenario says " +
		"otherwise: " + content.Encode(shown)
}
