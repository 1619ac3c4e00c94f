package rules

import (
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// maxSuggested bounds the criteria that Suggest reads, in bytes. One check cannot replace a longer criterion, and
// reading the criteria of a page of tests must stay cheap.
const maxSuggested = 500

// Suggest returns a check that could replace a criterion. It returns nil if rules already decide the criterion, if the
// criterion mentions nothing that a program can check, or if it is longer than maxSuggested.
func Suggest(criterion string, targets []Target) *model.TestExpectation {
	if len(criterion) > maxSuggested {
		return nil
	}
	readings := parse(criterion, targets)
	claims := readings[0]
	isCertain := !slices.ContainsFunc(slices.Concat(readings...), func(c *claim) bool {
		return c.isUnsure || c.isJudged()
	})
	at := slices.IndexFunc(claims, func(c *claim) bool { return c.kind != unknown && !c.byContact })
	if isCertain || at < 0 {
		return nil
	}
	return claims[at].expectation()
}

// expectation returns the claim as a check.
func (claim *claim) expectation() *model.TestExpectation {
	switch {
	case claim.kind == sayVerb:
		said := &model.SaidExpectation{Text: &claim.text, Role: model.MessageRoleAssistant}
		if claim.isNegated {
			return &model.TestExpectation{NeverSays: said}
		}
		return &model.TestExpectation{Says: said}
	case claim.kind == endVerb && !claim.isNegated:
		return &model.TestExpectation{EndedBy: new(model.ConversationEnderAgent)}
	case claim.kind == transferVerb:
		claim.name = llm.TransferCall
	case claim.name == "" || claim.kind == endVerb:
		return nil
	}
	called := model.NeverCalledExpectation{TechnicalName: &claim.name, Where: []model.MockCondition{}}
	for _, a := range claim.arguments {
		if a.name == "" || strings.ContainsAny(a.name, " ") {
			continue
		}
		called.Where = append(called.Where, model.MockCondition{Argument: a.name, Equals: &a.value})
	}
	if claim.isNegated {
		return &model.TestExpectation{NeverCalled: &called}
	}
	expected := &model.CalledExpectation{NeverCalledExpectation: called, Succeeded: claim.kind == transferVerb,
		Min: int32(claim.minTimes)}
	if claim.maxTimes >= 0 {
		expected.Max = new(int32(claim.maxTimes))
	}
	return &model.TestExpectation{Called: expected}
}
