package db

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// typesOf returns the Postgres types of the columns of each archived table.
func (t *Tenant) typesOf(ctx context.Context) (map[string]map[string]string, error) {
	rows := []struct{ Name, Column, Type string }{}
	err := t.db.NewRaw(`SELECT relname::text AS name, attname::text AS "column", format_type(atttypid, NULL) AS type
		FROM pg_class AS t JOIN pg_attribute ON attrelid = t.oid AND attnum > 0 AND NOT attisdropped
		WHERE relnamespace = `+pg.OwnSchema+` AND relname = ANY (?::text[])`, pgdialect.Array(ArchivedTables())).Scan(ctx, &rows)
	types := map[string]map[string]string{}
	for _, row := range rows {
		if types[row.Name] == nil {
			types[row.Name] = map[string]string{}
		}
		types[row.Name][row.Column] = row.Type
	}
	return types, err
}

// jsonColumn returns the Go type of a column that holds JSON, or nil if it is not known. given is the row, by column.
func (t *archivedTable) jsonColumn(column string, given map[string]json.RawMessage) reflect.Type {
	if t.jsonTypes != nil {
		if value, isKnown := t.jsonTypes(given)[column]; isKnown {
			return reflect.TypeOf(value).Elem()
		}
	}
	if t.row == nil {
		return nil
	}
	if field := rowTypes.Get(reflect.TypeOf(t.row).Elem()).FieldMap[column]; field != nil {
		return field.StructField.Type
	}
	return nil
}

// rowTypes caches the columns of row structs.
var rowTypes = pgdialect.New().Tables()

// KnownMembers returns the JSON of a column without members that the program does not know, and the paths of those
// members.
func KnownMembers(table, column string, text json.RawMessage) (json.RawMessage, []string) {
	if t := archivedTableOf(table).jsonColumn(column, nil); t != nil {
		return withoutUnknown("", text, t)
	}
	return text, nil
}

// checkShape returns BAD_INPUT with every column of a row whose value has the wrong JSON type or format.
func (i *CompanyImport) checkShape(table *archivedTable, values map[string]json.RawMessage) error {
	var s shape
	for _, column := range i.columns[table.name] {
		value, isGiven := values[column]
		if !isGiven || string(value) == "null" {
			continue // the database decides where null is allowed
		}
		kind := i.types[table.name][column]
		if strings.HasPrefix(kind, "json") {
			if jsonType := table.jsonColumn(column, values); jsonType != nil {
				s.value(column, value, jsonType)
			}
			continue
		}
		if fault := scalarFault(value, kind); fault != "" {
			s.faults.Add(column, "%s", fault)
		}
	}
	return s.faults.Err()
}

// scalarFault says what a value must be for a column of a Postgres type. It is empty if the value is valid.
func scalarFault(value json.RawMessage, kind string) string {
	name, format := typeOfColumn(kind)
	switch {
	case name == "string" && value[0] != '"':
		return "must be a string"
	case format == "date-time" && !isTime(value, time.RFC3339Nano):
		return "must be a date-time such as 2026-03-01T09:30:00Z"
	case format == "date" && !isTime(value, time.DateOnly):
		return "must be a date such as 2026-03-01"
	case name == "boolean" && string(value) != "true" && string(value) != "false":
		return "must be true or false"
	case name == "integer":
		bits := map[string]int{"smallint": 16, "integer": 32, "bigint": 64}[kind]
		if _, err := strconv.ParseInt(string(value), 10, bits); err != nil {
			return fmt.Sprintf("must be a whole number of at most %d bits", bits)
		}
	case name == "number" && json.Unmarshal(value, new(float64)) != nil:
		return "must be a number"
	case name == "array" && json.Unmarshal(value, listOf(kind)) != nil:
		return "must be a list of values of the type " + strings.TrimSuffix(kind, "[]")
	}
	return ""
}

// isTime reports whether a JSON string has the layout.
func isTime(value json.RawMessage, layout string) bool {
	_, err := time.Parse(`"`+layout+`"`, string(value))
	return err == nil
}

// listOf returns a pointer into which a list for a column of a Postgres type is decoded.
func listOf(kind string) any {
	if strings.HasPrefix(kind, "text") {
		return new([]string)
	}
	return new([]float64)
}

// typeOfColumn returns the JSON Schema type and format of a Postgres type. A column of JSON has none.
func typeOfColumn(kind string) (name, format string) {
	switch kind {
	case "json", "jsonb":
		return "", ""
	case "boolean":
		return "boolean", ""
	case "integer", "bigint", "smallint":
		return "integer", ""
	case "double precision", "real", "numeric":
		return "number", ""
	case "timestamp with time zone":
		return "string", "date-time"
	case "date":
		return "string", "date"
	case "vector":
		return "array", ""
	}
	if strings.HasSuffix(kind, "[]") {
		return "array", ""
	}
	return "string", ""
}

// definitionTypes returns the type into which the definition of a snapshot is decoded. A row with an agent_id has the
// definition of a test. Any other row has the definition of an agent.
func definitionTypes(given map[string]json.RawMessage) map[string]any {
	if agent := given["agent_id"]; agent != nil && string(agent) != "null" {
		return map[string]any{"definition": (*model.AgentTestRow)(nil)}
	}
	return map[string]any{"definition": (*model.Agent)(nil)}
}

func resultOfItem(given map[string]json.RawMessage) map[string]any {
	if given["result"] == nil {
		return nil
	}
	return map[string]any{"result": map[string]any{"metadata": map[string]any{}}}
}

// completeRows adds the keys of a test's rows, which handwritten archives leave out.
func completeRows(values map[string]json.RawMessage) (isChanged bool) {
	rows := []model.TestRow{}
	if json.Unmarshal(values["rows"], &rows) != nil ||
		!slices.ContainsFunc(rows, func(r model.TestRow) bool { return r.Key == "" }) {
		return false
	}
	for n, row := range rows {
		if row.Key == "" {
			rows[n] = row.Complete()
		}
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return false
	}
	values["rows"] = text
	return true
}
