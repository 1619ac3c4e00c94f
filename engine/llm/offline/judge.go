package offline

import (
	"encoding/json"
	"fmt"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// Judge returns the model that judges criteria without a language model. It receives only criteria that no rule decides
// (see package rules). It never guesses, so it returns an error for each.
func Judge() llm.Model {
	p := ruleModel{name: "judge"}
	p.answer = func(req llm.Request) (llm.Answer, error) {
		var asked struct{ Criterion *string }
		if len(req.Messages) == 0 || json.Unmarshal([]byte(req.Messages[0].Text), &asked) != nil || asked.Criterion == nil {
			return llm.Answer{}, p.refuse("it only judges tests")
		}
		return llm.Answer{}, p.refuse(fmt.Sprintf(
			"the criterion %q has none of the forms that can be judged without a language model; configure one to judge it",
			*asked.Criterion))
	}
	return p
}
