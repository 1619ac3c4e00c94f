package db_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func digestOf(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// claimRequest claims a request that has not been executed.
func claimRequest(t *testing.T, tenant *db.Tenant, id, fingerprint string) *db.RequestClaim {
	t.Helper()
	kept, end, err := tenant.ClaimRequest(t.Context(), digestOf(id), digestOf(fingerprint))
	require.NoError(t, err)
	require.Nil(t, kept)
	return end
}

// refused requires that a request is refused with the code, and returns the reason.
func refused(t *testing.T, tenant *db.Tenant, id, fingerprint string, code model.Code) string {
	t.Helper()
	kept, end, err := tenant.ClaimRequest(t.Context(), digestOf(id), digestOf(fingerprint))
	require.Nil(t, kept)
	require.Nil(t, end)
	return fails(t, err, code)
}

func TestRequestRunsOnce(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, _ := fresh(t)
	tenant, _ := newCompany(t, store)
	other, _ := newCompany(t, store)
	for name, answer := range map[string]*model.StoredResponse{
		"text": {Status: 200, Headers: map[string]string{"Content-Type": "application/json",
			"Location": "/Dataset/1?a='b'"}, Body: []byte(`{"a":"\u0000 \\ ' ? é"}`)},
		"no body":  {Status: 204, Headers: map[string]string{}, Body: []byte{}},
		"any byte": {Status: 422, Headers: map[string]string{"A": "b"}, Body: []byte{0, 255, 10, '\'', '\\', '?'}},
	} {
		end := claimRequest(t, tenant, name, "body")
		require.Contains(t, refused(t, tenant, name, "body", model.Conflict), "Idempotency-Key")
		refused(t, tenant, name, "another body", model.Unprocessable)
		require.NoError(t, end.End(ctx, answer))
		for range 2 {
			kept, end, err := tenant.ClaimRequest(ctx, digestOf(name), digestOf("body"))
			require.NoError(t, err)
			require.Nil(t, end)
			require.NotNil(t, kept.Body)
			same(t, answer, kept)
		}
		refused(t, tenant, name, "another body", model.Unprocessable)
		require.NoError(t, claimRequest(t, other, name, "another body").
			End(ctx, &model.StoredResponse{Status: 200, Headers: map[string]string{}, Body: []byte("other")}),
			"another company does not see it")
		kept, _, err := tenant.ClaimRequest(ctx, digestOf(name), digestOf("body"))
		require.NoError(t, err)
		same(t, answer, kept)
	}
}

func TestRequestWithoutSavedResponseCanRunAgain(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	for range 3 {
		require.NoError(t, claimRequest(t, tenant, "key", "body").End(t.Context(), nil))
	}
	require.NoError(t, claimRequest(t, tenant, "key", "another body").End(t.Context(), nil))
}

func TestResponseWithoutItsBodyIsNotRepeated(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	require.NoError(t, claimRequest(t, tenant, "key", "body").
		End(t.Context(), &model.StoredResponse{Status: 200, Headers: map[string]string{}}))
	require.Contains(t, refused(t, tenant, "key", "body", model.Unprocessable), "was executed")
}

func TestConcurrentRequestsRunOnce(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, company := newCompany(t, store)
	replica := dbtest.Reopen(t, store).Tenant(company)
	for range 20 {
		var winners atomic.Int32
		var winner *db.RequestClaim
		errs := together(16, func(i int) error {
			_, end, err := []*db.Tenant{tenant, replica}[i%2].ClaimRequest(t.Context(), digestOf("key"), digestOf("body"))
			if end != nil {
				winners.Add(1)
				winner = end
			}
			return err
		})
		require.EqualValues(t, 1, winners.Load())
		require.Len(t, errs, 15)
		for _, err := range errs {
			fails(t, err, model.Conflict)
		}
		require.NoError(t, winner.End(t.Context(), &model.StoredResponse{Status: 200, Headers: map[string]string{},
			Body: []byte("x")}))
		_, err := conn.Exec(t.Context(), "UPDATE idempotent_requests SET until = now() - interval '1 second'")
		require.NoError(t, err)
	}
}

func TestClaimOfDeadProcessExpires(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	dead := claimRequest(t, tenant, "key", "body")
	_, err := conn.Exec(ctx, "UPDATE idempotent_requests SET until = now() - interval '1 second'")
	require.NoError(t, err)
	end := claimRequest(t, tenant, "key", "another body")
	late := &model.StoredResponse{Status: 200, Headers: map[string]string{}, Body: []byte("late")}
	require.ErrorContains(t, dead.End(ctx, late), "expired")
	refused(t, tenant, "key", "another body", model.Conflict)
	require.NoError(t, end.End(ctx, &model.StoredResponse{Status: 200, Headers: map[string]string{},
		Body: []byte("right")}))
	kept, _, err := tenant.ClaimRequest(ctx, digestOf("key"), digestOf("another body"))
	require.NoError(t, err)
	require.Equal(t, "right", string(kept.Body))
}

func TestClaimLastsAsLongAsItsRequest(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	end := claimRequest(t, tenant, "key", "body")
	isHeld := func() (held bool) {
		require.NoError(t, conn.QueryRow(ctx, "SELECT until > now() + interval '5 seconds' FROM idempotent_requests").
			Scan(&held))
		return held
	}
	require.True(t, isHeld())
	_, err := conn.Exec(ctx, "UPDATE idempotent_requests SET until = now() + interval '5 seconds'")
	require.NoError(t, err)
	require.Eventually(t, isHeld, waitFor, tick)
	require.NoError(t, end.End(ctx, nil))
	var rows int
	require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM idempotent_requests").Scan(&rows))
	require.Zero(t, rows)
}

func TestResponsesAreSavedForADay(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	answer := &model.StoredResponse{Status: 200, Headers: map[string]string{}, Body: []byte("x")}
	for _, key := range []string{"old", "new"} {
		require.NoError(t, claimRequest(t, tenant, key, "body").End(ctx, answer))
	}
	var isDay bool
	require.NoError(t, conn.QueryRow(ctx,
		`SELECT bool_and(until BETWEEN now() + interval '23 hours 59 minutes' AND now() + interval '24 hours')
		FROM idempotent_requests`).Scan(&isDay))
	require.True(t, isDay)
	_, err := conn.Exec(ctx, "UPDATE idempotent_requests SET until = now() - interval '1 second' WHERE id = $1",
		digestOf("old"))
	require.NoError(t, err)
	require.NoError(t, claimRequest(t, tenant, "old", "another body").End(ctx, answer),
		"an expired response does not count, even before it is removed")
	_, err = conn.Exec(ctx, "UPDATE idempotent_requests SET until = now() - interval '1 second' WHERE id = $1",
		digestOf("old"))
	require.NoError(t, err)

	require.NoError(t, store.Work(ctx, 1, db.Workers{}))
	t.Cleanup(func() { require.NoError(t, store.StopWork(context.Background())) })
	count := func() (rows int) {
		require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM idempotent_requests").Scan(&rows))
		return rows
	}
	require.Eventually(t, func() bool { return count() == 1 }, waitFor, tick)
	_, end, err := tenant.ClaimRequest(ctx, digestOf("new"), digestOf("body"))
	require.NoError(t, err)
	require.Nil(t, end)
}

func TestClaimedRequestTakesTwoStatements(t *testing.T) {
	t.Parallel()
	counted := &statements{}
	tenant, _ := newCompany(t, dbtest.Open(t, dbtest.URL(t), db.Options{Tracer: counted}))
	ctx := counted.in(t.Context())
	for range 2 {
		_, end, err := tenant.ClaimRequest(ctx, digestOf("key"), digestOf("body"))
		require.NoError(t, err)
		if end != nil {
			require.NoError(t, end.End(ctx, &model.StoredResponse{Status: 200, Headers: map[string]string{},
				Body: bytes.Repeat([]byte("x"), 1<<20)}))
		}
		require.EqualValues(t, 2, counted.n.Swap(0))
	}
}

func TestRequestClaimNeedsTheDatabase(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	_, err := conn.Exec(t.Context(), "DROP TABLE idempotent_requests")
	require.NoError(t, err)
	kept, end, err := tenant.ClaimRequest(t.Context(), digestOf("key"), digestOf("body"))
	require.Error(t, err)
	var known *model.Error
	require.False(t, errors.As(err, &known), "%v", err)
	require.Nil(t, kept)
	require.Nil(t, end)
}

// After its mutation is committed, a request is never executed again, even if its response was not saved.
func TestExecutedRequestIsNotRepeated(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	create := func(claim *db.RequestClaim, fault error) error {
		return claim.CarryOut(ctx, func(ctx context.Context) error {
			_, err := db.TenantFromContext(ctx).CreateDataset(ctx, model.CreateDatasetInput{Name: "D"})
			return errors.Join(err, fault)
		})
	}
	count := func() (rows int) {
		require.NoError(t, conn.QueryRow(ctx, "SELECT count(*) FROM datasets").Scan(&rows))
		return rows
	}
	require.Nil(t, db.TenantFromContext(ctx))
	failed := claimRequest(t, tenant, "key", "body")
	require.ErrorContains(t, create(failed, errors.New("fault")), "fault")
	require.NoError(t, failed.End(ctx, nil))
	require.Zero(t, count())

	slow := claimRequest(t, tenant, "key", "body")
	_, err := conn.Exec(ctx, "UPDATE idempotent_requests SET until = now() - interval '1 second'")
	require.NoError(t, err)
	claim := claimRequest(t, tenant, "key", "body")
	fails(t, create(slow, nil), model.Conflict)
	require.ErrorContains(t, slow.End(ctx, nil), "expired")
	require.Zero(t, count(), "its transaction is rolled back")

	require.NoError(t, create(claim, nil))
	require.Equal(t, 1, count())
	require.Contains(t, refused(t, tenant, "key", "body", model.Conflict), "is in progress")
	_, err = conn.Exec(ctx, "UPDATE idempotent_requests SET carried_out_at = now() - interval '11 seconds'")
	require.NoError(t, err)
	require.Contains(t, refused(t, tenant, "key", "body", model.Unprocessable), "its response was lost")
	require.NoError(t, claim.End(ctx, nil))
	require.Contains(t, refused(t, tenant, "key", "body", model.Unprocessable), "its response was lost")
}
