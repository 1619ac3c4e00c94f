package apply

import "strings"

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
