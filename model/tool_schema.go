package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// MaxJSONDepth bounds how deeply objects and lists in a call's arguments may be nested.
	MaxJSONDepth = 32
	// maxSchemaSteps bounds the work of checking one value, with the values inside it down to MaxJSONDepth levels. Each
	// subschema is a step each time it is reached, through any references.
	maxSchemaSteps = 2_000
	// maxSchemaWork bounds the work of checking one call's arguments: the schema's steps times the number of values,
	// where a text counts once for each textPerValue bytes. That much takes some tenths of a second.
	maxSchemaWork = 4 << 20
	textPerValue  = 16
)

var (
	errSchemaObject  = errors.New("must be a JSON object")
	errSchemaType    = errors.New(`must be a JSON Schema with "type": "object"`)
	errSchemaInvalid = errors.New("must be a valid JSON Schema without references to other documents")
	errSchemaNowhere = errors.New("must not have a $ref to something that the schema does not contain")
	errSchemaPattern = fmt.Errorf("must have patterns in RE2 syntax of at most %d instructions each", MaxExpressionSize)
	errSchemaSteps   = fmt.Errorf("must need at most %d checks for one value, including those in "+
		"references", maxSchemaSteps)
)

// JSONSchema is a JSON Schema of bounded cost. It is safe for concurrent use.
type JSONSchema struct {
	compiled *jsonschema.Schema
	steps    int
}

// NewToolSchema compiles the JSON Schema of a tool's parameters with NewJSONSchema. Its type must be object.
func NewToolSchema(text string) (*JSONSchema, error) {
	var parameters map[string]any
	if json.Unmarshal([]byte(text), &parameters) == nil && parameters["type"] != "object" {
		return nil, errSchemaType
	}
	return NewJSONSchema(text)
}

// NewJSONSchema compiles a JSON Schema, which is an object. Its errors are sentences without a subject. It refuses
// references to other documents, which a compiler would read from files, and schemas that take too long to check
// anything.
func NewJSONSchema(text string) (*JSONSchema, error) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if _, isObject := document.(map[string]any); err != nil || !isObject {
		return nil, errSchemaObject
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{})
	// The compiled schema uses this engine too: some drafts check values of the format regex by compiling them. Only
	// failures within Compile are faults of the schema.
	isPattern, isCompiling := true, true
	compiler.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		expression, err := NewExpression(text)
		if err != nil {
			if isCompiling {
				isPattern = false
			}
			return nil, err
		}
		return expression, nil
	})
	if err := compiler.AddResource("tool:///parameters", document); err != nil {
		return nil, errSchemaInvalid
	}
	compiled, err := compiler.Compile("tool:///parameters")
	isCompiling = false
	switch {
	case !isPattern:
		return nil, errSchemaPattern
	case errors.As(err, new(*jsonschema.JSONPointerNotFoundError)), errors.As(err, new(*jsonschema.AnchorNotFoundError)):
		return nil, errSchemaNowhere
	case err != nil:
		return nil, errSchemaInvalid
	}
	s := stepCounter{counted: map[visit]int{}}
	schema := &JSONSchema{compiled, s.count(compiled, MaxJSONDepth)}
	if schema.steps > maxSchemaSteps {
		return nil, errSchemaSteps
	}
	return schema, nil
}

// Validate returns a *jsonschema.ValidationError if a value that was decoded from JSON does not match. It returns
// another error if the value is too large to check, or if the context has ended.
func (s *JSONSchema) Validate(ctx context.Context, value any) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if values := countValues(value); values*s.steps > maxSchemaWork {
		return fmt.Errorf("it is too large for the schema: it has %d values and pieces of text, but can have at most %d",
			values, maxSchemaWork/s.steps)
	}
	return s.compiled.Validate(value)
}

// countValues counts the values within a value, and the pieces of its texts.
func countValues(value any) int {
	values := 1
	switch value := value.(type) {
	case string:
		values += len(value) / textPerValue
	case json.Number:
		values += len(value) / textPerValue
	case []any:
		for _, inner := range value {
			values += countValues(inner)
		}
	case map[string]any:
		for name, inner := range value {
			values += len(name)/textPerValue + countValues(inner)
		}
	}
	return values
}

// stepCounter counts the steps of checking a value by a schema.
type stepCounter struct{ counted map[visit]int }

// visit is a schema that checks a value. depth is the number of levels below the value.
type visit struct {
	schema *jsonschema.Schema
	depth  int
}

// count returns the number of steps of a schema, up to a little above the limit. A schema that refers to itself for the
// same value counts as too many, because no validator would finish.
func (s stepCounter) count(schema *jsonschema.Schema, depth int) int { //nolint:funlen // every keyword of JSON Schema
	if schema == nil || depth < 0 {
		return 0
	}
	at := visit{schema, depth}
	if known, ok := s.counted[at]; ok {
		return known
	}
	s.counted[at] = maxSchemaSteps + 1 // if the schema refers to itself
	sum := 1
	if schema.Enum != nil {
		sum += len(schema.Enum.Values)
	}
	if pattern, ok := schema.Pattern.(*Expression); ok {
		sum += pattern.size
	}
	add := func(depth int, schemas ...*jsonschema.Schema) {
		for _, inner := range schemas {
			if sum <= maxSchemaSteps {
				sum += s.count(inner, depth)
			}
		}
	}
	// These references lead to a schema with the anchor on the path to the value. The path is known only during the check.
	if d := schema.DynamicRef; d != nil && d.Anchor != "" || schema.RecursiveRef != nil &&
		schema.RecursiveRef.RecursiveAnchor {
		sum = maxSchemaSteps + 1
	} else if d != nil {
		add(depth, d.Ref)
	}
	sum += len(schema.Required)
	for _, names := range schema.DependentRequired {
		sum += len(names)
	}
	add(depth, schema.Ref, schema.RecursiveRef, schema.Not, schema.If, schema.Then, schema.Else)
	add(depth, schema.AllOf...)
	add(depth, schema.AnyOf...)
	add(depth, schema.OneOf...)
	for _, inner := range schema.DependentSchemas {
		add(depth, inner)
	}
	for _, inner := range schema.Dependencies {
		if names, ok := inner.([]string); ok {
			sum += len(names)
		}
		add(depth, subschema(inner))
	}
	within := depth - 1
	for _, inner := range schema.Properties {
		add(within, inner)
	}
	for pattern, inner := range schema.PatternProperties {
		if expression, ok := pattern.(*Expression); ok {
			sum += expression.size
		}
		add(within, inner)
	}
	if items, ok := schema.Items.([]*jsonschema.Schema); ok {
		add(within, items...)
	}
	add(within, schema.PrefixItems...)
	add(within, schema.PropertyNames, schema.UnevaluatedProperties, schema.Contains, schema.Items2020,
		schema.UnevaluatedItems,
		subschema(schema.AdditionalProperties), subschema(schema.Items), subschema(schema.AdditionalItems))
	sum = min(sum, maxSchemaSteps+1)
	s.counted[at] = sum
	return sum
}

// subschema returns the value as a schema, or nil if it is not one.
func subschema(value any) *jsonschema.Schema {
	schema, _ := value.(*jsonschema.Schema)
	return schema
}
