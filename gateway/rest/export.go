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
	"strings"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/model"
)

// Ledger reads the usage of the context's company, oldest first.
type Ledger func(ctx context.Context, r model.ConsumptionRange) iter.Seq2[*model.UsageEntry, error]

const exportPath = "/Consumption/export"

// exportQuery describes the query string of an export.
var exportQuery = &endpoint{route: route{method: http.MethodGet}, members: ast.FieldList{
	{Name: "from", Type: ast.NonNullNamedType("DateBound", nil)},
	{Name: "to", Type: ast.NonNullNamedType("DateBound", nil)},
	{Name: "format", Type: ast.NamedType("String", nil)},
}}

// isExport reports whether the path is the export's.
func isExport(path string) bool { return strings.EqualFold(strings.TrimSuffix(path, "/"), exportPath) }

// export streams the ledger's entries between two bounds, as JSON or CSV. It returns a problem if it fails before the
// response has begun. After that a failure breaks the connection, so that nobody takes a part for the whole.
func (t *Transport) export(w http.ResponseWriter, r *http.Request) *problem {
	if !exportQuery.serves(r.Method) {
		w.Header().Set("Allow", "GET, HEAD")
		return problemf(http.StatusMethodNotAllowed, model.BadInput, "the method is not allowed here; use GET, HEAD")
	}
	if principal, _ := model.PrincipalOf(r.Context()); !principal.Can(model.APIKeyScopeConsumption) {
		return t.problem(model.Errorf(model.Forbidden, "the credential does not have the scope consumption"))
	}
	wanted, isCSV, fault := t.readExport(r)
	if fault != nil {
		return fault
	}
	if !isCSV && !acceptsJSON(r.Header) {
		return problemf(http.StatusNotAcceptable, model.BadInput, "the response is application/json, which the Accept header excludes")
	}
	out := newTable(w, wanted, isCSV)
	rows := 0
	for entry, err := range t.ledger(r.Context(), wanted) {
		if err != nil {
			return t.cut(r.Context(), rows, err)
		}
		if r.Method == http.MethodHead {
			break
		}
		if rows%rowsPerDeadline == 0 {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(exportWriteTimeout))
		}
		rows++
		if err := out.write(entry); err != nil {
			return t.cut(r.Context(), rows, err)
		}
	}
	if err := out.close(); err != nil {
		return t.cut(r.Context(), rows, err)
	}
	return nil
}

const (
	rowsPerDeadline = 1_000
	// exportWriteTimeout is how long a client may take for rowsPerDeadline rows.
	exportWriteTimeout = 30 * time.Second
)

// cut ends a failed export, with a problem if nothing was sent yet.
func (t *Transport) cut(ctx context.Context, rows int, err error) *problem {
	var known *model.Error
	switch {
	case rows == 0 && errors.As(err, &known):
		return t.problem(known)
	case ctx.Err() != nil || rows > 0 && errors.As(err, new(writeError)):
		panic(http.ErrAbortHandler) // the client has gone, or is too slow
	}
	panic(fmt.Errorf("export usage: %w", err)) // the gateway logs it and masks it from the client
}

func (t *Transport) readExport(r *http.Request) (wanted model.ConsumptionRange, isCSV bool, fault *problem) {
	given := map[string]any{"format": "json"}
	if fault := t.readQuery(r, exportQuery, given); fault != nil {
		return wanted, false, fault
	}
	if given["format"] != "csv" && given["format"] != "json" {
		return wanted, false, t.invalid(model.Fields{"format": {"must be csv or json"}}, model.BadInput)
	}
	var bounds [2]model.DateBound
	for i, name := range []string{"from", "to"} {
		if err := bounds[i].UnmarshalGQL(given[name]); err != nil {
			return wanted, false, t.invalid(model.Fields{name: {"must be " + model.DateBoundForm}}, model.BadInput)
		}
	}
	wanted, err := model.NewConsumptionRange(bounds[0], bounds[1])
	var known *model.Error
	if errors.As(err, &known) {
		return wanted, false, t.problem(known)
	}
	return wanted, given["format"] == "csv", nil
}

// table writes the response of an export.
type table struct {
	http    http.ResponseWriter
	buffer  *bufio.Writer
	wanted  model.ConsumptionRange
	csv     *csv.Writer // nil for JSON
	isBegun bool
}

// writeError is a failure to send something to the client.
type writeError struct{ error }

func newTable(w http.ResponseWriter, wanted model.ConsumptionRange, isCSV bool) *table {
	t := &table{http: w, buffer: bufio.NewWriterSize(w, 32<<10), wanted: wanted}
	if isCSV {
		t.csv = csv.NewWriter(t.buffer)
	}
	return t
}

// begin writes everything before the first row.
func (t *table) begin() error {
	t.isBegun = true
	from, to := t.wanted.From.Format(time.DateOnly), t.wanted.To().Format(time.DateOnly)
	header := t.http.Header()
	if t.csv != nil {
		header.Set("Content-Type", "text/csv; charset=utf-8; header=present")
		header.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", "consumption_"+from+"_"+to+".csv"))
		return t.csv.Write([]string{"at", "channel", "agentId", "campaignId", "credits", "idempotencyKey"})
	}
	header.Set("Content-Type", "application/json; charset=utf-8")
	_, err := fmt.Fprintf(t.buffer, `{"periodFrom":%s,"periodTo":%s,"entries":[`, dateTime(t.wanted.From), dateTime(t.wanted.To()))
	return err
}

func (t *table) write(e *model.UsageEntry) error {
	if !t.isBegun {
		if err := t.begin(); err != nil {
			return writeError{err}
		}
	} else if t.csv == nil {
		_, _ = t.buffer.WriteString(",") // the buffer remembers its failure
	}
	if t.csv != nil {
		if err := t.csv.Write([]string{
			strings.Trim(dateTime(e.At), `"`), string(e.Channel), cell(e.AgentID), cell(e.CampaignID), e.Credits.String(), cell(e.IdempotencyKey),
		}); err != nil {
			return writeError{err}
		}
		return nil
	}
	row := exported{IdempotencyKey: e.IdempotencyKey, At: json.RawMessage(dateTime(e.At)), Channel: e.Channel, AgentID: e.AgentID, Credits: e.Credits}
	if e.CampaignID != "" {
		row.CampaignID = &e.CampaignID
	}
	text, err := json.Marshal(row)
	if err != nil {
		return err
	}
	if _, err := t.buffer.Write(text); err != nil {
		return writeError{err}
	}
	return nil
}

// close writes everything after the last row.
func (t *table) close() error {
	if !t.isBegun {
		if err := t.begin(); err != nil {
			return writeError{err}
		}
	}
	if t.csv != nil {
		t.csv.Flush()
	} else {
		_, _ = t.buffer.WriteString("]}")
	}
	if err := t.buffer.Flush(); err != nil {
		return writeError{err}
	}
	return nil
}

// exported is a row in JSON.
type exported struct {
	At             json.RawMessage `json:"at"`
	Channel        model.Channel   `json:"channel"`
	AgentID        string          `json:"agentId"`
	CampaignID     *string         `json:"campaignId"`
	Credits        model.Credits   `json:"credits"`
	IdempotencyKey string          `json:"idempotencyKey"`
}

// dateTime formats a time as in the rest of the API.
func dateTime(at time.Time) string {
	var text strings.Builder
	model.MarshalDateTime(at).MarshalGQL(&text)
	return text.String()
}

// cell keeps spreadsheets from reading a text as a formula, by an apostrophe in front of one that looks like it.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}
