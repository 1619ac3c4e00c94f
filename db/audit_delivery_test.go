package db_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// inbox collects delivered events by company.
type inbox struct {
	mu     sync.Mutex
	events map[string][]string
	most   int
}

func (b *inbox) take(_ context.Context, companyID string, events []*model.AuditEvent) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.most = max(b.most, len(events))
	for _, event := range events {
		b.events[companyID] = append(b.events[companyID], event.ID)
	}
	return nil
}

func newInbox() *inbox { return &inbox{events: map[string][]string{}} }

// eventIDs returns the ids of a company's events, oldest first.
func eventIDs(t *testing.T, address, companyID string) (ids []string) {
	t.Helper()
	rows, err := connect(t, address).Query(t.Context(), "SELECT id FROM audit_events WHERE company_id = $1 ORDER BY "+
		"created_at, id", companyID)
	require.NoError(t, err)
	for rows.Next() {
		var id string
		require.NoError(t, rows.Scan(&id))
		ids = append(ids, id)
	}
	require.NoError(t, rows.Err())
	return ids
}

func TestAuditEventsAreDeliveredInOrderAndOnce(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, db.Options{})
	want := map[string][]string{}
	for range 2 {
		_, companyID := newCompany(t, store)
		_, err := connect(t, address).
			Exec(t.Context(), `INSERT INTO audit_events (company_id, id, action, target_id, is_access_token, created_at)
			SELECT $1, format('audit_%s', n), 'CreateAgent', 'agent', false, now() - n % 50 * interval '1 minute'
				FROM generate_series(1, 250) AS n`, companyID)
		require.NoError(t, err)
		want[companyID] = eventIDs(t, address, companyID)
	}
	got := newInbox()
	// Several processes look for events at the same time.
	var processes sync.WaitGroup
	for range 4 {
		other := dbtest.Open(t, address, db.Options{})
		processes.Go(func() {
			for range 5 {
				if err := other.DeliverAuditEvents(context.Background(), got.take); err != nil {
					t.Error(err)
				}
			}
		})
	}
	processes.Wait()
	require.Equal(t, want, got.events)
	require.Equal(t, 100, got.most, "they are delivered together")

	// An event that is committed late is still delivered.
	for companyID := range want {
		_, err := connect(t, address).
			Exec(t.Context(), `INSERT INTO audit_events (company_id, id, action, target_id, is_access_token, created_at)
			VALUES ($1, 'audit_late', 'CreateAgent', 'agent', false, now() - interval '1 hour')`, companyID)
		require.NoError(t, err)
		want[companyID] = append(want[companyID], "audit_late")
	}
	require.NoError(t, store.DeliverAuditEvents(t.Context(), got.take))
	require.Equal(t, want, got.events)
}

func TestFailedDeliveriesAreRetriedLater(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := dbtest.Open(t, address, db.Options{})
	tenant, companyID := newCompany(t, store)
	newAgent(t, tenant)
	conn := connect(t, address)
	wait := func() (seconds float64, failures int) {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT extract(epoch FROM due_at - now())::float8, failures
			FROM audit_deliveries WHERE company_id = $1`, companyID).Scan(&seconds, &failures))
		return seconds, failures
	}
	fails := func(context.Context, string, []*model.AuditEvent) error { return errors.New("the receiver is away") }
	require.ErrorContains(t, store.DeliverAuditEvents(t.Context(), fails), "the receiver is away")
	_, failures := wait()
	require.Equal(t, 1, failures)
	before := 0.0
	for _, earlier := range []int{7, 9, 40} {
		_, err := conn.Exec(t.Context(), "UPDATE audit_deliveries SET due_at = now(), failures = $1", earlier)
		require.NoError(t, err)
		require.ErrorContains(t, store.DeliverAuditEvents(t.Context(), fails), "the receiver is away")
		seconds, failures := wait()
		require.Equal(t, earlier+1, failures)
		require.Greater(t, seconds, before)
		require.LessOrEqual(t, seconds, 900.0)
		require.NoError(t, store.DeliverAuditEvents(t.Context(), fails), "no delivery is due before that")
		before = seconds
	}
	_, err := conn.Exec(t.Context(), "UPDATE audit_deliveries SET due_at = now()")
	require.NoError(t, err)
	// Another company does not wait for this one.
	other, otherID := newCompany(t, store)
	newAgent(t, other)
	got := newInbox()
	require.NoError(t, store.DeliverAuditEvents(t.Context(), got.take))
	require.Equal(t, map[string][]string{companyID: eventIDs(t, address, companyID),
		otherID: eventIDs(t, address, otherID)}, got.events)
	_, failures = wait()
	require.Zero(t, failures)
}
