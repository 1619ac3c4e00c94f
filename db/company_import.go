package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// ErrImportedBefore means that an archive with the same id was imported before. Its contents may differ.
var ErrImportedBefore = errors.New("the archive was imported before")

// ImportedBeforeError is returned when an archive with the same id was imported before. It wraps ErrImportedBefore.
type ImportedBeforeError struct {
	// Digest is the digest of the imported contents, or nil if an older version imported them.
	Digest []byte
}

func (e *ImportedBeforeError) Error() string { return ErrImportedBefore.Error() }

func (e *ImportedBeforeError) Unwrap() error { return ErrImportedBefore }

// CompanyImport imports the rows of a company in one transaction: they become visible all at once.
type CompanyImport struct {
	tx      *Tx
	tenant  tenantTx
	columns map[string][]string
	types   map[string]map[string]string
	// Digest identifies the contents of the archive. Set it before the import ends.
	Digest []byte
	// Paused is how many schedules were enabled in the archive. They are disabled now.
	Paused int
	// PausedCampaigns is how many campaigns were running in the archive. They are paused now.
	PausedCampaigns int

	// table is the table that the last call of Rows named. inserted counts the rows that were added to it.
	table    string
	inserted int
	// refused has the ids of refused rows, as JSON.
	refused map[string]bool
	// versions has, by campaign, the last version that the import gave to an item without a version.
	versions map[string]int
}

// RowError is the index of the faulty row among the given ones, from 0, with the reason.
type RowError struct {
	Index int
	Err   error
}

func (e *RowError) Error() string { return e.Err.Error() }

func (e *RowError) Unwrap() error { return e.Err }

// RowErrors are the faulty rows, sorted by their index.
type RowErrors []*RowError

func (e RowErrors) Error() string { return fmt.Sprintf("%d rows are refused: %v", len(e), e[0]) }

// ImportCompany makes the company from the rows that the function fill adds. It imports nothing if fill returns an
// error or the rows are inconsistent. A rehearsal imports nothing, and returns the same errors. It returns CONFLICT
// when a company has the id, and an ImportedBeforeError when that company came from an archive with the same id.
func (s *Store) ImportCompany(ctx context.Context, company *model.Company, archiveID string, isRehearsal bool,
	fill func(context.Context, *CompanyImport) error) error {
	errRehearsed := errors.New("rehearsed")
	err := s.Tx(ctx, func(ctx context.Context, tx *Tx) error {
		tenant := tx.Tenant(company.ID)
		if err := tenant.disableTimeouts(ctx); err != nil {
			return err
		}
		if err := tx.addCompany(ctx, company, archiveID); err != nil {
			return err
		}
		in := &CompanyImport{tx: tx, tenant: tenantTx{tenant}, versions: map[string]int{},
			refused: map[string]bool{}}
		if err := in.begin(ctx); err != nil {
			return err
		}
		if err := fill(ctx, in); err != nil {
			return err
		}
		if err := in.complete(ctx); err != nil {
			return err
		}
		if err := in.tenant.audit(ctx, model.AuditActionImportCompany, company.ID); err != nil {
			return err
		}
		if err := tx.noteDigest(ctx, company.ID, archiveID, in.Digest); err != nil {
			return err
		}
		if isRehearsal {
			return errRehearsed
		}
		return nil
	})
	if errors.Is(err, errRehearsed) {
		return nil
	}
	return err
}

// addCompany adds a company under its own id.
func (tx *Tx) addCompany(ctx context.Context, company *model.Company, archiveID string) error {
	program := tx.Program()
	known := []*model.Company{}
	if err := program.NewSelect().Model(&known).Where("id = ?", company.ID).Scan(ctx); err != nil {
		return err
	}
	if len(known) > 0 {
		digests := [][]byte{}
		err := program.NewSelect().TableExpr("company_imports").Column("digest").Where("company_id = ?", company.ID).
			Where("archive_id = ?", archiveID).Scan(ctx, &digests)
		if err != nil {
			return err
		}
		if len(digests) > 0 {
			return &ImportedBeforeError{digests[0]}
		}
		return model.Errorf(model.Conflict, "the company %q (id %q) already exists. An import always creates a "+
			"company: delete the existing one first, or import into another database", known[0].Name, company.ID)
	}
	if _, err := program.NewInsert().Model(company).Exec(ctx); err != nil {
		return err
	}
	return exec(ctx, program.NewRaw("INSERT INTO company_imports (company_id, archive_id, imported_at) VALUES (?, ?, ?)",
		company.ID, archiveID, now()))
}

// noteDigest stores the digest of the imported contents.
func (tx *Tx) noteDigest(ctx context.Context, companyID, archiveID string, digest []byte) error {
	return exec(ctx, tx.Program().NewRaw("UPDATE company_imports SET digest = ? WHERE company_id = ? AND archive_id = ?",
		digest, companyID, archiveID))
}

func (i *CompanyImport) begin(ctx context.Context) (err error) {
	if _, err := i.tenant.db.ExecContext(ctx, "SET CONSTRAINTS ALL DEFERRED"); err != nil {
		return err
	}
	if i.columns, _, err = i.tenant.columnsOf(ctx); err != nil {
		return err
	}
	for _, columns := range i.columns {
		slices.Sort(columns)
	}
	i.types, err = i.tenant.typesOf(ctx)
	return err
}

