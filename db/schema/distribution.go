package schema

import (
	"context"
	"fmt"
	"slices"

	"github.com/agentgraph/agentgraph/db/pg"
)

// Distribution describes how a Citus cluster stores the tables. It is derived from the catalog of the database.
type Distribution struct {
	// Reference lists the tables that every node stores completely: the companies, and tables that are read without
	// knowing a company.
	Reference []string `json:"reference"`
	// Steps are the tables that are sharded by company, after those that they refer to.
	Steps []DistributionStep `json:"steps"`
	// Local lists the tables that stay on the node that the program connects to: the queue's tables, which have no
	// company.
	Local []string `json:"local"`
}

// DistributionStep is sharded in one transaction: a table, or several tables with circular references.
type DistributionStep struct {
	Tables []string `json:"tables"`
	// Cut lists the references that close the circle. The transaction drops them first and creates them again at its end.
	Cut []TableConstraint `json:"cut"`
}

// TableConstraint is a constraint of a table, with its SQL definition.
type TableConstraint struct {
	Table      string `json:"table"`
	Name       string `json:"name"`
	Definition string `json:"definition"`
}

// catalogTable is a table of the product's schema. A table cannot be sharded if one of its unique keys does not include
// the company.
type catalogTable struct {
	Name                 string
	IsOfCompanies, IsKey bool
}

const catalogTables = `SELECT t.relname::text AS name,
		EXISTS (SELECT 1 FROM pg_attribute WHERE attrelid = t.oid AND attname = 'company_id'
			AND NOT attisdropped) AS is_of_companies,
		EXISTS (SELECT 1 FROM pg_index WHERE indrelid = t.oid AND indisunique AND NOT EXISTS (
			SELECT 1 FROM pg_attribute WHERE attrelid = t.oid AND attname = 'company_id'
				AND attnum = ANY (indkey::int2[]))) AS is_key
	FROM pg_class AS t WHERE t.relkind IN ('r', 'p') AND t.relnamespace = ` + pg.OwnSchema + `
	AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = t.oid AND deptype = 'e')
		ORDER BY t.oid`

type catalogReference struct{ Table, Name, Definition, To string }

const catalogReferences = `SELECT t.relname::text AS table, conname::text AS name,
	pg_get_constraintdef(c.oid) AS definition, r.relname::text AS to
	FROM pg_constraint AS c JOIN pg_class AS t ON t.oid = conrelid JOIN pg_class AS r ON r.oid = confrelid
	WHERE contype = 'f' AND connamespace = ` + pg.OwnSchema + ` ORDER BY c.oid`

// Distribution returns how a Citus cluster would store the tables. It reads the catalog of any Postgres.
func (m *Migrator) Distribution(ctx context.Context) (Distribution, error) {
	return distribution(ctx, m.pool)
}

func distribution(ctx context.Context, db pg.Querier) (Distribution, error) {
	var d Distribution
	tables, err := pg.ReadStructs[catalogTable](ctx, db, catalogTables)
	if err != nil {
		return d, fmt.Errorf("read the catalog: %w", err)
	}
	references, err := pg.ReadStructs[catalogReference](ctx, db, catalogReferences)
	if err != nil {
		return d, fmt.Errorf("read the catalog: %w", err)
	}
	sharded := []string{}
	for _, t := range tables {
		switch {
		case t.Name == "companies", t.IsOfCompanies && t.IsKey:
			d.Reference = append(d.Reference, t.Name)
		case t.IsOfCompanies:
			sharded = append(sharded, t.Name)
		default:
			d.Local = append(d.Local, t.Name)
		}
	}
	d.Steps = stepsOf(sharded, references)
	return d, nil
}

// stepsOf orders tables, each after those that it refers to, and otherwise oldest first.
func stepsOf(tables []string, references []catalogReference) (steps []DistributionStep) {
	refers := map[string][]string{}
	for _, r := range references {
		if slices.Contains(tables, r.Table) && slices.Contains(tables, r.To) {
			refers[r.Table] = append(refers[r.Table], r.To)
		}
	}
	reached := map[string]map[string]bool{}
	for _, table := range tables {
		reached[table] = map[string]bool{}
		for waiting := slices.Clone(refers[table]); len(waiting) > 0; waiting = waiting[1:] {
			if to := waiting[0]; !reached[table][to] {
				reached[table][to] = true
				waiting = append(waiting, refers[to]...)
			}
		}
	}
	done := map[string]bool{}
	for left := tables; len(left) > 0; {
		step := DistributionStep{Cut: []TableConstraint{}}
		for _, table := range left {
			circle := slices.DeleteFunc(slices.Clone(left), func(other string) bool {
				return other != table && (!reached[table][other] || !reached[other][table])
			})
			isNext := true
			for to := range reached[table] {
				isNext = isNext && (done[to] || slices.Contains(circle, to))
			}
			if isNext {
				step.Tables = circle
				break
			}
		}
		for _, r := range references {
			from, to := slices.Index(step.Tables, r.Table), slices.Index(step.Tables, r.To)
			if from >= 0 && to > from {
				step.Cut = append(step.Cut, TableConstraint{r.Table, r.Name, r.Definition})
			}
		}
		for _, table := range step.Tables {
			done[table] = true
		}
		left = slices.DeleteFunc(slices.Clone(left), func(table string) bool { return done[table] })
		steps = append(steps, step)
	}
	return steps
}

// undistributed returns the tables that should be distributed and are not.
func (d Distribution) undistributed(done []string) (left []string) {
	wanted := slices.Clone(d.Reference)
	for _, step := range d.Steps {
		wanted = append(wanted, step.Tables...)
	}
	return slices.DeleteFunc(wanted, func(table string) bool { return slices.Contains(done, table) })
}

// LocalTables returns the tables that should be distributed and are not, because a later version has created them. It
// returns none if no table is distributed.
func (m *Migrator) LocalTables(ctx context.Context) ([]string, error) {
	return LocalTables(ctx, m.pool)
}

// LocalTables returns the tables that should be distributed and are not. It returns none if no table is distributed.
func LocalTables(ctx context.Context, db pg.Querier) ([]string, error) {
	done, err := pg.Distributed(ctx, db)
	if err != nil || len(done) == 0 {
		return nil, err
	}
	d, err := distribution(ctx, db)
	return d.undistributed(done), err
}
