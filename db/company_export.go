package db

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// Snapshot reads a company from one snapshot, row by row, so memory use does not depend on the company's size. It is
// not safe for concurrent use.
type Snapshot struct {
	tenant        *Tenant
	columns, keys map[string][]string
}

// Snapshot records an export, then calls fn with the current state of the company. Other requests can write at the same
// time. A standby records nothing.
func (s *Store) Snapshot(ctx context.Context, companyID string, fn func(context.Context, *Snapshot) error) error {
	err := s.Tenant(companyID).inTx(ctx, func(ctx context.Context, t tenantTx) error {
		return t.audit(ctx, model.AuditActionExportCompany, companyID)
	})
	if err != nil && !errors.Is(err, pg.ErrReadOnly) {
		return err
	}
	return s.db.Company(companyID).Begin(ctx, pg.SnapshotOptions, func(ctx context.Context, tx *pg.Tx) error {
		p := &Snapshot{tenant: s.Tenant(companyID).withScope(tx.Company(companyID))}
		if err := p.tenant.disableTimeouts(ctx); err != nil {
			return err
		}
		var err error
		if p.columns, p.keys, err = p.tenant.columnsOf(ctx); err != nil {
			return err
		}
		return fn(ctx, p)
	})
}

// disableTimeouts turns off the statement timeout and the idle timeout in the transaction.
func (t *Tenant) disableTimeouts(ctx context.Context) error {
	_, err := t.db.ExecContext(ctx, "SELECT set_config('statement_timeout', '0', true), "+
		"set_config('idle_in_transaction_session_timeout', '0', true)")
	return err
}

// Company returns the company itself.
func (p *Snapshot) Company(ctx context.Context) (*model.Company, error) { return p.tenant.Company(ctx) }

// Count returns how many rows of a table the company has.
func (p *Snapshot) Count(ctx context.Context, table string) (rows int64, err error) {
	err = p.tenant.archived(table).ColumnExpr("count(*)").Scan(ctx, &rows)
	return rows, err
}

// Rows yields the rows of one of ArchivedTables, in the order of their keys. If reading fails, the last pair is an
// error. Each row is a JSON object on one line, whose keys are the columns. Without secrets, tools and MCP servers have
// no headers. With secrets, the headers are encrypted by the server's secret key, as in the database. A row is valid
// until the next one.
func (p *Snapshot) Rows(ctx context.Context, table string, secrets bool) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		selected := make([]bun.Safe, len(p.columns[table]))
		for i, column := range p.columns[table] {
			selected[i] = identifiers([]string{column})
			if as := archivedTableOf(table).expressions[column]; as != "" && (!secrets || as != withoutSecrets) {
				selected[i] = bun.Safe(p.tenant.db.NewRaw(as, p.tenant.CompanyID()).String()) + " AS " + selected[i]
			}
		}
		if err := p.eachRow(ctx, table, selected, func(line json.RawMessage) bool { return yield(line, nil) }); err != nil {
			yield(nil, fmt.Errorf("read %s: %w", table, err))
		}
	}
}

// eachRow calls yield with the rows of a table until yield returns false.
func (p *Snapshot) eachRow(ctx context.Context, table string, selected []bun.Safe,
	yield func(json.RawMessage) bool) error {
	rows, err := p.tenant.db.QueryContext(ctx, p.tenant.db.NewRaw("SELECT row_to_json(kept)::text FROM (?) AS kept",
		p.tenant.archived(table).ColumnExpr("?", bun.List(selected)).OrderExpr("?", identifiers(p.keys[table]))).String())
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var row sql.RawBytes
		if err := rows.Scan(&row); err != nil {
			return err
		}
		line := json.RawMessage(row)
		// JSON columns keep the formatting of the client.
		if bytes.ContainsAny(line, "\n\r") {
			compact := &bytes.Buffer{}
			if err := json.Compact(compact, line); err != nil {
				return err
			}
			line = compact.Bytes()
		}
		if !yield(line) {
			return nil
		}
	}
	return rows.Err()
}

// filesPage is how many documents are read at a time.
const filesPage = 500

// Files yields the documents with the columns that CopyFile needs, in the order of their ids. If reading fails, the
// last pair is an error.
func (p *Snapshot) Files(ctx context.Context) iter.Seq2[*model.Document, error] {
	return inParts(&model.Document{}, filesPage, func(after *model.Document) ([]*model.Document, error) {
		documents := []*model.Document{}
		return documents, p.tenant.db.Select(&documents).Column("id", "size", "digest", "object_id").
			Where("id > ?", after.ID).Order("id").Limit(filesPage).Scan(ctx)
	})
}

// CopyFile writes the uploaded file of a document. The snapshot does not contain the objects of the bucket, so
// CopyFile returns an error if the document was deleted since.
func (p *Snapshot) CopyFile(ctx context.Context, dst io.Writer, document *model.Document) error {
	if document.ObjectID != nil {
		content, err := p.tenant.readObject(ctx, document, 0, int64(document.Size))
		if err == nil {
			_, err = dst.Write(content)
		}
		return err
	}
	rows, err := p.tenant.db.Select((*documentContent)(nil)).Column("content").Where("document_id = ?", document.ID).
		Order("part").Rows(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var part sql.RawBytes
		if err := rows.Scan(&part); err != nil {
			return err
		}
		if _, err := dst.Write(part); err != nil {
			return err
		}
	}
	return rows.Err()
}

// ToolHeaders lists the names of the headers of a tool or an MCP server. The values are secret and not included.
type ToolHeaders struct {
	// ToolID is the id of the tool or the MCP server.
	ToolID  string   `json:"toolId"`
	Name    string   `json:"name"`
	Headers []string `json:"headers"`
}

// Headers returns the tools and MCP servers that have headers.
func (p *Snapshot) Headers(ctx context.Context) ([]ToolHeaders, error) {
	tools := []*model.Tool{}
	err := p.tenant.db.Select(&tools).Column("id", "name", "endpoint").Where("endpoint ->> 'sealedHeaders' IS NOT NULL").
		Order("id").Scan(ctx)
	headers := make([]ToolHeaders, len(tools))
	for i, tool := range tools {
		headers[i] = ToolHeaders{tool.ID, tool.Name, tool.Endpoint.HeaderNames}
	}
	if err != nil {
		return nil, err
	}
	servers := []*model.McpServer{}
	err = p.tenant.db.Select(&servers).Column("id", "name", "endpoint").Where("endpoint ->> 'sealedHeaders' IS NOT NULL").
		Order("id").Scan(ctx)
	for _, server := range servers {
		headers = append(headers, ToolHeaders{server.ID, server.Name, server.Endpoint.HeaderNames})
	}
	return headers, err
}
