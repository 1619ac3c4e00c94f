package db_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
)

const archiveSchema = "../docs/archive.schema.json"

// The archive's JSON Schema must match the migrated tables. AGENTGRAPH_RECORD=1 rewrites it. Archives that are older
// than a column lack it, so a column with a default in Postgres also needs one in archivedTables.
func TestArchiveSchemaIsCurrent(t *testing.T) {
	t.Parallel()
	conn := connect(t, dbtest.URL(t))
	enums := enumsOf(t)
	defs := map[string]any{}
	for _, table := range db.ArchivedTables() {
		rows, err := conn.Query(t.Context(), `SELECT attname::text, format_type(atttypid, NULL), attnotnull, atthasdef,
				coalesce((SELECT string_agg(pg_get_constraintdef(oid), ' ') FROM pg_constraint WHERE conrelid = attrelid
					AND contype = 'c' AND conkey = ARRAY[attnum]), '')
			FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'company_id'
				AND attgenerated = '' ORDER BY attnum`, table)
		require.NoError(t, err)
		without, absent, forced := db.ArchivedColumns(table)
		properties, required := map[string]any{}, []string{}
		for rows.Next() {
			var column, kind, checks string
			var isRequired, hasDefault bool
			require.NoError(t, rows.Scan(&column, &kind, &isRequired, &hasDefault, &checks))
			if slices.Contains(without, column) {
				continue
			}
			property := propertyOf(kind, checks, isRequired)
			if jsonType := db.JSONColumn(table, column); jsonType != nil && strings.HasPrefix(kind, "json") {
				property = enums.schemaOf(jsonType, !isRequired)
			}
			if column == "definition" {
				property = map[string]any{"type": "object", "description": "An agent, or a test if the line has agent_id. " +
					"Take it from an export."}
			}
			_, isFilled := absent[column]
			_, isForced := forced[column]
			assert.True(t, isFilled || isForced || !hasDefault, "%s.%s has a default in Postgres: add it to the table's "+
				"defaults in db/company_tables.go", table, column)
			if isForced {
				property["description"] = "The import sets it itself."
			}
			if value := absent[column]; isFilled && !strings.HasSuffix(column, "_at") && !strings.HasSuffix(column, "_id") {
				property["default"] = value
			}
			properties[column] = property
			if isRequired && !isFilled && !isForced {
				required = append(required, column)
			}
		}
		require.NoError(t, rows.Err())
		required = slices.DeleteFunc(required, func(column string) bool {
			return table == "campaign_items" &&
				column == "version"
		})
		slices.Sort(required)
		defs[table] = map[string]any{"type": "object", "additionalProperties": false, "properties": properties,
			"required": required}
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "archive.schema.json",
		"title":       "Archives of companies",
		"description": "Each definition describes one line of the file TABLE.jsonl in an archive.", "$defs": defs,
	}, "", "  ")
	require.NoError(t, err)
	text = append(text, '\n')
	if os.Getenv("AGENTGRAPH_RECORD") != "" {
		require.NoError(t, os.WriteFile(archiveSchema, text, 0o644))
	}
	current, err := os.ReadFile(archiveSchema)
	require.NoError(t, err)
	require.Equal(t, string(text), string(current), "AGENTGRAPH_RECORD=1 go test ./db -run "+
		"TestArchiveSchemaIsCurrent writes it")
}

var (
	oneOf   = regexp.MustCompile(`= ANY \(\(?ARRAY\[(.*?)\]`)
	quoted  = regexp.MustCompile(`'([^']*)'`)
	lengths = regexp.MustCompile(`char_length\(\w+\) >= (\d+)\) AND \(char_length\(\w+\) <= (\d+)\)`)
)

func propertyOf(kind, checks string, isRequired bool) map[string]any {
	property := map[string]any{}
	name, format := db.TypeOfColumn(kind)
	switch {
	case name == "":
		return property
	case format != "":
		property["format"] = format
	case name == "array":
		element, _ := db.TypeOfColumn(strings.TrimSuffix(kind, "[]"))
		if element == "array" {
			element = "number"
		}
		property["items"] = map[string]any{"type": element}
	}
	property["type"] = name
	if !isRequired {
		property["type"] = []string{name, "null"}
	}
	if list := oneOf.FindStringSubmatch(checks); list != nil && name == "string" {
		var values []any
		for _, value := range quoted.FindAllStringSubmatch(list[1], -1) {
			values = append(values, value[1])
		}
		if !isRequired {
			values = append(values, nil)
		}
		property["enum"] = values
	}
	if bounds := lengths.FindStringSubmatch(checks); bounds != nil {
		property["minLength"], property["maxLength"] = json.Number(bounds[1]), json.Number(bounds[2])
	}
	return property
}

// enums maps the lower-case name of each GraphQL enum to its values.
type enums map[string][]any

func enumsOf(t *testing.T) enums {
	t.Helper()
	files, err := filepath.Glob("../schema/*.graphqls")
	require.NoError(t, err)
	var sources []*ast.Source
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		sources = append(sources, &ast.Source{Name: file, Input: string(text)})
	}
	document, err := parser.ParseSchemas(sources...)
	require.NoError(t, err)
	values := enums{}
	for _, definition := range document.Definitions {
		for _, value := range definition.EnumValues {
			values[strings.ToLower(definition.Name)] = append(values[strings.ToLower(definition.Name)], value.Name)
		}
	}
	return values
}

// schemaOf returns the JSON Schema of values that are decoded into the Go type.
func (e enums) schemaOf(t reflect.Type, isNullable bool) map[string]any {
	if t.Kind() == reflect.Pointer {
		return e.schemaOf(t.Elem(), true)
	}
	name, format := db.JSONTypeOf(t)
	schema := map[string]any{"type": name}
	if isNullable || name == "array" {
		schema["type"] = []string{name, "null"}
	}
	if format != "" {
		schema["format"] = format
	}
	if values := e[strings.ToLower(t.Name())]; t.Kind() == reflect.String && values != nil {
		schema["enum"] = values
		if !strings.Contains(db.DescribeType(t), fmt.Sprintf(": %v", values[0])) {
			panic("archivedEnums lacks " + t.Name())
		}
		if isNullable {
			schema["enum"] = append(slices.Clone(values), nil)
		}
	}
	switch {
	case name == "array":
		schema["items"] = e.schemaOf(t.Elem(), false)
	case name == "object" && t.Kind() == reflect.Struct:
		properties := map[string]any{}
		types, required := db.JSONMembers(t)
		for member, memberType := range types {
			properties[member] = e.schemaOf(memberType, false)
		}
		schema["properties"], schema["additionalProperties"] = properties, false
		if len(required) > 0 {
			schema["required"] = required
		}
	}
	return schema
}
