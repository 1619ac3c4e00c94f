package gateway

import (
	"context"
	"encoding/json"
	"math"
	"reflect"
	"strconv"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
)

// checkVariable checks what gqlparser's coercion lets through in variables: @oneOf, the exact spelling of enum values,
// the range of Int, and texts in place of numbers or the other way round. Nulls and unknown fields have already been
// refused.
func checkVariable(schema *ast.Schema, t *ast.Type, value any) *gqlerror.Error {
	if value == nil {
		return nil
	}
	if t.Elem != nil {
		return checkList(schema, t.Elem, value)
	}
	definition := schema.Types[t.NamedType]
	switch definition.Kind {
	case ast.Enum:
		if text, ok := value.(string); !ok || definition.EnumValues.ForName(text) == nil {
			return invalid("is not one of the values of %s", definition.Name)
		}
	case ast.InputObject:
		return checkObject(schema, definition, value)
	default:
		if !fits(definition.Name, value) {
			return invalid("is not a valid %s", definition.Name)
		}
	}
	return nil
}

func checkList(schema *ast.Schema, element *ast.Type, value any) *gqlerror.Error {
	// gqlparser turns a single value into a slice of that value's type.
	list := reflect.ValueOf(value)
	if list.Kind() != reflect.Slice {
		return checkVariable(schema, element, value)
	}
	for i := range list.Len() {
		if err := checkVariable(schema, element, list.Index(i).Interface()); err != nil {
			return under(ast.PathIndex(i), err)
		}
	}
	return nil
}

func checkObject(schema *ast.Schema, definition *ast.Definition, value any) *gqlerror.Error {
	members, ok := value.(map[string]any)
	if !ok {
		return invalid("is not a valid %s", definition.Name)
	}
	if definition.Directives.ForName("oneOf") != nil {
		for _, member := range members {
			if len(members) != 1 || member == nil {
				return invalid("%s takes exactly one field, which is not null", definition.Name)
			}
		}
		if len(members) == 0 {
			return invalid("%s takes exactly one field, which is not null", definition.Name)
		}
	}
	for _, field := range definition.Fields {
		if err := checkVariable(schema, field.Type, members[field.Name]); err != nil {
			return under(ast.PathName(field.Name), err)
		}
	}
	return nil
}

// fits reports whether a value fits one of GraphQL's own scalars; others check themselves.
func fits(scalar string, value any) bool {
	switch scalar {
	case "Int":
		n, ok := integer(value)
		return ok && n >= math.MinInt32 && n <= math.MaxInt32
	case "Float":
		switch v := value.(type) {
		case json.Number:
			_, err := v.Float64()
			return err == nil
		case float64, int64:
			return true
		}
		return false
	case "String":
		_, ok := value.(string)
		return ok
	case "ID":
		_, isText := value.(string)
		_, isNumber := integer(value)
		return isText || isNumber
	default:
		return true
	}
}

// integer reads a whole number, as spelled in JSON or as coerced by gqlparser.
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

// under prepends a step to the error's path.
func under(step ast.PathElement, err *gqlerror.Error) *gqlerror.Error {
	err.Path = append(ast.Path{step}, err.Path...)
	return err
}

type variablesKey struct{}

// withVariableTexts keeps the variables as the client spelled them, since the decoded ones have lost the order of their
// keys.
func withVariableTexts(ctx context.Context, variables json.RawMessage) context.Context {
	return context.WithValue(ctx, variablesKey{}, variables)
}

func variableTexts(ctx context.Context) map[string]json.RawMessage {
	text, _ := ctx.Value(variablesKey{}).(json.RawMessage)
	return membersOf(text)
}

func membersOf(text json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(text, &members) // It was decoded before.
	return members
}

// asSpelled replaces every object that stands for a custom scalar by the text that the client sent for it.
func asSpelled(schema *ast.Schema, t *ast.Type, value any, text json.RawMessage) any {
	if text == nil {
		return value
	}
	if t.Elem != nil {
		var texts []json.RawMessage
		list, ok := value.([]any)
		if !ok || json.Unmarshal(text, &texts) != nil || len(texts) != len(list) {
			return value
		}
		for i := range list {
			list[i] = asSpelled(schema, t.Elem, list[i], texts[i])
		}
		return list
	}
	members, ok := value.(map[string]any)
	if !ok {
		return value
	}
	definition := schema.Types[t.NamedType]
	if definition.Kind == ast.Scalar {
		return text
	}
	texts := membersOf(text)
	for _, field := range definition.Fields {
		if member, given := members[field.Name]; given {
			members[field.Name] = asSpelled(schema, field.Type, member, texts[field.Name])
		}
	}
	return members
}
