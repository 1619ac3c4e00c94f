package dbtest

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
)

// Unchecked is the Tracer of a Store whose statements are not checked, because the test writes them itself.
type Unchecked struct{}

// TraceQueryStart does nothing.
func (Unchecked) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd does nothing.
func (Unchecked) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

var (
	quoted    = regexp.MustCompile(`"(?:[^"]|"")*"`)
	emptyRows = regexp.MustCompile(`(?i)\bSELECT\s+FROM\b`)
	// ofCompany matches the part of a statement that names the one company whose rows it reads, changes or inserts.
	ofCompany = regexp.MustCompile(`company_id"?\)? (?:=|IN) \(?(?:''|\$\d)|\("?company_id"?,`)
	ofRiver   = regexp.MustCompile(`\b(?:FROM|JOIN|INTO|UPDATE) "?river_`)
	// ofSeveral matches the part of a statement that names more than one company.
	ofSeveral = regexp.MustCompile(`company_id"?\)? IN \((?:''|\$\d+), ?(?:''|\$\d+)`)
	// changing matches a subquery that changes rows. A cluster would have to send its result to all machines.
	changing = regexp.MustCompile(`\bAS (?:MATERIALIZED )?\((?:WITH .*\) )?(?:INSERT|UPDATE|DELETE)\b`)
	// madeUp matches rows that belong to no table.
	madeUp = regexp.MustCompile(`FROM json_populate_recordset\(`)
)

// acrossCompanies lists the beginnings of statements that read all companies. They run in the background and find
// companies, which are then handled one at a time.
var acrossCompanies = []string{
	"SELECT company_id, river_job_id FROM jobs WHERE river_job_id IS NOT NULL",
	"SELECT id FROM companies WHERE EXISTS (SELECT 1 FROM jobs",
	"SELECT kind, CASE WHEN river_job_id IS NOT NULL",
	`SELECT "agent_test_run"."company_id", "agent_test_run"."id" FROM "agent_test_runs"`,
	`SELECT "campaign"."company_id", "campaign"."id" FROM "campaigns" AS "campaign" WHERE (NOT (coalesce(counted_at`,
	`SELECT "retention"."company_id", "retention"."kind", "retention"."days" FROM "retentions" AS "retention"`,
	`SELECT "company"."id" FROM "companies" AS "company" WHERE (EXISTS (SELECT 1 FROM`,
	`SELECT "company_id" FROM agent_test_executions WHERE (deleted_at IS NOT NULL)`,
}

// sharding is a tracer that finds statements that a database sharded by company refuses, or runs on all machines.
type sharding struct {
	Unchecked
	judge *judge

	mu    sync.Mutex
	found map[string]bool
}

// checked returns a tracer that fails the test at its end if it found such a statement.
func checked(t testing.TB, judge *judge) *sharding {
	s := &sharding{judge: judge, found: map[string]bool{}}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		assert.Empty(t, s.found, "a database that is sharded by company cannot do this, or not on one machine")
	})
	return s
}

func (s *sharding) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !s.judge.fits(data.SQL) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.found[data.SQL] = true
	}
	return ctx
}

func (s *sharding) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, query := range data.Batch.QueuedQueries {
		ctx = s.TraceQueryStart(ctx, conn, pgx.TraceQueryStartData{SQL: query.SQL})
	}
	return ctx
}

func (*sharding) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (*sharding) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// judge decides whether a database that is sharded by company can run a statement.
type judge struct {
	tables *regexp.Regexp
	// references matches a table in a statement: the word before it, its name, and its alias.
	references *regexp.Regexp
	// judged caches the results by statement without literals, because most statements are sent thousands of times.
	judged sync.Map
}

// newJudge returns a judge for the tables of companies.
func newJudge(tables []string) *judge {
	any := strings.Join(tables, "|")
	return &judge{tables: regexp.MustCompile(`\b(?:` + any + `)\b`), references: regexp.MustCompile(
		`(FROM|JOIN|INTO|UPDATE|USING|,) (?:"?company"?\.)?"?(` + any + `)\b"?(?: AS "?(\w+)"?)?`)}
}

// longestJudged is the maximum length of a cached statement, in bytes.
const longestJudged = 16 << 10

func (j *judge) fits(statement string) bool {
	text := withoutLiterals(statement)
	if fits, known := j.judged.Load(text); known {
		return fits.(bool)
	}
	fits := j.fitsWithoutLiterals(text)
	if len(text) <= longestJudged {
		j.judged.Store(text, fits)
	}
	return fits
}

var literals = regexp.MustCompile(`'(?:[^']|'')*'`)

// withoutLiterals returns a statement with empty literals and with single spaces.
func withoutLiterals(statement string) string {
	return strings.Join(strings.Fields(literals.ReplaceAllString(statement, "''")), " ")
}

func (j *judge) fitsWithoutLiterals(text string) bool {
	text = quoted.ReplaceAllStringFunc(text, func(name string) string { // it may contain anything
		return strings.NewReplacer(" ", "", ";", "", ",", "").Replace(name)
	})
	switch {
	case emptyRows.MatchString(text), changing.MatchString(text):
		return false
	case !j.tables.MatchString(text), madeUp.MatchString(text):
		return true
	case slices.ContainsFunc(acrossCompanies, func(begin string) bool { return strings.HasPrefix(text, begin) }):
		return true
	}
	return ofCompany.MatchString(text) && !ofRiver.MatchString(text) && !ofSeveral.MatchString(text) && j.isBound(text)
}

// isBound reports whether each table in a statement is bound to a company, by a constant or by another table. A cluster
// searches all machines for an unbound table, or refuses the statement.
func (j *judge) isBound(text string) bool {
	needed := map[string]int{}
	for _, r := range j.references.FindAllStringSubmatch(text, -1) {
		word, name := r[1], cmp.Or(r[3], r[2])
		// A word after a comma is a column unless it has an alias, and the columns of an INSERT begin with the company.
		if word != "INTO" && (word != "," || r[3] != "") {
			needed[name]++
		}
	}
	free := len(unqualified.FindAllString(text, -1))
	for name, references := range needed {
		bound := regexp.MustCompile(`(?:^|[^\w.])"?` + name + `"?\."?company_id"?\)? ?(?:=|IN)|= "?` + name +
			`"?\."?company_id"?|\("?` + name + `"?\."?company_id"?,`)
		if missing := references - len(bound.FindAllString(text, -1)); missing > 0 {
			free -= missing
		}
	}
	return free >= 0
}

// unqualified matches a condition on the company without a table name.
var unqualified = regexp.MustCompile(`(?:[ (])"?company_id"?\)? ?(?:=|IN) |USING \("?company_id"?|\(company_id, `)
