package apply

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// rowColumn is the column with the names of rows.
	rowColumn = "row"
	// maxTable bounds a table, in bytes. The total size of a test's values is smaller.
	maxTable = 4 << 20
)

// withRows reads the rows of a test from a file, if the test names one.
func (c *company) withRows(w declaration) declaration {
	value, _ := w.raw.get("rows")
	name, isFile := value.(string)
	if !isFile {
		return w
	}
	rows, err := readRows(filepath.Dir(w.at.source.name), name)
	if err != nil {
		c.faults.addFault(w.at.member("rows"), "%v", err)
	}
	w.raw = w.raw.with("rows", rows)
	return w
}

// readRows reads the rows of a file in the directory: CSV, or JSON lines.
func readRows(directory, name string) (list, error) {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil, errors.New("must be a path inside the directory of this file")
	}
	file, err := openWithin(directory, filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := cli.ReadText(file, maxTable)
	var rows list
	switch ending := strings.ToLower(filepath.Ext(name)); {
	case err != nil:
	case ending == ".csv":
		rows, err = rowsOfCSV(text)
	case ending == ".jsonl" || ending == ".ndjson":
		rows, err = rowsOfLines(text)
	default:
		err = errors.New("its name must end with .csv, .jsonl or .ndjson")
	}
	if err == nil && len(rows) > model.MaxRows {
		err = fmt.Errorf("it has %d rows, but a test has at most %d", len(rows), model.MaxRows)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return rows, nil
}

// rowsOfCSV reads a table whose first line has the column names.
func rowsOfCSV(text []byte) (list, error) {
	table, err := cli.NewCSV(text).ReadAll()
	if err != nil {
		return nil, err
	}
	const noRows = "must have the names of the columns on its first line, and then rows"
	if len(table) < 2 {
		return nil, errors.New(noRows)
	}
	known := map[string]bool{}
	for i, name := range table[0] {
		name = strings.TrimSpace(name)
		if known[name] {
			return nil, fmt.Errorf("has two columns %q: rename or delete one of them", name)
		}
		table[0][i], known[name] = name, true
	}
	rows := list{}
	for _, cells := range table[1:] {
		if strings.TrimSpace(strings.Join(cells, "")) == "" {
			continue // spreadsheets write blank lines
		}
		row := object{}
		for i, cell := range cells {
			row = append(row, member{table[0][i], cell})
		}
		rows = append(rows, rowOf(row))
	}
	if len(rows) == 0 {
		return nil, errors.New(noRows)
	}
	return rows, nil
}

// rowsOfLines reads an object from each line.
func rowsOfLines(text []byte) (list, error) {
	rows := list{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxTable)
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		value, err := decodeExactly(lines.Bytes())
		if changed, isChanged := errors.AsType[cli.LostDigits](err); isChanged {
			return nil, fmt.Errorf("line %d: %w", n, changed)
		}
		row, isObject := value.(object)
		if err != nil || !isObject {
			return nil, fmt.Errorf("line %d must be a JSON object", n)
		}
		rows = append(rows, rowOf(row))
	}
	return rows, lines.Err()
}

// rowOf returns a test row with the values of a table's columns. The column rowColumn is the row's name.
func rowOf(columns object) object {
	row := object{}
	if name := columns.text(rowColumn); name != "" {
		row = append(row, member{"name", name})
	}
	return append(row, member{"values", columns.without(rowColumn)})
}
