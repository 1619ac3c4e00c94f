package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Bounds of the rows of a test.
const (
	MaxRows       = 500
	maxRowName    = 100
	maxRowColumns = 50
	maxRowsSize   = 500_000
)

// TestRow is a set of values for the placeholders of a test. The test runs once with each of its rows.
type TestRow struct {
	// Name is the name of the row. If it is nil, the row's number serves as its name.
	Name   *string    `json:"name,omitempty"`
	Values JSONObject `json:"values"`
	// Key identifies the row across executions: by its name, or else by its values.
	Key string `json:"key,omitempty"`
}

// rows returns the rows with their keys, and records their faults.
func (f *Fields) rows(path string, given []TestRow) []TestRow {
	rows := []TestRow{}
	if !f.list(path, len(given), MaxRows) {
		return rows
	}
	size, seen := 0, map[string]int{}
	for i, row := range given {
		at := fmt.Sprintf("%s.%d", path, i)
		if row.Name != nil {
			f.name(at+".name", *row.Name, maxRowName)
		}
		row = row.Complete()
		size += len(row.Values)
		if n := len(f.members(at+".values", row.Values)); n == 0 {
			f.Add(at+".values", "must have at least one value")
		} else {
			f.list(at+".values", n, maxRowColumns)
		}
		f.values(at+".values", row.Values)
		if before, known := seen[row.Key]; known && row.Name != nil {
			f.Add(at+".name", "is also the name of row %d", before)
		} else if known {
			f.Add(at, "has the same values as row %d: give one of the two rows a name", before)
		}
		seen[row.Key] = i
		rows = append(rows, row)
	}
	if size > maxRowsSize {
		f.Add(path, "must have at most %d bytes of JSON in all, not %d", maxRowsSize, size)
	}
	return rows
}

// Complete returns the row in its stored form: with its key, and without values that are null.
func (r TestRow) Complete() TestRow {
	r.Values = r.Values.withoutNulls()
	r.Key = r.key()
	return r
}

// Validate returns BAD_INPUT when the input names too many columns.
func (in ImportAgentTestRowsInput) Validate() error {
	var faults Fields
	faults.list("columns", len(in.Columns), maxRowColumns)
	return faults.Err()
}

// key returns the key of the row. It does not depend on the spelling or the order of the values.
func (r TestRow) key() string {
	if r.Name != nil {
		return "=" + *r.Name
	}
	text := []byte(r.Values)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var values map[string]any
	if decoder.Decode(&values) == nil {
		if sorted, err := json.Marshal(values); err == nil {
			text = sorted
		}
	}
	digest := sha256.Sum256(text)
	return "#" + hex.EncodeToString(digest[:16])
}

// TagsExpected returns the tags that a classification test expects. If the test has rows and its tag is a placeholder,
// they are the texts in the column that the placeholder names. If such a tag has a placeholder and other text, the tags
// are unknown before the test runs, and it returns nil.
func (t *AgentTestRow) TagsExpected() []string {
	column, isPlaceholder := strings.CutPrefix(t.TagExpected, "{")
	column, isWhole := strings.CutSuffix(column, "}")
	if len(t.Rows) == 0 || !isPlaceholder || !isWhole {
		if len(t.Rows) > 0 && strings.Contains(t.TagExpected, "{") {
			return nil
		}
		return []string{t.TagExpected}
	}
	var tags []string
	for _, row := range t.Rows {
		values := map[string]any{}
		if json.Unmarshal(row.Values, &values) != nil {
			continue
		}
		if tag, isText := values[column].(string); isText {
			tags = append(tags, tag)
		}
	}
	return Unique(tags)
}

// RowLabel returns the row's name, or else its number.
func RowLabel(name *string, number *int32) *string {
	if name != nil || number == nil {
		return name
	}
	return new(fmt.Sprintf("row %d", *number))
}
