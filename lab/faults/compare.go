package main

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// kinds are the kinds of operations. Each query selects the names of the operations in Postgres, and how often each
// occurs.
var kinds = []struct{ name, title, query string }{
	// A message counts with its reply.
	{"message", "messages, with their replies", `SELECT m.text, count(*) FROM simulation_chat_messages m
		JOIN simulation_chat_messages r ON r.company_id = m.company_id AND r.chat_id = m.chat_id
			AND r.sequence = m.sequence + 1
		WHERE m.role = 'user' AND r.role = 'assistant' AND r.text = 'Heard ' || m.text GROUP BY 1`},
	{"test", "tests", "SELECT name, count(*) FROM agent_tests GROUP BY 1"},
	// An execution counts when it is finished.
	{"execution", "executions, finished", `SELECT t.name, count(DISTINCT e.id) FROM agent_test_executions e
		JOIN agent_test_runs r ON r.company_id = e.company_id AND r.execution_id = e.id
			JOIN agent_tests t ON t.company_id = r.company_id AND t.id = r.test_id
		WHERE e.finished_at IS NOT NULL GROUP BY 1`},
	{"document", "documents, indexed", "SELECT name, count(*) FROM documents WHERE status = 'Ready' GROUP BY 1"},
	{"usage", "entries of usage", "SELECT idempotency_key, count(*) FROM usage_entries GROUP BY 1"},
	{"item", "items of a campaign", "SELECT phone_number, count(*) FROM campaign_items GROUP BY 1"},
	{"call", "calls of items", "SELECT item_id, count(*) FROM campaign_item_events WHERE type = 'LaunchCall' GROUP BY 1"},
	{"event", "messages, as followers saw them", ""},
	{"run", "verdicts of runs", "SELECT run_id, count(*) FROM verdicts GROUP BY 1"},
}

// unfinishedWork has queries that count the unfinished work. The program must finish it once the faults are over.
var unfinishedWork = []struct{ what, query string }{
	{"runs of tests that have not ended", "SELECT count(*) FROM agent_test_runs WHERE status IN ('Queued', 'Running')"},
	{"documents that are not indexed", "SELECT count(*) FROM documents WHERE status IN ('Pending', 'Indexing')"},
	{"jobs", "SELECT count(*) FROM jobs"},
}

// invariants has queries that count violations.
var invariants = []struct{ what, query string }{
	{"chats whose messages are not numbered without gaps", `SELECT count(*) FROM (SELECT 1 FROM simulation_chat_messages
		GROUP BY company_id, chat_id HAVING max(sequence) <> count(*)) AS wrong`},
	{"entries by which the days of usage differ from the ledger",
		`SELECT abs((SELECT coalesce(sum(entries), 0) FROM usage_days)
		- (SELECT count(*) FROM usage_entries))::bigint`},
	{"credits by which the days of usage differ from the ledger",
		`SELECT abs((SELECT coalesce(sum(micro_credits), 0) FROM usage_days)
		- (SELECT coalesce(sum(micro_credits), 0) FROM usage_entries))::bigint`},
	{"documents whose chunks are not what they say", `SELECT count(*) FROM documents d
		WHERE chunk_count <> (SELECT count(*) FROM chunks c WHERE c.company_id = d.company_id AND c.document_id = d.id)`},
	{"runs that Failed", "SELECT count(*) FROM agent_test_runs WHERE status = 'Failed'"},
}

// noteVerdicts makes Postgres record each verdict of a run in a table of the tool.
const noteVerdicts = `CREATE TABLE verdicts (run_id text, status text);
	CREATE FUNCTION note_verdict() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN INSERT INTO verdicts
		VALUES (NEW.id, NEW.status); RETURN NULL; END $$;
	CREATE TRIGGER verdict AFTER UPDATE ON agent_test_runs FOR EACH ROW
		WHEN (NEW.status NOT IN ('Queued', 'Running')) EXECUTE FUNCTION note_verdict()`

// settleTime bounds the time to finish the work once the faults are over.
const settleTime = 2 * time.Minute

// compare waits until the program has finished its work, and looks up each operation in Postgres.
func (b *ledger) compare(ctx context.Context, address string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := b.awaitWork(ctx, conn); err != nil {
		return err
	}
	if err := b.addRuns(ctx, conn); err != nil {
		return err
	}
	for _, kind := range kinds {
		if kind.query == "" {
			continue
		}
		recorded, err := counts(ctx, conn, kind.query)
		if err != nil {
			return fmt.Errorf("count %s: %w", kind.title, err)
		}
		for _, o := range b.operations {
			if o.kind == kind.name {
				o.recorded = recorded[o.name]
			}
		}
	}
	for _, invariant := range invariants {
		var n int
		if err := conn.QueryRow(ctx, invariant.query).Scan(&n); err != nil {
			return fmt.Errorf("count %s: %w", invariant.what, err)
		}
		if n > 0 {
			b.contradictions = append(b.contradictions, fmt.Sprintf("there are %d %s", n, invariant.what))
		}
	}
	return nil
}

// awaitWork waits until the program has finished its work.
func (b *ledger) awaitWork(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for _, s := range unfinishedWork {
		for left := 1; left > 0; {
			if err := conn.QueryRow(ctx, s.query).Scan(&left); err != nil {
				if ctx.Err() != nil {
					b.contradictions = append(b.contradictions, fmt.Sprintf("after %s there are still %s", settleTime, s.what))
					return nil
				}
				return err
			}
			if left > 0 && !pause(ctx, 200*time.Millisecond) {
				b.contradictions = append(b.contradictions, fmt.Sprintf("after %s there are still %d %s", settleTime, left, s.what))
				return nil
			}
		}
	}
	return nil
}

// addRuns adds each run of a test to the ledger as an acknowledged operation, which must have one verdict.
func (b *ledger) addRuns(ctx context.Context, conn *pgx.Conn) error {
	phases := map[string]*phase{}
	for _, o := range b.operations {
		if o.kind == "execution" {
			phases[o.name] = o.phase
		}
	}
	rows, err := conn.Query(ctx, "SELECT r.id, t.name FROM agent_test_runs r JOIN agent_tests t ON t.company_id = "+
		"r.company_id AND t.id = r.test_id")
	if err != nil {
		return err
	}
	var run, test string
	_, err = pgx.ForEachRow(rows, []any{&run, &test}, func() error {
		b.operations = append(b.operations, &operation{kind: "run", name: run, phase: phases[test], isAcked: true})
		return nil
	})
	return err
}

func counts(ctx context.Context, conn *pgx.Conn, query string) (map[string]int, error) {
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	byName := map[string]int{}
	var name string
	var n int
	_, err = pgx.ForEachRow(rows, []any{&name, &n}, func() error {
		byName[name] = n
		return nil
	})
	return byName, err
}

// pause waits. It returns false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
