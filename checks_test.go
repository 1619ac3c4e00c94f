package agentgraph

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

// expectations are the members of what a check expects, as paths such as "says.text".
type expectations map[string]bool

// addType adds the members of a type of the schema. In the inputs of expectations, each text and number must have
// @bounds.
func (e expectations) addType(t *testing.T, schema *ast.SchemaDocument, name, before string) {
	t.Helper()
	definition := schema.Definitions.ForName(name)
	if definition == nil || definition.Kind == ast.Enum {
		return
	}
	for _, f := range definition.Fields {
		e[before+f.Name] = true
		of := f.Type.Name()
		if strings.HasSuffix(name, "ExpectationInput") && (of == "String" || of == "Int" || of == "Float") {
			assert.NotNil(t, f.Directives.ForName("bounds"), "@bounds of %s.%s in the schema", name, f.Name)
		}
		e.addType(t, schema, of, before+f.Name+".")
	}
}

// addSelection adds what a document selects below "expect".
func (e expectations) addSelection(document *ast.QueryDocument, set ast.SelectionSet, before string) {
	for _, selected := range set {
		switch s := selected.(type) {
		case *ast.Field:
			if _, member, isExpected := strings.Cut(before+s.Name, "expect."); isExpected {
				e[member] = true
			}
			e.addSelection(document, s.SelectionSet, before+s.Name+".")
		case *ast.InlineFragment:
			e.addSelection(document, s.SelectionSet, before)
		case *ast.FragmentSpread:
			if fragment := document.Fragments.ForName(s.Name); fragment != nil {
				e.addSelection(document, fragment.SelectionSet, before)
			}
		}
	}
}

// jsonSchema is the part of a JSON Schema that describes the members of values.
type jsonSchema struct {
	Defs       map[string]jsonSchema `json:"$defs"`
	Properties map[string]jsonSchema `json:"properties"`
	Items      *jsonSchema           `json:"items"`
}

func (e expectations) addJSONSchema(s jsonSchema, before string) {
	if s.Items != nil {
		e.addJSONSchema(*s.Items, before)
	}
	for name, member := range s.Properties {
		e[before+name] = true
		e.addJSONSchema(member, before+name+".")
	}
}

// TestEveryPlaceHasEveryCheck compares the places that list what checks can expect with TestExpectationInput.
// docs/internals/architecture.md tells how to add a check.
func TestEveryPlaceHasEveryCheck(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		return string(text)
	}
	names, err := filepath.Glob("schema/*.graphqls")
	require.NoError(t, err)
	var sources []*ast.Source
	for _, name := range names {
		sources = append(sources, &ast.Source{Name: name, Input: read(name)})
	}
	schema, err := parser.ParseSchemas(sources...)
	require.NoError(t, err)
	want, output := expectations{}, expectations{}
	want.addType(t, schema, "TestExpectationInput", "")
	output.addType(t, schema, "TestExpectation", "")
	places := map[string]expectations{"TestExpectation in schema/agenttest_check.graphqls": output}

	const editor = "console/src/pages/tests/TestEditor.tsx"
	for _, name := range []string{
		"gateway/rest/operations/agenttest.graphql", "gateway/mcp/operations/test.graphql", editor,
	} {
		text := read(name)
		if name == editor {
			text = regexp.MustCompile("fragment EditedCheck [^`]*").FindString(text)
		}
		document, err := parser.ParseQuery(&ast.Source{Name: name, Input: text})
		require.NoError(t, err)
		places[name] = expectations{}
		for _, operation := range document.Operations {
			places[name].addSelection(document, operation.SelectionSet, "")
		}
		for _, fragment := range document.Fragments {
			places[name].addSelection(document, fragment.SelectionSet, "")
		}
	}

	const inFiles = "cmd/agentgraph/apply/agentgraph.schema.json"
	var described jsonSchema
	require.NoError(t, json.Unmarshal([]byte(read(inFiles)), &described))
	places[inFiles] = expectations{}
	places[inFiles].addJSONSchema(described.Defs["check"].Properties["expect"], "")

	const page, kinds = "docs/reference/judging.md", "console/src/logic/checks.ts"
	inPage, inKinds := read(page), read(kinds)
	for member := range want {
		for place, has := range places {
			assert.True(t, has[member], "%s lacks %s", place, member)
		}
		if !strings.Contains(member, ".") {
			assert.True(t, strings.Contains(inPage, "`"+member+"`"), "%s lacks %s", page, member)
			assert.True(t, strings.Contains(inKinds, "\n  "+member+": {"), "%s lacks %s", kinds, member)
		}
	}
}
