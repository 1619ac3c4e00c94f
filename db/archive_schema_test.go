package db_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
)

const archiveSchema = "../docs/archive.schema.json"

// The schema of archives is that of the tables, as the migrations make them. AGENTGRAPH_RECORD=1 writes it.
func TestTheSchemaOfArchivesIsCurrent(t *testing.T) {
	t.Parallel()
	conn := connect(t, dbtest.URL(t))
	defs := map[string]any{}
	for _, table := range db.ArchivedTables() {
		rows, err := conn.Query(t.Context(), `SELECT attname::text, format_type(atttypid, NULL), attnotnull,
				coalesce((SELECT string_agg(pg_get_constraintdef(oid), ' ') FROM pg_constraint WHERE conrelid = attrelid AND contype = 'c' AND conkey = ARRAY[attnum]), '')
			FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'company_id' AND attgenerated = '' ORDER BY attnum`, table)
		require.NoError(t, err)
		without, absent, forced := db.ArchivedColumns(table)
		properties, required := map[string]any{}, []string{}
		for rows.Next() {
			var column, kind, checks string
			var isRequired bool
			require.NoError(t, rows.Scan(&column, &kind, &isRequired, &checks))
			if slices.Contains(without, column) {
				continue
			}
			property := propertyOf(kind, checks, isRequired)
			_, isFilled := absent[column]
			_, isForced := forced[column]
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
		required = slices.DeleteFunc(required, func(column string) bool { return table == "campaign_items" && column == "version" })
		slices.Sort(required)
		defs[table] = map[string]any{"type": "object", "additionalProperties": false, "properties": properties, "required": required}
	}
	text, err := json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "archive.schema.json", "title": "Archives of companies",
		"description": "Each definition is of a line of the file TABLE.jsonl of an archive.", "$defs": defs,
	}, "", "  ")
	require.NoError(t, err)
	text = append(text, '\n')
	if os.Getenv("AGENTGRAPH_RECORD") != "" {
		require.NoError(t, os.WriteFile(archiveSchema, text, 0o644))
	}
	current, err := os.ReadFile(archiveSchema)
	require.NoError(t, err)
	require.Equal(t, string(text), string(current), "AGENTGRAPH_RECORD=1 go test ./db -run TestTheSchemaOfArchivesIsCurrent writes it")
}

var (
	oneOf    = regexp.MustCompile(`= ANY \(\(?ARRAY\[(.*?)\]`)
	quoted   = regexp.MustCompile(`'([^']*)'`)
	lengths  = regexp.MustCompile(`char_length\(\w+\) >= (\d+)\) AND \(char_length\(\w+\) <= (\d+)\)`)
	typesOf  = map[string]string{"text": "string", "boolean": "boolean", "integer": "integer", "bigint": "integer", "smallint": "integer", "double precision": "number", "real": "number", "numeric": "number"}
	formatOf = map[string]string{"timestamp with time zone": "date-time", "date": "date"}
)

func propertyOf(kind, checks string, isRequired bool) map[string]any {
	property := map[string]any{}
	element, isList := strings.CutSuffix(kind, "[]")
	name, format := typesOf[element], formatOf[element]
	if format != "" {
		name, property["format"] = "string", format
	}
	switch {
	case isList || kind == "vector":
		property["items"], name = map[string]any{"type": max(typesOf[element], "number")}, "array"
	case kind == "json" || kind == "jsonb":
		return property
	case name == "":
		name = "string"
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
