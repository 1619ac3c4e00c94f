package evaluation

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine"
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
		called.Where, e.Called = engine.FillConditions(called.Where, b.FillOptional), &called
	}
	if e.NeverCalled != nil {
		avoided := *e.NeverCalled
		avoided.Where, e.NeverCalled = engine.FillConditions(avoided.Where, b.FillOptional), &avoided
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

// namedText is a text that may have placeholders, with its name for warnings.
type namedText struct{ name, text string }

func textsOfTest(test *model.AgentTestRow) []namedText {
	texts := []namedText{{"the scenario", test.Scenario}}
	if test.Persona != nil && test.Persona.Knowledge != nil {
		texts = append(texts, namedText{"what the contact knows", *test.Persona.Knowledge})
	}
	for i, said := range test.ContactSays {
		if said != nil {
			texts = append(texts, namedText{fmt.Sprintf("message %d of the contact", i+1), *said})
		}
	}
	if len(test.Rows) > 0 {
		for i, message := range test.ConversationMessages {
			texts = append(texts, namedText{fmt.Sprintf("message %d", i+1), message.Text})
		}
	}
	for i, criterion := range test.Criteria {
		texts = append(texts, namedText{fmt.Sprintf("criterion %d", i+1), criterion})
	}
	for i, check := range test.Checks {
		texts = append(texts, namedText{fmt.Sprintf("check %d", i+1), strings.Join(check.Expect.Texts(), "\n")})
	}
	return texts
}

// unfilledIn returns warnings about placeholders without a value in a test's texts.
func unfilledIn(b content.Values, test *model.AgentTestRow) []string {
	var warnings []string
	for _, t := range textsOfTest(test) {
		_, unknown := content.Fill(t.text, b.Text)
		warnings = append(warnings, content.Unfilled(t.name, unknown)...)
	}
	return warnings
}

// checkLength returns UNPROCESSABLE if the texts of a test are too long together after their placeholders are filled.
func checkLength(b content.Values, test *model.AgentTestRow) error {
	size := 0
	for _, t := range textsOfTest(test) {
		if size += len(b.Filled(t.text)); size >= content.MaxRendered {
			return errTooLong
		}
	}
	return nil
}

var errTooLong = model.Errorf(model.Unprocessable, "the test's texts have more than %d KiB together after their "+
	"placeholders are filled", content.MaxRendered>>10)

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
