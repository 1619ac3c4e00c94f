package gateway

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/agentgraph/agentgraph/model"
)

// checkVariables returns the faults of an operation's variables, whether or not gqlparser has coerced them. gqlparser
// accepts some faults that the specification forbids, and reports others vaguely. The messages are the same as in
// graphql-js, but without the values, which may be secrets. Each fault has the position of the variable's definition.
// In extensions.fields, it has the path of the faulty, absent or unknown value, and a text without the path.
func checkVariables(schema *ast.Schema, operation *ast.OperationDefinition, variables map[string]any) gqlerror.List {
	c := &variableCheck{schema: schema}
	for _, definition := range operation.VariableDefinitions {
		c.definition = definition
		value, given := variables[definition.Variable]
		switch {
		case !given && (definition.DefaultValue != nil || !definition.Type.NonNull):
		case !given:
			c.addFault(definition.Variable, isRequired, `Variable "$%s" of required type "%s" was not provided.`,
				definition.Variable, definition.Type)
		case value == nil && definition.Type.NonNull:
			c.addFault(definition.Variable, mustNotBeNull, `Variable "$%s" of non-null type "%s" must not be null.`,
				definition.Variable, definition.Type)
		case value == nil:
			if uses := nonNullUses(operation.SelectionSet, definition.Variable); len(uses) > 0 {
				c.addFault(definition.Variable, mustNotBeNull,
					`Variable "$%s" must not be null: it is used as a value of type "%s".`, definition.Variable, uses[0].ExpectedType)
			}
		default:
			c.value(definition.Type, definition.Variable, value)
		}
	}
	return c.faults
}

// ExplainVariables returns the executor's errors for an operation. If the variables are invalid, it returns the faults
// of checkVariables instead.
func ExplainVariables(schema *ast.Schema, operation *graphql.OperationContext, variables map[string]any,
	errs gqlerror.List) gqlerror.List {
	if len(errs) > 0 && operation.Operation != nil && isGraphQL(errs[0]) { // the document is valid
		if faults := checkVariables(schema, operation.Operation, variables); len(faults) > 0 {
			return faults
		}
	}
	return errs
}

// nonNullUses returns where a selection uses the variable as a value that must not be null. If the variable, the
// argument or the input field has a default, the variable's own type may be nullable.
func nonNullUses(set ast.SelectionSet, variable string) []*ast.Value {
	search := useSearch{variable: variable, visited: map[string]bool{}}
	search.selection(set)
	return search.uses
}

// useSearch visits each fragment once.
type useSearch struct {
	variable string
	visited  map[string]bool
	uses     []*ast.Value
}

func (u *useSearch) selection(set ast.SelectionSet) {
	for _, selection := range set {
		switch s := selection.(type) {
		case *ast.Field:
			u.arguments(s.Arguments, s.Directives)
			u.selection(s.SelectionSet)
		case *ast.InlineFragment:
			u.arguments(nil, s.Directives)
			u.selection(s.SelectionSet)
		case *ast.FragmentSpread:
			if u.arguments(nil, s.Directives); !u.visited[s.Name] {
				u.visited[s.Name] = true
				u.selection(s.Definition.SelectionSet)
			}
		}
	}
}

func (u *useSearch) arguments(arguments ast.ArgumentList, directives ast.DirectiveList) {
	for _, argument := range arguments {
		u.value(argument.Value)
	}
	for _, directive := range directives {
		u.arguments(directive.Arguments, nil)
	}
}

func (u *useSearch) value(value *ast.Value) {
	isUse := value.Kind == ast.Variable && value.Raw == u.variable
	if isUse && value.ExpectedType != nil && value.ExpectedType.NonNull {
		u.uses = append(u.uses, value)
	}
	for _, child := range value.Children {
		u.value(child.Value)
	}
}

type variableCheck struct {
	schema     *ast.Schema
	definition *ast.VariableDefinition
	faults     gqlerror.List
}

// The texts of faults in extensions.fields that do not repeat the message.
const (
	isRequired    = "is required"
	isUnknown     = "is unknown"
	mustNotBeNull = "must not be null"
)

// addFault adds an error with a message, and the fault of the value at a path.
func (c *variableCheck) addFault(at, fault, format string, args ...any) {
	err := &gqlerror.Error{Message: fmt.Sprintf(format, args...),
		Extensions: map[string]any{"fields": model.Fields{at: {fault}}}}
	if p := c.definition.Position; p != nil {
		err.Locations = []gqlerror.Location{{Line: p.Line, Column: p.Column}}
	}
	errcode.Set(err, errcode.ValidationFailed)
	c.faults = append(c.faults, err)
}

// addInvalid adds a fault of the value at a path, such as input.fields.0.
func (c *variableCheck) addInvalid(at, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.addInvalidAt(at, at, text, text)
}

