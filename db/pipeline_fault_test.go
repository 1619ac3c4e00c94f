package db_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/pg"
)

// A failure affects only its own request, not requests that any company sent before or after it.
func TestFailedPipelinedReadAffectsOnlyItsRequest(t *testing.T) {
	t.Parallel()
	store := openPipeline(t, dbtest.URL(t))
	divides := db.RawStatement("SELECT id, (1 / (length(name) - length(name)))::text FROM agents WHERE $1 <> '' AND $2 " +
		"<> ''")
	wide := db.RawStatement("SELECT id, name, language, prompt FROM agents WHERE $1 <> '' AND $2 <> ''")
	for name, c := range map[string]struct {
		fails pg.Statement
		key   string
	}{
		"a key that Postgres cannot hold": {everyName, "\x00"},
		"an error while it runs":          {divides, "any"},
	} {
		var tenants []*db.Tenant
		var ids []string
		for range 3 {
			tenant, _ := newCompany(t, store)
			tenants, ids = append(tenants, tenant), append(ids, newAgent(t, tenant).ID)
		}
		for _, tenant := range tenants { // so that the statements in between are already prepared
			_, err := namesOf(t.Context(), tenant, everyName, wide)
			require.NoError(t, err)
		}
		_, _ = namesOf(t.Context(), tenants[0], divides)
		release := held(t, tenants[0])
		ends := make([]chan error, 9)
		for i := range ends {
			tenant, isBad := tenants[i%3], i%3 == 1 || i == 6
			ends[i] = make(chan error, 1)
			go func() {
				var found []string
				read := pg.Read{Statement: everyName, Keys: []string{"any"}, IsOne: true}
				reads := []pg.Read{read, {Statement: wide, Keys: read.Keys, IsOne: true}, read}
				if isBad {
					reads[0] = pg.Read{Statement: c.fails, Keys: []string{c.key}, IsOne: true}
				}
				err := tenant.ReadShared(context.WithoutCancel(t.Context()), reads, func(_ int, values [][]byte) error {
					found = append(found, string(values[0]))
					return nil
				})
				if err == nil {
					assert.Equal(t, []string{ids[i%3], ids[i%3], ids[i%3]}, found, name)
				}
				ends[i] <- err
			}()
		}
		awaitWaiting(t, store, len(ends))
		release()
		for i, end := range ends {
			if err := <-end; i%3 == 1 || i == 6 {
				require.ErrorIs(t, err, pg.ErrUnshared, name)
			} else {
				require.NoError(t, err, name)
			}
		}
		again, err := namesOf(t.Context(), tenants[1], everyName, everyName)
		require.NoError(t, err, name)
		require.Equal(t, []string{ids[1], ids[1]}, again, name)
	}
}

// A statement that Postgres rejects does not affect the next request.
func TestInvalidStatementDoesNotBlockPipelines(t *testing.T) {
	t.Parallel()
	store := openPipeline(t, dbtest.URL(t))
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	_, err := namesOf(t.Context(), tenant, db.RawStatement("SELECT nothing FROM nowhere WHERE $1 = $2"))
	require.ErrorIs(t, err, pg.ErrUnshared)
	ids, err := namesOf(t.Context(), tenant, everyName)
	require.NoError(t, err)
	require.Equal(t, []string{agent.ID}, ids)
}

// An error or a panic of one receiver does not affect the others. After a panic, and for large results, the caller
// reads on a connection of its own.
func TestRejectedRowsAffectOnlyTheirReceiver(t *testing.T) {
	t.Parallel()
	store := openPipeline(t, dbtest.URL(t))
	other, _ := newCompany(t, store)
	agent := newAgent(t, other)
	errFull := errors.New("full")
	endless := db.RawStatement("SELECT repeat('x', 1000) FROM generate_series(1, 2000) WHERE $1 <> '' AND $2 <> ''")
	for name, receive := range map[string]func() error{
		"an error": func() error { return errFull },
		"a panic":  func() error { panic(errFull) },
		"too much": func() error { return nil },
	} {
		tenant, _ := newCompany(t, store)
		release := held(t, other)
		ended := make(chan error, 1)
		var beside sync.WaitGroup
		go func() {
			ended <- tenant.ReadShared(t.Context(), []pg.Read{{Statement: endless, Keys: []string{"any"}, IsOne: true}},
				func(int, [][]byte) error { return receive() })
		}()
		beside.Go(func() {
			ids, err := namesOf(t.Context(), other, everyName)
			assert.True(t, err == nil && len(ids) == 1 && ids[0] == agent.ID || errors.Is(err, pg.ErrUnshared), "%s: %v %v",
				name, ids, err)
		})
		awaitWaiting(t, store, 2)
		release()
		want := pg.ErrUnshared
		if name == "an error" {
			want = errFull
		}
		require.Equal(t, want, <-ended, name)
		beside.Wait()
		ids, err := namesOf(t.Context(), other, everyName)
		require.NoError(t, err, name)
		require.Equal(t, []string{agent.ID}, ids, name)
	}
}

// Requests succeed although their connections were closed or cut, or have outdated statements.
func TestPipelinedReadsSurviveBrokenConnections(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	behind, cut, _ := proxied(t, address)
	store := openPipeline(t, behind)
	conn := connect(t, address)
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	languages := db.RawStatement("SELECT id, language FROM agents WHERE $1 <> '' AND $2 <> ''")
	read := func(why string) {
		for range 20 {
			ids, err := namesOf(t.Context(), tenant, languages)
			if errors.Is(err, pg.ErrUnshared) {
				continue
			}
			require.NoError(t, err, why)
			require.Equal(t, []string{agent.ID}, ids, why)
			return
		}
		require.Fail(t, "the pipeline refused every attempt", why)
	}
	read("at first")
	_, err := conn.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = "+
		"current_database() AND pid <> pg_backend_pid()")
	require.NoError(t, err)
	read("Postgres closed the connections")
	cut()
	read("the connections are cut")
	_, err = conn.Exec(t.Context(), "DROP VIEW company.agents; ALTER TABLE agents ALTER COLUMN language TYPE varchar(40)")
	require.NoError(t, err)
	read("the statements have another result")
}
