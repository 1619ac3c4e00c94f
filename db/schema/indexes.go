package schema

import (
	"context"
	_ "embed" // for indexes.sql
	"fmt"
	"regexp"
	"strings"

	"github.com/agentgraph/agentgraph/db/pg"
)

// indexes has a statement for each index that the migrations create, except on River's tables.
//
//go:embed indexes.sql
var indexes string

var indexOf = regexp.MustCompile(`(?m)^(?:CREATE (?:UNIQUE )?INDEX|ALTER TABLE \w+ ADD CONSTRAINT) (\w+) .*$`)

// IndexFault is an index that is missing or invalid. Postgres uses no invalid index to read.
type IndexFault struct {
	Name string
	// IsMissing is set if there is no such index.
	IsMissing bool
	// Repair is the statement that creates the index.
	Repair string
}

// String returns the name and the fault.
func (f IndexFault) String() string {
	if f.IsMissing {
		return f.Name + " is missing"
	}
	return f.Name + " is invalid"
}

// IndexFaults returns the indexes that the database has lost, or that are invalid. It returns none unless the database
// has the version of the program.
func (m *Migrator) IndexFaults(ctx context.Context) ([]IndexFault, error) {
	state, err := m.Schema(ctx)
	if err != nil || state.Current != state.Wanted {
		return nil, err
	}
	type index struct {
		Name    string
		IsValid bool
	}
	found, err := pg.ReadStructs[index](ctx, m.pool, `SELECT relname::text AS name, indisvalid AS is_valid
		FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = `+pg.OwnSchema+` ORDER BY relname`)
	if err != nil {
		return nil, fmt.Errorf("read the indexes: %w", err)
	}
	var faults []IndexFault
	exists := map[string]bool{}
	for _, i := range found {
		exists[i.Name] = true
		if !i.IsValid {
			faults = append(faults, IndexFault{Name: i.Name, Repair: "REINDEX INDEX CONCURRENTLY " + i.Name})
		}
	}
	for _, statement := range indexOf.FindAllStringSubmatch(indexes, -1) {
		if name := statement[1]; !exists[name] {
			faults = append(faults, IndexFault{Name: name, IsMissing: true, Repair: strings.TrimSuffix(statement[0], ";")})
		}
	}
	return faults, nil
}
