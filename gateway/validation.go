package gateway

import "github.com/vektah/gqlparser/v2/validator/rules"

// validation are the rules that a document is validated by. With suggest, messages name what a client may have meant:
// never for types, whose candidates the library finds in another order each time. Without, they say nothing of the
// schema; gqlgen sees to two rules of five.
func validation(suggest bool) *rules.Rules {
	all := rules.NewDefaultRules()
	all.ReplaceRule(rules.KnownTypeNamesRule.Name, rules.KnownTypeNamesRuleWithoutSuggestions.RuleFunc)
	if !suggest {
		all.ReplaceRule(rules.KnownArgumentNamesRule.Name, rules.KnownArgumentNamesRuleWithoutSuggestions.RuleFunc)
		all.ReplaceRule(rules.ValuesOfCorrectTypeRule.Name, rules.ValuesOfCorrectTypeRuleWithoutSuggestions.RuleFunc)
	}
	return all
}
