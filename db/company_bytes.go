package db

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
)

// sampledRows is about how many rows of a table an estimate of sizes reads.
const sampledRows = 50_000

// sampledTables selects the tables with rows of companies, their sizes with indexes, and the percentage of their pages
// that an estimate reads. A table that was never analyzed has no known number of rows. The width of a row leaves out
// columns that Postgres stores in place, because they are short.
const sampledTables = `SELECT relname::text AS name, ?0(t.oid)::float8 AS bytes,
	least(100, 100 * ?1 / greatest(reltuples, pg_relation_size(t.oid) / 2048, 1))::float8 AS percent,
	(SELECT string_agg('coalesce(pg_column_size(' || quote_ident(attname) || '), 0)', ' + ') FROM pg_attribute
		WHERE attrelid = t.oid AND attnum > 0 AND NOT attisdropped AND attstorage <> 'p') AS width
	FROM pg_class AS t WHERE relkind = 'r' AND relnamespace = ` + pg.OwnSchema + ` AND EXISTS (
		SELECT 1 FROM pg_attribute WHERE attrelid = t.oid AND attname = 'company_id' AND NOT attisdropped)`

// CompanyBytes estimates how many bytes the rows of each company have in Postgres, with their share of indexes and of
// free space. It reads about sampledRows rows of each table, so small companies may have no bytes in it. Documents in
// a bucket are left out.
func (s *Store) CompanyBytes(ctx context.Context) (map[string]int64, error) {
	size := bun.Safe("pg_total_relation_size")
	if s.db.IsSharded() {
		size = bun.Safe("citus_total_relation_size")
	}
	tables := []struct {
		Name, Width    string
		Bytes, Percent float64
	}{}
	program := s.db.Program()
	if err := program.NewRaw(sampledTables, size, sampledRows).Scan(ctx, &tables); err != nil {
		return nil, err
	}
	estimate := map[string]int64{}
	for _, table := range tables {
		shares := []struct {
			CompanyID string
			Share     float64
		}{}
		if err := program.NewRaw(`SELECT company_id, (sum(?0 + 32) / sum(sum(?0 + 32)) OVER ())::float8 AS share
			FROM ?1 TABLESAMPLE SYSTEM (?2) GROUP BY company_id`, bun.Safe(table.Width), bun.Ident(table.Name),
			table.Percent).Scan(ctx, &shares); err != nil {
			return nil, err
		}
		for _, company := range shares {
			estimate[company.CompanyID] += int64(company.Share * table.Bytes)
		}
	}
	return estimate, nil
}
