package rest

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

// Ledger reads the usage of the context's company, oldest first.
type Ledger func(ctx context.Context, r model.ConsumptionRange) iter.Seq2[*model.UsageEntry, error]

// AuditLog reads the audit events of the context's company, oldest first.
type AuditLog func(ctx context.Context, r model.ConsumptionRange) iter.Seq2[*model.AuditEvent, error]

// Export describes a path that streams rows as they are read.
type Export struct {
	Path, Name, Description string
	// Scope is the scope that the credential needs.
	Scope model.APIKeyScope
	// RowType is a type of the schema with the fields of a row. Columns are the fields in the CSV.
	RowType string
	Columns []string
	// List is the name of the JSON member with the rows.
	List    string
	InQuery ast.FieldList
}

type export struct {
	Export
	// file is the start of the CSV file's name.
	file string
	// rows reads the rows in the time range.
	rows func(ctx context.Context, r model.ConsumptionRange) iter.Seq2[row, error]
}

// row is an exported row. Its JSON is the result of json.Marshal.
type row interface {
	// cells returns the row's values in the order of Columns.
	cells() []string
}

// ledgerExport exports the usage.
func ledgerExport(ledger Ledger) export {
	return export{
		Export: Export{
			Path: "/Consumption/export", Name: "ExportConsumption", RowType: "UsageEntryInput",
			Description: "The usage entries, oldest first, as JSON or CSV.",
			Scope:       model.APIKeyScopeConsumption, List: "entries", InQuery: exportQuery.members,
			Columns: []string{"at", "channel", "agentId", "campaignId", "credits", "idempotencyKey"},
		},
		file: "consumption",
		rows: func(ctx context.Context, r model.ConsumptionRange) iter.Seq2[row, error] {
			return rowsOf(ledger(ctx, r), newUsageRow)
		},
	}
}

// auditExport exports the audit events.
func auditExport(log AuditLog) export {
	return export{
		Export: Export{
			Path: "/AuditEvent/export", Name: "ExportAuditEvents", RowType: "AuditEvent",
			Description: "The audit events, oldest first, as JSON or CSV.",
			Scope:       model.APIKeyScopeAdmin, List: "events", InQuery: exportQuery.members,
			Columns: []string{"createdAt", "action", "targetId", "apiKeyId", "isAccessToken", "address", "id"},
		},
		file: "audit",
		rows: func(ctx context.Context, r model.ConsumptionRange) iter.Seq2[row, error] {
			return rowsOf(log(ctx, r), newAuditRow)
		},
	}
}

func rowsOf[T any](all iter.Seq2[T, error], rowOf func(T) row) iter.Seq2[row, error] {
	return func(yield func(row, error) bool) {
		for one, err := range all {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(rowOf(one), nil) {
				return
			}
		}
	}
}

var exportQuery = &endpoint{route: route{method: http.MethodGet}, members: ast.FieldList{
	{Name: "from", Type: ast.NonNullNamedType("DateBound", nil), Description: "The first day or time."},
	{Name: "to", Type: ast.NonNullNamedType("DateBound", nil), Description: "The last day or time, at most 366 days " +
		"later."},
	{Name: "format", Type: ast.NamedType("String", nil), Description: "`json` or `csv`. By default the " +
		"type that the header `Accept` prefers, or else `json`."},
}}

func (t *Transport) exportAt(path string) *export {
	path = strings.TrimSuffix(pathOf(path), "/")
	for i := range t.exports {
		if strings.EqualFold(path, t.exports[i].Path[1:]) {
			return &t.exports[i]
		}
	}
	return nil
}

// export streams the rows between two dates as JSON or CSV. It returns a problem if the request is wrong, or if reading
// the first row returns an error for the client. It panics on any other failure. After the first row, the panic breaks
// the connection, so that no client mistakes a partial response for a complete one.
func (t *Transport) export(w http.ResponseWriter, r *http.Request, e *export) *problem {
	if !exportQuery.serves(r.Method) {
		w.Header().Set("Allow", "GET, HEAD")
		return problemf(http.StatusMethodNotAllowed, model.BadInput, "the method is not allowed here; use GET, HEAD")
	}
	if principal, _ := model.PrincipalOf(r.Context()); !principal.Can(e.Scope) {
		return t.problem(model.Errorf(model.Forbidden, "the credential does not have the scope %s", e.Scope))
	}
	wanted, isCSV, fault := t.readExport(r)
	if fault != nil {
		return fault
	}
	if !isCSV && !acceptsJSON(r.Header) {
		return problemf(http.StatusNotAcceptable, model.BadInput, "the response is application/json: the Accept header "+
			"must allow it")
	}
	out := &table{http: w, buffer: bufio.NewWriterSize(w, 32<<10), export: e, wanted: wanted}
	if isCSV {
		out.csv = csv.NewWriter(out.buffer)
	}
	for row, err := range e.rows(r.Context(), wanted) {
		if err != nil {
			return t.cut(r.Context(), out.rows, err)
		}
		if r.Method == http.MethodHead {
			break
		}
		if out.rows%rowsPerDeadline == 0 {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(exportWriteTimeout))
		}
		if out.write(row) != nil {
			panic(http.ErrAbortHandler) // the client has disconnected or is too slow
		}
	}
	if out.close() != nil {
		panic(http.ErrAbortHandler)
	}
	return nil
}