// addMember adds a fault of an object's member that is absent or unknown. The message has the object's path.
func (c *variableCheck) addMember(object, name, fault, format string, args ...any) {
	c.addInvalidAt(object, object+"."+name, fault, fmt.Sprintf(format, args...))
}

func (c *variableCheck) addInvalidAt(value, at, fault, text string) {
	name, place := c.definition.Variable, ""
	if value != name {
		place = fmt.Sprintf(" at %q", value)
	}
	c.addFault(at, fault, `Variable "$%s" got invalid value%s; %s`, name, place, text)
}

func (c *variableCheck) value(t *ast.Type, at string, value any) {
	if value == nil {
		if t.NonNull {
			c.addInvalid(at, `Expected non-nullable type "%s" not to be null.`, t)
		}
		return
	}
	if t.Elem != nil {
		c.list(t.Elem, at, value)
		return
	}
	switch definition := c.schema.Types[t.NamedType]; definition.Kind {
	case ast.Enum:
		if text, ok := value.(string); !ok {
			c.addInvalid(at, `Enum "%s" cannot represent non-string value.`, definition.Name)
		} else if definition.EnumValues.ForName(text) == nil {
			c.addInvalid(at, `Value does not exist in "%s" enum.%s`, definition.Name, namedValues(definition.EnumValues))
		}
	case ast.InputObject:
		c.object(definition, at, value)
	default:
		if fault := scalarFault(definition.Name, value); fault != "" {
			c.addInvalid(at, "%s", fault)
		}
	}
}

// maxNamedValues is the largest number of values of an enum that an error lists.
const maxNamedValues = 10

// namedValues returns a sentence with the values of an enum, after a space. It returns "" if there are too many.
func namedValues(values ast.EnumValueList) string {
	if len(values) > maxNamedValues {
		return ""
	}
	names := model.Map(values, func(value *ast.EnumValueDefinition) string { return value.Name })
	return " It has " + strings.Join(names, ", ") + "."
}

func (c *variableCheck) list(element *ast.Type, at string, value any) {
	// gqlparser turns a single value into a slice of that value's type.
	list := reflect.ValueOf(value)
	if list.Kind() != reflect.Slice {
		c.value(element, at, value)
		return
	}
	for i := range list.Len() {
		c.value(element, at+"."+strconv.Itoa(i), list.Index(i).Interface())
	}
}

func (c *variableCheck) object(definition *ast.Definition, at string, value any) {
	members, ok := value.(map[string]any)
	if !ok {
		c.addInvalid(at, `Expected type "%s" to be an object.`, definition.Name)
		return
	}
	for _, field := range definition.Fields {
		member, given := members[field.Name]
		switch {
		case given:
			c.value(field.Type, at+"."+field.Name, member)
		case field.Type.NonNull && field.DefaultValue == nil:
			c.addMember(at, field.Name, isRequired, `Field "%s" of required type "%s" was not provided.`, field.Name,
				field.Type)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if definition.Fields.ForName(name) == nil {
			c.addMember(at, name, isUnknown, `Field "%s" is not defined by type "%s".`, name, definition.Name)
		}
	}
	if definition.Directives.ForName("oneOf") == nil {
		return
	}
	if len(members) != 1 {
		c.addInvalid(at, `Exactly one key must be specified for OneOf type "%s".`, definition.Name)
		return
	}
	for name, member := range members {
		if member == nil {
			c.addInvalid(at+"."+name, `Field "%s" must be non-null.`, name)
		}
	}
}

// scalarFault returns why a value is invalid for one of GraphQL's built-in scalars, or "". Custom scalars check their
// own values.
func scalarFault(scalar string, value any) string {
	switch scalar {
	case "Int":
		n, ok := integer(value)
		switch {
		case ok && n >= math.MinInt32 && n <= math.MaxInt32:
		case ok:
			return "Int cannot represent non 32-bit signed integer value."
		default:
			return "Int cannot represent non-integer value."
		}
	case "Float":
		switch v := value.(type) {
		case json.Number:
			if _, err := v.Float64(); err != nil {
				return "Float cannot represent non numeric value."
			}
		case float64, int64:
		default:
			return "Float cannot represent non numeric value."
		}
	case "String":
		if _, ok := value.(string); !ok {
			return "String cannot represent a non string value."
		}
	case "Boolean":
		if _, ok := value.(bool); !ok {
			return "Boolean cannot represent a non boolean value."
		}
	case "ID":
		_, isText := value.(string)
		if _, isNumber := integer(value); !isText && !isNumber {
			return "ID cannot represent value."
		}
	}
	return ""
}

// integer reads a whole number, as JSON or as gqlparser coerced it.
func integer(value any) (int64, bool) {
	switch v := value.(type) {
	case json.Number:
		n, err := strconv.ParseInt(string(v), 10, 64)
		return n, err == nil
	case int64:
		return v, true
	default:
		return 0, false
	}
}
