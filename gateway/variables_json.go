package gateway

import (
	"encoding/json"
	"slices"

	"github.com/vektah/gqlparser/v2/ast"
)

// variablesKey is the context key of the variables' JSON, a json.RawMessage. The decoded variables have lost the order
// of their keys.
type variablesKey struct{}

func membersOf(text json.RawMessage) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(text, &members) // It was decoded before, so it is valid.
	return members
}

// hasObject reports whether the value of a custom scalar somewhere in value is an object.
func hasObject(schema *ast.Schema, t *ast.Type, value any) bool {
	if list, ok := value.([]any); ok && t.Elem != nil {
		return slices.ContainsFunc(list, func(element any) bool { return hasObject(schema, t.Elem, element) })
	}
	members, ok := value.(map[string]any)
	if !ok || t.Elem != nil {
		return false
	}
	definition := schema.Types[t.NamedType]
	return definition.Kind == ast.Scalar || slices.ContainsFunc(definition.Fields, func(field *ast.FieldDefinition) bool {
		member, given := members[field.Name]
		return given && hasObject(schema, field.Type, member)
	})
}

// restoreJSON replaces each object of a custom scalar with the JSON that the client sent for it. It does not parse a
// text without such objects.
func restoreJSON(schema *ast.Schema, t *ast.Type, value any, text json.RawMessage) any {
	if text == nil || !hasObject(schema, t, value) {
		return value
	}
	if t.Elem != nil {
		var texts []json.RawMessage
		list, ok := value.([]any)
		if !ok || json.Unmarshal(text, &texts) != nil || len(texts) != len(list) {
			return value
		}
		for i := range list {
			list[i] = restoreJSON(schema, t.Elem, list[i], texts[i])
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
			members[field.Name] = restoreJSON(schema, field.Type, member, texts[field.Name])
		}
	}
	return members
}
