package dbtest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnshardableStatementsAreRefused(t *testing.T) {
	t.Parallel()
	judge := &judge{sharded: []string{"agents", "jobs"}, reference: []string{"companies"}}
	for statement, canRun := range map[string]bool{
		`SELECT "agent"."id" FROM "agents" AS "agent" WHERE ("agent"."company_id" = 'c''1')`:                         true,
		"UPDATE jobs SET attempt = 2 WHERE company_id = $1 AND id = ANY($2)":                                         true,
		`INSERT INTO "agents" ("company_id", "id") VALUES ('c', 'a')`:                                                true,
		"SELECT set_config('agentgraph.company', 'agents', false)":                                                   true,
		"SELECT 1 FROM agents WHERE company_id = $1 AND EXISTS (SELECT\n FROM agents WHERE company_id = $1)":         false,
		"SELECT name FROM agents WHERE id = $1":                                                                      false,
		"SELECT name FROM agents WHERE company_id = other.company_id":                                                false,
		"UPDATE jobs SET attempt = 2 FROM (SELECT id FROM river_job) AS free WHERE company_id = $1 AND id = free.id": false,
		"SELECT jobs.id FROM agents JOIN jobs ON jobs.id = agents.id WHERE agents.company_id = $1":                   false,
		"SELECT jobs.id FROM agents JOIN jobs ON jobs.company_id = agents.company_id AND jobs.id = agents.id WHERE " +
			"agents.company_id = $1": true,
		"SELECT 1 FROM agents WHERE company_id = $1 AND EXISTS (SELECT 1 FROM jobs WHERE jobs.id = agents.id)": false,
		"SELECT 1 FROM agents WHERE company_id = $1 AND EXISTS (SELECT 1 FROM jobs WHERE company_id = $1 AND jobs.id = " +
			"agents.id)": true,
		`SELECT "agent"."id" FROM "agents" AS "agent", jobs AS job WHERE ("agent".company_id = 'c')
			AND job.id = "agent".id`: false,
		"DELETE FROM jobs USING agents WHERE jobs.company_id = $1 AND agents.id = jobs.id": false,
		"UPDATE jobs SET attempt = 2 WHERE company_id IN ('a', 'b')":                       false,
		`UPDATE jobs SET attempt = 2 FROM "river_job" AS free WHERE company_id = $1
			AND jobs.id = free.id`: false,
		"DELETE FROM jobs": false,
		"INSERT INTO jobs (company_id, id) VALUES ($1, $2), ($3, $4)":                       true,
		"INSERT INTO jobs (company_id, id) SELECT company_id, id FROM agents":               false,
		"INSERT INTO jobs (company_id, id) SELECT company_id, id FROM agents WHERE id = $1": false,
		"INSERT INTO jobs (company_id, id) SELECT company_id, id FROM agents WHERE company_id = $1 ON CONFLICT " +
			"(company_id, id) DO UPDATE SET id = excluded.id": true,
		"SELECT id FROM agents WHERE company_id = $1 OR id = $2": false,
		"SELECT 1 FROM agents AS a WHERE a.company_id = $1 AND EXISTS (SELECT 1 FROM jobs WHERE jobs.company_id = " +
			"a.company_id)": true,
		"SELECT 1 FROM agents AS a WHERE a.company_id = $1 AND (a.id = $2 OR EXISTS (SELECT 1 FROM jobs WHERE " +
			"jobs.company_id = a.company_id))": false,
		"SELECT (SELECT count(*) FROM jobs WHERE jobs.company_id = a.company_id) FROM agents AS a WHERE a.company_id = " +
			"$1": false,
		"SELECT id FROM agents WHERE company_id = $1 ORDER BY EXISTS (SELECT 1 FROM jobs WHERE jobs.company_id = " +
			"agents.company_id)": false,
		"SELECT id FROM agents WHERE company_id = $1 UNION SELECT id FROM jobs":                           false,
		"WITH jobs AS (SELECT id FROM agents WHERE company_id = $1 FOR UPDATE) SELECT count(*) FROM jobs": true,
		"SELECT 1 FROM agents JOIN jobs USING (company_id, id) WHERE company_id = $1":                     true,
		"SELECT company_id FROM jobs": false,
		"WITH gone AS (DELETE FROM jobs WHERE company_id = $1 RETURNING id) SELECT count(*) FROM gone": false,
	} {
		require.Equal(t, canRun, judge.canRun(statement, true), statement)
		require.Equal(t, canRun, judge.canRun(statement, true), "%s, once more", statement)
	}
}

func TestStatementsOfTheProgramReadAllCompanies(t *testing.T) {
	t.Parallel()
	judge := &judge{sharded: []string{"agents", "jobs"}, reference: []string{"companies"}}
	for statement, canRun := range map[string]bool{
		"SELECT company_id FROM jobs WHERE ready_at <= $1 GROUP BY company_id":                           true,
		"SELECT jobs.id FROM jobs JOIN agents ON agents.company_id = jobs.company_id":                    true,
		"SELECT jobs.id FROM jobs JOIN agents ON agents.id = jobs.id":                                    false,
		"SELECT id FROM jobs WHERE NOT EXISTS (SELECT 1 FROM agents WHERE agents.id = jobs.id)":          false,
		"SELECT id FROM jobs WHERE NOT EXISTS (SELECT 1 FROM agents WHERE company_id = jobs.company_id)": true,
		"SELECT id FROM companies WHERE EXISTS (SELECT 1 FROM jobs WHERE company_id = companies.id)":     false,
		"SELECT id FROM jobs FOR UPDATE":                                                                 false,
		"DELETE FROM jobs":                                                                               false,
		"UPDATE jobs SET attempt = 2 WHERE company_id = $1":                                              true,
		"SELECT company_id FROM jobs UNION SELECT company_id FROM agents":                                true,
		"SELECT id FROM companies WHERE id = $1":                                                         true,
		"SELECT jobs.id FROM jobs JOIN river_job ON river_job.id = jobs.id":                              false,
		"SELECT s.id FROM unnest($1::text[]) AS s (company_id) JOIN agents ON agents.company_id = s.company_id JOIN " +
			"jobs ON jobs.company_id = s.company_id": true,
		"SELECT s.id FROM unnest($1::text[]) AS s (company_id) JOIN agents ON agents.company_id = s.company_id LEFT JOIN " +
			"jobs ON jobs.company_id = s.company_id": false,
		"SELECT s.id FROM unnest($1::text[]) AS s (company_id) JOIN agents ON agents.company_id = s.company_id LEFT JOIN " +
			"jobs ON jobs.company_id = agents.company_id": true,
		"SELECT s.id FROM unnest($1::text[]) AS s (company_id) LEFT JOIN jobs ON jobs.company_id = s.company_id": true,
	} {
		require.Equal(t, canRun, judge.canRun(statement, false), statement)
	}
}

func TestLiteralsAreRemovedFromStatements(t *testing.T) {
	t.Parallel()
	for statement, want := range map[string]string{
		"":                                  "",
		" \n SELECT\t 1 \r\n":               "SELECT 1",
		"SELECT 'never  ends":               "SELECT ''",
		"SELECT 'ends thrice'''":            "SELECT ''",
		"SELECT 'a', 'it''s  \n'  , ''":     "SELECT '', '' , ''",
		`SELECT "a  b" WHERE x='é'`:         `SELECT "a b" WHERE x=''`,
		"SELECT 'é' AS \"é\" , E'\\n' \v x": "SELECT '' AS \"é\" , E'' x",
	} {
		require.Equal(t, want, withoutLiterals(statement), statement)
	}
}
