package knowledge

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// maxTable is the size of the largest document that is read as a table, in bytes. The rows of a test have far less.
	maxTable = 4 << 20
	// nameColumn is the column with the names of rows.
	nameColumn = "row"
)

// Rows returns the rows of a table document for a test, with the named columns or all. The error is BAD_INPUT for too
// many columns, NOT_FOUND if the document does not exist, and UNPROCESSABLE if it is not such a table.
func (b *Base) Rows(ctx context.Context, t *db.Tenant, in model.ImportAgentTestRowsInput) ([]*model.TestRow, error) {
	if err := in.Validate(); err != nil {
		return nil, err
	}
	d, err := t.Document(ctx, in.DocumentID)
	if err != nil {
		return nil, err
	}
	var faults model.Fields
	if d.Size > maxTable {
		faults.Add("documentId", "names a document of %d bytes; a table has at most %d", d.Size, maxTable)
		return nil, faults.As(model.Unprocessable)
	}
	if err := b.files.Enter(ctx, t.CompanyID()); err != nil {
		return nil, err
	}
	_, text, err := readDocument(ctx, t, d)
	b.files.Leave(t.CompanyID())
	if err != nil {
		return nil, err
	}
	rows, count, err := rowsOf(text, in.Columns)
	if err == nil && count == 0 {
		faults.Add("documentId", "names a document without a table: its first row must name the columns, and the others "+
			"are the rows")
	}
	if count > model.MaxRows {
		faults.Add("documentId", "names a table of %d rows; a test has at most %d", count, model.MaxRows)
	}
	if err == nil {
		err = faults.As(model.Unprocessable)
	}
	return rows, err
}

// rowsOf returns the rows of all tables of a text, up to the maximum of a test, and the number of all rows.
func rowsOf(text Text, columns []string) (rows []*model.TestRow, count int, err error) {
	known, twice := map[string]bool{}, map[string]bool{}
	// sheet is the current sheet, first the first sheet with rows, and other the first of the other sheets with rows.
	var sheet, first, other string
	for _, block := range text.Blocks {
		if block.IsSheet {
			sheet = block.Text
		}
		if block.Kind != Row || len(block.Header) == 0 {
			continue
		}
		if count == 0 {
			first = sheet
		} else if sheet != first && other == "" {
			other = sheet
		}
		if count++; count > model.MaxRows {
			continue
		}
		row, values, seen := &model.TestRow{}, map[string]string{}, map[string]bool{}
		for i, column := range block.Header {
			isWanted := column == nameColumn || column != "" && (len(columns) == 0 || slices.Contains(columns, column))
			if isWanted && seen[column] {
				twice[column] = true
			}
			known[column], seen[column] = true, true
			switch cell := block.Cells[i]; {
			case column == nameColumn:
				if name := strings.TrimSpace(cell); name != "" {
					row.Name = &name
				}
			case isWanted:
				values[column] = cell
			}
		}
		row.Values, _ = json.Marshal(values) // strings always marshal
		rows = append(rows, row)
	}
	var faults model.Fields
	if other != "" {
		faults.Add("documentId", "names a workbook with more rows in the sheet %q: keep only the table to import",
			clip(other, maxPath))
	}
	if text.unevenRow > 0 {
		faults.Add("documentId", "names a table whose row %d has more or fewer cells than the header", text.unevenRow)
	}
	for _, column := range slices.Sorted(maps.Keys(twice)) {
		faults.Add("documentId", "names a table with two columns %q: rename or delete one of them", column)
	}
	for _, column := range columns {
		if count > 0 && !known[column] {
			faults.Add("columns", "has %q, which is not a column of the table", column)
		}
	}
	return rows, count, faults.As(model.Unprocessable)
}
