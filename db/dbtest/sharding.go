package dbtest

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"

	"github.com/agentgraph/agentgraph/db/pg"
)

// Unchecked is the Tracer of a Store whose statements are not checked.
type Unchecked struct{}

// TraceQueryStart does nothing.
func (Unchecked) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd does nothing.
func (Unchecked) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

var emptyRows = regexp.MustCompile(`(?i)\bSELECT\s+FROM\b`)

// sharding is a tracer that finds statements that a database sharded by company refuses, or runs on all machines.
type sharding struct {
	Unchecked
	judge *judge

	mu      sync.Mutex
	refused map[string]bool
}

// checked returns a tracer that fails the test at its end if it found such a statement.
func checked(t testing.TB, judge *judge) *sharding {
	s := &sharding{judge: judge, refused: map[string]bool{}}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		assert.Empty(t, s.refused, "a database that is sharded by company cannot run these statements on one node")
	})
	return s
}

func (s *sharding) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if !s.judge.canRun(data.SQL, pg.IsForOneCompany(ctx)) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.refused[data.SQL] = true
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
	// sharded lists the sharded tables. reference lists the tables of which each node has a full copy.
	sharded, reference []string
	// judged caches the results by statement without literals, because most statements are sent thousands of times.
	judged sync.Map
}

// judged is a statement without literals, and whether it is for one company.
type judged struct {
	text            string
	isForOneCompany bool
}

// longestJudged is the maximum length of a cached statement, in bytes.
const longestJudged = 16 << 10

// canRun reports whether the database can run the statement on one node, which has all rows of one company. A statement
// that is not scoped to a company may also read all companies.
func (j *judge) canRun(statement string, isForOneCompany bool) bool {
	key := judged{withoutLiterals(statement), isForOneCompany}
	if canRun, known := j.judged.Load(key); known {
		return canRun.(bool)
	}
	canRun := j.canRunWithoutLiterals(key.text, isForOneCompany)
	if len(key.text) <= longestJudged {
		j.judged.Store(key, canRun)
	}
	return canRun
}

const spaces = " \t\r\n\v\f"

// withoutLiterals returns a statement with empty literals and with single spaces.
func withoutLiterals(statement string) string {
	var b strings.Builder
	for rest := strings.TrimSpace(statement); rest != ""; {
		switch n := strings.IndexAny(rest, "'"+spaces); {
		case n < 0:
			b.WriteString(rest)
			rest = ""
		case rest[n] == '\'':
			b.WriteString(rest[:n] + "''")
			rest = afterLiteral(rest[n+1:])
		default:
			b.WriteString(rest[:n] + " ")
			rest = strings.TrimLeft(rest[n:], spaces)
		}
	}
	return b.String()
}

// afterLiteral returns what follows a literal whose first quote has been read.
func afterLiteral(text string) string {
	for {
		_, rest, _ := strings.Cut(text, "'")
		if !strings.HasPrefix(rest, "'") {
			return rest
		}
		text = rest[1:]
	}
}

func (j *judge) canRunWithoutLiterals(text string, isForOneCompany bool) bool {
	levels := levelsOf(text)
	// A subquery must not change rows, because Citus would send its result to all nodes.
	isChanging := func(l *level) bool { return l.outer != nil && l.isChange() }
	switch {
	case emptyRows.MatchString(text):
		return false
	case !anyTable(levels, func(t tableRef) bool { return slices.Contains(j.sharded, t.name) }):
		return true
	case readsRiver(levels), slices.ContainsFunc(levels, isChanging):
		return false
	case !isForOneCompany && !namesCompany(levels, j.sharded):
		return readsAllCompanies(levels, j.sharded, j.reference)
	}
	return readsOneCompany(levels, j.sharded)
}
