package schema

import (
	"context"
	"fmt"
	"github.com/agentgraph/agentgraph/db/pg"
	"math"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/db/migrations"
)

// MigrationStep is a statement of a missing migration, with the lock that it takes.
type MigrationStep struct {
	Version int64  `json:"version"`
	Name    string `json:"name"`
	// Statement is the beginning of the statement.
	Statement string `json:"statement"`
	Table     string `json:"table"`
	// Rows is the approximate number of rows of the table, and Bytes its size without indexes.
	Rows  int64 `json:"rows"`
	Bytes int64 `json:"bytes"`
	// Lock is Postgres's name of the lock on the table. Waits says which statements wait for the lock.
	Lock  string `json:"lock"`
	Waits string `json:"waits"`
	// For has the approximate duration, at the rates of a common disk. 0 means a moment.
	For time.Duration `json:"-"`
	// Seconds is the duration For in seconds.
	Seconds float64 `json:"seconds"`

	work func(rows, bytes int64) time.Duration
}

// Who waits while a statement runs.
const (
	takesNobodysTurn = "nobody"
	takesWriters     = "writers"
	takesEverybody   = "everybody"
	takesSameRows    = "statements that change the same rows"
)

// lockRule describes how statements that match the pattern lock a table. The pattern's first group is the table.
type lockRule struct {
	pattern     *regexp.Regexp
	lock, waits string
	// work estimates the duration for a table with the given numbers of rows and bytes. If nil, it is a moment.
	work func(rows, bytes int64) time.Duration
}

// Conservative rates of a common machine.
var (
	readTime    = func(_, bytes int64) time.Duration { return seconds(bytes, 100e6) }
	indexTime   = func(rows, bytes int64) time.Duration { return seconds(rows, 200e3) + readTime(rows, bytes) }
	rewriteTime = func(rows, bytes int64) time.Duration { return seconds(rows, 30e3) + readTime(rows, bytes) }
)

func seconds(amount int64, rate float64) time.Duration {
	return time.Duration(float64(amount) / rate * float64(time.Second))
}

// lockRules are the rules in order. The first one that matches applies.
var lockRules = []lockRule{
	{regexp.MustCompile(`(?is)^CREATE (?:UNIQUE )?INDEX CONCURRENTLY .*? ON (\w+)`), "SHARE UPDATE EXCLUSIVE",
		takesNobodysTurn, indexTime},
	{regexp.MustCompile(`(?is)^CREATE (?:UNIQUE )?INDEX .*? ON (\w+)`), "SHARE", takesWriters, indexTime},
	{regexp.MustCompile(`(?is)^ALTER TABLE (?:IF EXISTS |ONLY )*(\w+)\s+VALIDATE`), "SHARE UPDATE EXCLUSIVE",
		takesNobodysTurn, readTime},
	{regexp.MustCompile(`(?is)^ALTER TABLE (?:IF EXISTS |ONLY )*(\w+)\b.*\bTYPE\b`), "ACCESS EXCLUSIVE", takesEverybody,
		rewriteTime},
	{regexp.MustCompile(`(?is)^ALTER TABLE (?:IF EXISTS |ONLY )*(\w+)\b.*NOT VALID\s*$`), "ACCESS EXCLUSIVE",
		takesEverybody, nil},
	{regexp.MustCompile(`(?is)^ALTER TABLE (?:IF EXISTS |ONLY )*(\w+)\b.*(?:ADD CONSTRAINT|SET NOT NULL|ADD (?:CHECK|FOREIGN|UNIQUE|PRIMARY))`), "ACCESS EXCLUSIVE", takesEverybody, readTime},
	{regexp.MustCompile(`(?is)^ALTER TABLE (?:IF EXISTS |ONLY )*(\w+)`), "ACCESS EXCLUSIVE", takesEverybody, nil},
	{regexp.MustCompile(`(?is)^DROP TABLE (?:IF EXISTS )?(\w+)`), "ACCESS EXCLUSIVE", takesEverybody, nil},
	{regexp.MustCompile(`(?is)^UPDATE (?:ONLY )?(\w+)`), "ROW EXCLUSIVE", takesSameRows, rewriteTime},
	{regexp.MustCompile(`(?is)^DELETE FROM (\w+)`), "ROW EXCLUSIVE", takesSameRows, rewriteTime},
	{regexp.MustCompile(`(?is)^INSERT INTO \w+.*\bFROM (\w+)`), "ACCESS SHARE", takesNobodysTurn, rewriteTime},
}

var (
	commentOfMigration = regexp.MustCompile(`(?m)--.*$`)
	tableReferred      = regexp.MustCompile(`(?i)\bREFERENCES (\w+)`)
)

// Plan returns the locks of the missing migrations, in order. It leaves out statements that touch no existing table,
// and migrations that are not SQL files.
func (m *Migrator) Plan(ctx context.Context) ([]MigrationStep, error) {
	all, err := m.Status(ctx)
	if err != nil {
		return nil, err
	}
	known, err := pg.ReadStructs[struct {
		Name        string
		Rows, Bytes int64
	}](ctx, m.pool, `SELECT relname::text AS name, greatest(reltuples, 0)::bigint AS rows, pg_table_size(oid) AS bytes
		FROM pg_class WHERE relkind = 'r' AND relnamespace = `+pg.OwnSchema)
	if err != nil {
		return nil, fmt.Errorf("read the catalog: %w", err)
	}
	steps := []MigrationStep{}
	for _, migration := range all {
		if !migration.AppliedAt.IsZero() || path.Ext(migration.Name) != ".sql" {
			continue
		}
		text, err := migrations.Files.ReadFile(path.Base(migration.Name))
		if err != nil {
			return nil, err
		}
		for _, step := range stepsOfMigration(string(text)) {
			for _, table := range known {
				if table.Name == step.Table {
					step.Version, step.Name, step.Rows, step.Bytes = migration.Version, path.Base(migration.Name), table.Rows,
						table.Bytes
					if step.work != nil {
						step.For = step.work(step.Rows, step.Bytes)
						step.Seconds = math.Round(step.For.Seconds()*10) / 10
					}
					steps = append(steps, step)
				}
			}
		}
	}
	return steps, nil
}

// stepsOfMigration returns the locks of the statements in the Up part of a migration.
func stepsOfMigration(text string) (steps []MigrationStep) {
	up, _, _ := strings.Cut(text, "-- +goose Down")
	for statement := range strings.SplitSeq(commentOfMigration.ReplaceAllString(up, ""), ";") {
		statement = strings.Join(strings.Fields(statement), " ")
		for _, rule := range lockRules {
			if found := rule.pattern.FindStringSubmatch(statement); found != nil {
				steps = append(steps, MigrationStep{Statement: abbreviate(statement), Table: found[1], Lock: rule.lock,
					Waits: rule.waits, work: rule.work})
				break
			}
		}
		if strings.HasPrefix(statement, "CREATE TABLE") || strings.HasPrefix(statement, "ALTER TABLE") {
			for _, referred := range tableReferred.FindAllStringSubmatch(statement, -1) {
				steps = append(steps, MigrationStep{Statement: abbreviate(statement), Table: referred[1],
					Lock:  "SHARE ROW EXCLUSIVE",
					Waits: takesWriters})
			}
		}
	}
	return steps
}

const maxOfStatement = 70

func abbreviate(statement string) string {
	if len(statement) > maxOfStatement {
		return statement[:maxOfStatement] + "…"
	}
	return statement
}
