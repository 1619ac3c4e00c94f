package gateway

import "github.com/vektah/gqlparser/v2/validator/rules"

// validation returns the rules for documents. With suggest, messages suggest similar names. They never suggest types,
// which the library lists in random order. Without suggest, messages reveal nothing about the schema. gqlgen itself
// replaces the other two rules that make suggestions.
func validation(suggest bool) *rules.Rules {
	all := rules.NewDefaultRules()
	all.ReplaceRule(rules.KnownTypeNamesRule.Name, rules.KnownTypeNamesRuleWithoutSuggestions.RuleFunc)
	if !suggest {
		all.ReplaceRule(rules.KnownArgumentNamesRule.Name, rules.KnownArgumentNamesRuleWithoutSuggestions.RuleFunc)
		all.ReplaceRule(rules.ValuesOfCorrectTypeRule.Name, rules.ValuesOfCorrectTypeRuleWithoutSuggestions.RuleFunc)
	}
	return all
}