const (
	rowsPerDeadline = 1_000
	// exportWriteTimeout is how long a client may take for rowsPerDeadline rows.
	exportWriteTimeout = 30 * time.Second
)

// cut ends a failed export. It returns a problem if err is an error for the client before the first row, and panics
// otherwise.
func (t *Transport) cut(ctx context.Context, rows int, err error) *problem {
	var known *model.Error
	switch {
	case rows == 0 && errors.As(err, &known):
		return t.problem(known)
	case ctx.Err() != nil:
		panic(http.ErrAbortHandler)
	}
	panic(fmt.Errorf("export: %w", err)) // the gateway logs it and masks it from the client
}

func (t *Transport) readExport(r *http.Request) (wanted model.ConsumptionRange, isCSV bool, fault *problem) {
	parameters, fault := t.query(r, exportQuery)
	if fault != nil {
		return wanted, false, fault
	}
	given := map[string]any{"format": "json"}
	if prefersCSV(r.Header) {
		given["format"] = "csv"
	}
	if fault := t.readQuery(parameters, exportQuery, given); fault != nil {
		return wanted, false, fault
	}
	format, _ := given["format"].(string)
	isCSV = strings.EqualFold(format, "csv")
	if !isCSV && !strings.EqualFold(format, "json") {
		return wanted, false, t.invalid(model.Fields{"format": {"must be csv or json"}}, model.BadInput)
	}
	var bounds [2]model.DateBound
	for i, name := range []string{"from", "to"} {
		if err := bounds[i].UnmarshalGQL(given[name]); err != nil {
			return wanted, false, t.invalid(model.Fields{name: {"must be " + model.DateBoundForm}}, model.BadInput)
		}
	}
	wanted, err := model.NewConsumptionRange(bounds[0], bounds[1])
	if known, ok := errors.AsType[*model.Error](err); ok {
		return wanted, false, t.problem(known)
	}
	return wanted, isCSV, nil
}

type table struct {
	http   http.ResponseWriter
	buffer *bufio.Writer
	export *export
	wanted model.ConsumptionRange
	csv    *csv.Writer // nil for JSON
	rows   int
}

// begin writes the start of the response. Later writes return its error.
func (t *table) begin() {
	from, to := t.wanted.From.Format(time.DateOnly), t.wanted.To().Format(time.DateOnly)
	header := t.http.Header()
	if t.csv != nil {
		header.Set("Content-Type", "text/csv; charset=utf-8; header=present")
		header.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", t.export.file+"_"+from+"_"+to+".csv"))
		_ = t.csv.Write(t.export.Columns)
		return
	}
	header.Set("Content-Type", "application/json; charset=utf-8")
	_, _ = fmt.Fprintf(t.buffer, `{"periodFrom":%s,"periodTo":%s,%q:[`, dateTime(t.wanted.From),
		dateTime(t.wanted.To()), t.export.List)
}

func (t *table) write(r row) error {
	if t.rows++; t.rows == 1 {
		t.begin()
	} else if t.csv == nil {
		_ = t.buffer.WriteByte(',')
	}
	if t.csv != nil {
		return t.csv.Write(r.cells())
	}
	text, err := json.Marshal(r)
	if err == nil {
		_, err = t.buffer.Write(text)
	}
	return err
}

func (t *table) close() error {
	if t.rows == 0 {
		t.begin()
	}
	if t.csv != nil {
		t.csv.Flush()
	} else {
		_, _ = t.buffer.WriteString("]}")
	}
	return t.buffer.Flush()
}

type usageRow struct {
	At             json.RawMessage `json:"at"`
	Channel        model.Channel   `json:"channel"`
	AgentID        string          `json:"agentId"`
	CampaignID     *string         `json:"campaignId"`
	Credits        model.Credits   `json:"credits"`
	IdempotencyKey string          `json:"idempotencyKey"`
}

func newUsageRow(e *model.UsageEntry) row {
	r := usageRow{IdempotencyKey: e.IdempotencyKey, At: json.RawMessage(dateTime(e.At)), Channel: e.Channel,
		AgentID: e.AgentID, Credits: e.Credits}
	if e.CampaignID != "" {
		r.CampaignID = &e.CampaignID
	}
	return r
}

func (r usageRow) cells() []string {
	return []string{unquoted(string(r.At)), string(r.Channel), cell(&r.AgentID), cell(r.CampaignID), r.Credits.String(),
		cell(&r.IdempotencyKey)}
}

// auditRow is an audit event, which has its own JSON form.
type auditRow struct{ *model.AuditEvent }

func newAuditRow(e *model.AuditEvent) row { return auditRow{e} }

func (r auditRow) cells() []string {
	return []string{
		unquoted(dateTime(r.CreatedAt)), string(r.Action), cell(&r.TargetID), cell(r.APIKeyID),
		strconv.FormatBool(r.IsAccessToken), cell(r.Address), r.ID,
	}
}

func unquoted(text string) string { return strings.Trim(text, `"`) }

func dateTime(at time.Time) string {
	var text strings.Builder
	model.MarshalDateTime(at).MarshalGQL(&text)
	return text.String()
}

// cell returns a text for CSV, or "" for nil. An apostrophe before a text that looks like a formula keeps spreadsheets
// from evaluating it.
func cell(text *string) string {
	if text == nil || *text == "" {
		return ""
	}
	if strings.ContainsRune("=+-@\t\r\n", rune((*text)[0])) {
		return "'" + *text
	}
	return *text
}
