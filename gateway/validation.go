package gateway

import (
	"errors"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator/core"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// validation returns the rules for documents. With suggest, messages suggest similar names. They never suggest types,
// which the library lists in random order. Without suggest, messages reveal nothing about the schema. gqlgen itself
// replaces the other two rules that make suggestions.
func validation(suggest bool) *rules.Rules {
	all := rules.NewDefaultRules()
	all.ReplaceRule(rules.KnownTypeNamesRule.Name, rules.KnownTypeNamesRuleWithoutSuggestions.RuleFunc)
	values := rules.ValuesOfCorrectTypeRule.RuleFunc
	if !suggest {
		all.ReplaceRule(rules.KnownArgumentNamesRule.Name, rules.KnownArgumentNamesRuleWithoutSuggestions.RuleFunc)
		values = rules.ValuesOfCorrectTypeRuleWithoutSuggestions.RuleFunc
	}
	all.ReplaceRule(rules.ValuesOfCorrectTypeRule.Name, func(observers *core.Events, addError core.AddErrFunc) {
		values(observers, addError)
		observers.OnValue(func(_ *core.Walker, value *ast.Value) { checkNumber(value, addError) })
	})
	return all
}

// checkNumber reports a literal beyond the range of Int, which gqlparser accepts up to 64 bits. It rewrites numbers
// that Go cannot represent, because otherwise gqlparser would report each object around them too, with its whole text.
// The objects are checked later.
func checkNumber(value *ast.Value, addError core.AddErrFunc) {
	if value.Kind != ast.IntValue && value.Kind != ast.FloatValue {
		return
	}
	definition := value.Definition
	_, unreadable := value.Value(nil)
	_, err := strconv.ParseInt(value.Raw, 10, 32)
	isBeyondInt := definition != nil && definition.Name == "Int" && errors.Is(err, strconv.ErrRange)
	switch {
	case unreadable == nil && !isBeyondInt:
	case definition == nil: // the number is in an object of a custom scalar
		spellMembers(value)
	case definition.Kind == ast.Scalar && !definition.BuiltIn:
		spellValue(value)
	default:
		if unreadable == nil {
			addError(core.Message("Int cannot represent non 32-bit signed integer value: %s", value.Raw),
				core.At(value.Position))
		}
		value.Raw = "0" // so that the fault is reported once
	}
}
