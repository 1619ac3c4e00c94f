package apply

import "strings"

// graded imports an assertion that a model judges. It returns false if the assertion is not of this kind.
func (a *phrase) graded(assertion object) bool {
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
		a.approximate(a.kind, "its threshold %s is ignored: the judge says only whether the criterion "+
			"holds", shown(threshold))
	} else if a.bare == "answer-relevance" || a.bare == "is-refusal" {
		a.approximate(a.kind, "it becomes a criterion, which the judge decides")
	}
	texts, isList := a.value.(list)
	if !isList {
		texts = list{a.value}
	}
	for _, one := range texts {
		if !strings.Contains(format, "%s") {
			a.grade(format)
			continue
		}
		text, isText := one.(string)
		if !isText || strings.TrimSpace(text) == "" || strings.HasPrefix(text, "file://") {
			a.leave(a.kind, "%s is not a string", shown(one))
			continue
		}
		if filled, isFilled := a.text(a.kind, strings.TrimSpace(text)); isFilled {
			a.grade(strings.Replace(format, "%s", filled, 1))
		}
	}
	return true
}

func (a *phrase) grade(text string) {
	if a.turn > 0 {
		text = "In its answer to message " + shown(int64(a.turn)) + " of the contact: " + text
	}
	if a.isNot {
		text = "This is not so: " + text
	}
	a.criterion(text)
	a.weights = append(a.weights, a.weight)
}
