package rules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/agentgraph/agentgraph/cache"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// schemaBytes and expressionBytes bound the caches, in bytes of text. A compiled schema takes about fifty times as
	// much.
	schemaBytes     = 1 << 20
	expressionBytes = 256 << 10
	// MaxFault bounds the text about faulty arguments that a model sees, in bytes.
	MaxFault = 2_000
)

// Checker checks schemas and regular expressions. It compiles and caches them. It is safe for concurrent use.
type Checker struct {
	schemas     *cache.Cache[string, *model.JSONSchema]
	expressions *cache.Cache[string, *model.Expression]
}

// NewChecker returns a Checker with empty caches.
func NewChecker() *Checker {
	return &Checker{
		cache.New(schemaBytes, func(text string, _ *model.JSONSchema) int { return len(text) }),
		cache.New(expressionBytes, func(text string, _ *model.Expression) int { return len(text) }),
	}
}

// Validate returns an error for the model if a call's arguments do not match the schema, or the schema is not usable.
func (c *Checker) Validate(ctx context.Context, schema json.RawMessage, call content.Values) error {
	compiled, err := c.schemas.Load(string(schema), model.NewJSONSchema)
	if err != nil {
		return errors.New("the tool's own JSON Schema is not usable")
	}
	var invalid *jsonschema.ValidationError
	if err := compiled.Validate(ctx, map[string]any(call)); errors.As(err, &invalid) {
		return errors.New("the arguments are invalid: " + faultsIn(invalid))
	} else if err != nil {
		return fmt.Errorf("the arguments are invalid: %w", err)
	}
	return nil
}

// faultsIn returns the innermost faults of a validation error as text.
func faultsIn(invalid *jsonschema.ValidationError) string {
	left := MaxFault
	return content.Cut(strings.Join(slices.Compact(leaves(invalid, nil, &left)), "; "), MaxFault)
}

var english = message.NewPrinter(language.English)

// leaves appends the innermost faults of a validation error, each with its path in the arguments. left is the number of
// bytes that may still be appended.
func leaves(e *jsonschema.ValidationError, faults []string, left *int) []string {
	// The validator checks properties in random order.
	slices.SortStableFunc(e.Causes, func(a, b *jsonschema.ValidationError) int {
		return slices.Compare(a.InstanceLocation, b.InstanceLocation)
	})
	if extra, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
		slices.Sort(extra.Properties)
	}
	for _, cause := range e.Causes {
		if *left > 0 {
			faults = leaves(cause, faults, left)
		}
	}
	if len(e.Causes) > 0 {
		return faults
	}
	text := e.ErrorKind.LocalizedString(english)
	switch e.ErrorKind.(type) {
	case *kind.FalseSchema:
		text = "is not allowed"
	case *kind.Enum, *kind.Const:
		text = strings.ReplaceAll(text, "<nil>", "null")
	}
	if len(e.InstanceLocation) > 0 {
		text = fmt.Sprintf("%s: %s", strings.Join(e.InstanceLocation, "."), text)
	}
	*left -= len(text)
	return append(faults, text)
}

// Applies reports whether a rule of a mock applies to a call with these arguments and this number, counted from 0.
func (c *Checker) Applies(ctx context.Context, rule *model.MockRule, call content.Values, number int32) bool {
	fails := func(condition model.MockCondition) bool { return !c.holds(ctx, condition, call) }
	return (rule.CallIndex == nil || *rule.CallIndex == number) && !slices.ContainsFunc(rule.When, fails)
}

func (c *Checker) holds(ctx context.Context, condition model.MockCondition, call content.Values) bool {
	value, present := call.Lookup(condition.Argument)
	if condition.Present != nil && *condition.Present != present {
		return false
	}
	if condition.Equals != nil && (!present || !equals(value, *condition.Equals)) {
		return false
	}
	if condition.Matches == nil || !present {
		return condition.Matches == nil
	}
	expression, err := c.expressions.Load(*condition.Matches, model.NewExpression)
	if err != nil {
		return false // it was stored before expressions were bounded
	}
	matches, err := expression.Match(ctx, content.TextOf(value))
	return err == nil && matches
}

// equals compares a string verbatim, and any other value with the value of the JSON text.
func equals(value any, want string) bool {
	if text, ok := value.(string); ok {
		return text == want
	}
	wanted, err := content.ParseJSON(want)
	return err == nil && content.Equal(value, wanted)
}