// Rows adds rows to one of ArchivedTables. Each row is a JSON object whose keys are the columns. Add the rows that they
// refer to before them, or in the same call. RowErrors names all faulty rows. A row that refers to a faulty row is only
// checked, and RowErrors names it if it has a fault of its own. The other rows are added, so that the rows after them
// can be checked.
func (i *CompanyImport) Rows(ctx context.Context, table string, lines []json.RawMessage) error {
	if table != i.table {
		if err := i.analyze(ctx); err != nil {
			return err
		}
		i.table, i.inserted = table, 0
	}
	i.inserted += len(lines)
	var faults RowErrors
	complete, indexes := []json.RawMessage{}, []int{}
	var free, dependent []json.RawMessage
	for n, line := range lines {
		whole, err := i.complement(table, line)
		if err != nil {
			faults = append(faults, i.refuse(n, line, err))
			continue
		}
		complete, indexes = append(complete, whole), append(indexes, n)
		if i.refersToRefused(line) { // adding it would fail, and then all rows would be added one by one
			_ = i.refuse(n, line, nil)
			dependent = append(dependent, whole)
		} else {
			free = append(free, whole)
		}
	}
	if len(complete) > 0 {
		err := i.attempt(ctx, func() error {
			if err := i.check(ctx, table, dependent); err != nil {
				return err
			}
			return i.insert(ctx, table, free)
		})
		if err != nil {
			more, err := i.insertEach(ctx, table, complete, err)
			if err != nil {
				return err
			}
			for _, fault := range more {
				faults = append(faults, &RowError{indexes[fault.Index], fault.Err})
			}
		}
	}
	if len(faults) == 0 {
		return nil
	}
	slices.SortFunc(faults, func(a, b *RowError) int { return a.Index - b.Index })
	return faults
}

// complement fills in missing columns of a row, and returns an error if the row does not match the table.
func (i *CompanyImport) complement(table string, line json.RawMessage) (json.RawMessage, error) {
	values, twice := map[string]json.RawMessage{}, ""
	if !utf8.Valid(line) {
		return nil, errors.New("is not UTF-8")
	}
	err := eachMember(line, func(name string, value json.RawMessage) {
		if _, isGiven := values[name]; isGiven {
			twice = name
		}
		values[name] = value
	})
	switch {
	case err != nil:
		return nil, errors.New("is not a JSON object")
	case twice != "":
		return nil, fmt.Errorf("%s occurs twice", shortName(twice))
	}
	for column, value := range values {
		if !slices.Contains(i.columns[table], column) {
			return nil, fmt.Errorf("%q is not a field of %s", shortName(column), table)
		}
		if column != "id" {
			continue
		}
		var id string
		isText := json.Unmarshal(value, &id) == nil
		isValid := model.IsID(id) || table == "agent_test_snapshots" && model.IsVariantID(id)
		if !isText || !isValid {
			return nil, fmt.Errorf("id must have 1 to %d letters, digits or . _ ~ : @ -, and must begin with a letter or a "+
				"digit", model.MaxIDLength)
		}
	}
	archived := archivedTableOf(table)
	isWhole, err := i.fillIn(archived, values)
	if err == nil {
		err = i.checkShape(archived, values)
	}
	isRekeyed := err == nil && table == "agent_tests" && completeRows(values)
	if isWhole && !isRekeyed || err != nil {
		return line, err
	}
	return json.Marshal(values)
}

// fillIn sets the columns that a row leaves out, and the columns with fixed values. isWhole is true if the row was
// complete already.
func (i *CompanyImport) fillIn(table *archivedTable, values map[string]json.RawMessage) (isWhole bool, err error) {
	isWhole = true
	set := func(column string, value any) error {
		text, err := json.Marshal(value)
		values[column], isWhole = text, false
		return err
	}
	complement := func(absent map[string]any) {
		for column, value := range absent {
			given, isGiven := values[column]
			if !isGiven {
				err = errors.Join(err, set(column, value))
			} else if merged := mergedInto(given, value); merged != nil {
				values[column], isWhole = merged, false
			}
		}
	}
	if table.defaults != nil {
		complement(table.defaults())
	}
	if table.defaultsFor != nil {
		complement(table.defaultsFor(values))
	}
	if _, isGiven := values["version"]; !isGiven && table.name == "campaign_items" {
		i.versions[string(values["campaign_id"])]++
		err = errors.Join(err, set("version", i.versions[string(values["campaign_id"])]))
	}
	if table.name == "campaigns" && string(values["status"]) == `"Running"` {
		i.PausedCampaigns++
		err = errors.Join(err, set("status", model.CampaignStatusPaused))
	}
	if string(values["is_enabled"]) == "true" && table.overrides != nil {
		i.Paused++
	}
	for column, value := range table.overrides {
		err = errors.Join(err, set(column, value))
	}
	return isWhole, err
}

// mergedInto adds the members of whole that the given object lacks, and returns the result. It returns nil if there is
// nothing to add.
func mergedInto(given json.RawMessage, whole any) json.RawMessage {
	if _, isSchema := whole.(json.RawMessage); isSchema {
		return nil // it is complete already
	}
	text, err := json.Marshal(whole)
	members, defaults := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err != nil || json.Unmarshal(text, &defaults) != nil || json.Unmarshal(given, &members) != nil || members == nil ||
		len(defaults) == 0 {
		return nil
	}
	isWhole := true
	for name, value := range defaults {
		if _, isGiven := members[name]; !isGiven {
			members[name], isWhole = value, false
		}
	}
	if isWhole {
		return nil
	}
	merged, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	return merged
}

// File adds the uploaded file of a document. Its size must be that in the document's row.
func (i *CompanyImport) File(ctx context.Context, documentID string, size int64, content io.Reader) error {
	d, err := i.tenant.Document(ctx, documentID)
	if err != nil {
		return err
	}
	if int64(d.Size) != size {
		return model.Errorf(model.BadInput, "the file has %d bytes, but the document's size is %d", size, d.Size)
	}
	err = i.tenant.saveContent(ctx, d, content)
	if pg.SQLState(err) == "23505" {
		return model.Errorf(model.BadInput, "the file occurs twice")
	}
	return err
}
