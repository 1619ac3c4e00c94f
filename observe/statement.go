package observe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/agentgraph/agentgraph/gateway"
)

// Statements returns a tracer that watches every statement. It returns nil if nothing is watched.
func (o *Observer) Statements() pgx.QueryTracer {
	if o.metrics == nil && o.traces == nil && o.slow == 0 {
		return nil
	}
	s := &statements{metrics: o.metrics, slow: o.slow, log: o.log}
	if o.traces != nil {
		s.spans = o.traces.statements()
	}
	return s
}

// statements is a pgx.QueryTracer and a pgx.BatchTracer.
type statements struct {
	metrics *metrics
	// spans is nil without traces.
	spans *otelpgx.Tracer
	slow  time.Duration
	log   *slog.Logger
}

type tripKey struct{}

// trip is a round trip to the database.
type trip struct {
	begin time.Time
	// first has the text of the first statement, and count the number of statements.
	first string
	count int
}

func (s *statements) TraceQueryStart(ctx context.Context, conn *pgx.Conn,
	data pgx.TraceQueryStartData) context.Context {
	ctx = s.begin(ctx, trip{time.Now(), data.SQL, 1})
	if s.spans != nil {
		ctx = s.spans.TraceQueryStart(ctx, conn, data)
	}
	return ctx
}

func (s *statements) TraceQueryEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryEndData) {
	s.endTrip(ctx)
	if s.spans != nil {
		data.Err = withoutContent(data.Err)
		s.spans.TraceQueryEnd(ctx, conn, data)
	}
}

func (s *statements) TraceBatchStart(ctx context.Context, conn *pgx.Conn,
	data pgx.TraceBatchStartData) context.Context {
	t := trip{begin: time.Now(), count: data.Batch.Len()}
	if t.count > 0 {
		t.first = data.Batch.QueuedQueries[0].SQL
	}
	ctx = s.begin(ctx, t)
	if s.spans != nil {
		ctx = s.spans.TraceBatchStart(ctx, conn, data)
	}
	return ctx
}

func (s *statements) TraceBatchQuery(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchQueryData) {
	if s.spans != nil {
		data.Err = withoutContent(data.Err)
		s.spans.TraceBatchQuery(ctx, conn, data)
	}
}

func (s *statements) TraceBatchEnd(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchEndData) {
	s.endTrip(ctx)
	if s.spans != nil {
		data.Err = withoutContent(data.Err)
		s.spans.TraceBatchEnd(ctx, conn, data)
	}
}

func (s *statements) begin(ctx context.Context, t trip) context.Context {
	if w, ok := ctx.Value(workKey{}).(*dbUsage); ok {
		w.statements.Add(int64(t.count))
		w.trips.Add(1)
	}
	if s.metrics != nil {
		s.metrics.statements.Add(float64(t.count))
	}
	return context.WithValue(ctx, tripKey{}, t)
}

func (s *statements) endTrip(ctx context.Context) {
	t, ok := ctx.Value(tripKey{}).(trip)
	if !ok {
		return
	}
	if s.metrics != nil {
		s.metrics.tripDuration.Observe(secondsSince(t.begin))
	}
	if took := time.Since(t.begin); s.slow > 0 && took >= s.slow {
		shape := shapeOf(t.first)
		sum := sha256.Sum256([]byte(shape))
		s.log.LogAttrs(ctx, slog.LevelWarn, "slow statement", slog.Duration("duration", took),
			slog.String("statement", summaryOf(shape)), slog.String("digest", hex.EncodeToString(sum[:8])),
			slog.Int("statements", t.count), slog.String("traceId", gateway.TraceID(ctx)))
	}
}

// withoutContent returns the error with the name of the function in Postgres that reported it, instead of Postgres's
// message, which can quote values.
func withoutContent(err error) error {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return &pgconn.PgError{Severity: answer.Severity, Code: answer.Code, Message: answer.Routine}
	}
	return err
}

// valueList and rowList match lists of values and of rows of any length.
var (
	valueList = regexp.MustCompile(`\?(?:\s*,\s*\?)+`)
	rowList   = regexp.MustCompile(`\(\?\)(?:\s*,\s*\(\?\))+`)
)

// shapeOf returns a statement with ? for its values, so that statements that differ only in values have one shape.
func shapeOf(sql string) string {
	var shape strings.Builder
	for i := 0; i < len(sql); {
		switch c := sql[i]; {
		case c == '\'':
			escapes := i > 0 && (sql[i-1] == 'E' || sql[i-1] == 'e')
			i = endOfText(sql, i, escapes)
			shape.WriteByte('?')
		case '0' <= c && c <= '9' && (i == 0 || !isWord(sql[i-1])):
			for i < len(sql) && (isWord(sql[i]) || sql[i] == '.') {
				i++
			}
			shape.WriteByte('?')
		default:
			shape.WriteByte(c)
			i++
		}
	}
	return rowList.ReplaceAllString(valueList.ReplaceAllString(shape.String(), "?"), "(?)")
}

// endOfText returns the end of the text literal that begins at the quote.
func endOfText(sql string, quote int, escapes bool) int {
	for i := quote + 1; i < len(sql); i++ {
		switch {
		case sql[i] == '\\' && escapes:
			i++
		case sql[i] != '\'':
		case i+1 < len(sql) && sql[i+1] == '\'':
			i++
		default:
			return i + 1
		}
	}
	return len(sql)
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

var (
	verb   = regexp.MustCompile(`^\s*([A-Za-z]+)`)
	target = regexp.MustCompile(`\b(?:FROM|INTO|UPDATE) "?([a-z_]+)`)
)

// summaryOf returns the verb of a shape and its first table, such as "SELECT agents".
func summaryOf(shape string) string {
	summary := "SQL"
	if found := verb.FindStringSubmatch(shape); found != nil {
		summary = strings.ToUpper(found[1])
	}
	if found := target.FindStringSubmatch(shape); found != nil {
		summary += " " + found[1]
	}
	return summary
}
