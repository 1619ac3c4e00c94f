package db_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// everyName has no company condition: it finds all agents that the connection may see.
var everyName = db.RawStatement("SELECT id, name FROM agents WHERE $1 <> '' AND $2 <> ''")

// namesOf runs statements together with those of other callers, and returns the ids that they find.
func namesOf(ctx context.Context, tenant *db.Tenant, statements ...pg.Statement) (ids []string, err error) {
	var reads []pg.Read
	for _, statement := range statements {
		reads = append(reads, pg.Read{Statement: statement, Keys: []string{"any"}, IsOne: true})
	}
	err = tenant.ReadShared(ctx, reads, func(_ int, values [][]byte) error {
		ids = append(ids, string(values[0]))
		return nil
	})
	return ids, err
}

// openPipeline opens a store with one pipeline, for which requests wait a long time.
func openPipeline(t *testing.T, address string) *db.Store {
	t.Helper()
	dbtest.SkipIfPooled(t)
	dbtest.SkipIfSharded(t)
	store := dbtest.Open(t, address, db.Options{MaxConnections: 4, Tracer: dbtest.Unchecked{}})
	db.SetPipelines(store, 1, waitFor)
	return store
}

// held keeps the only pipeline busy, with rows of the company, until release is called.
func held(t *testing.T, tenant *db.Tenant) (release func()) {
	t.Helper()
	started, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		first := true
		done <- tenant.ReadShared(context.WithoutCancel(t.Context()),
			[]pg.Read{{Statement: everyName, Keys: []string{"any"}, IsOne: true}}, func(int, [][]byte) error {
				if first {
					close(started)
					<-goOn
				}
				first = false
				return nil
			})
	}()
	select {
	case <-started:
	case err := <-done:
		require.Fail(t, "nothing is held", "%v", err)
	}
	return func() {
		close(goOn)
		require.NoError(t, <-done)
	}
}

func awaitWaiting(t *testing.T, store *db.Store, many int) {
	t.Helper()
	require.Eventually(t, func() bool { return db.Pipelined(store) == many }, waitFor, time.Millisecond)
}

// In shared reads, each company sees only its own rows, even with statements that have no company condition.
func TestPipelinedReadsSeparateCompanies(t *testing.T) {
	t.Parallel()
	dbtest.SkipIfPooled(t)
	dbtest.SkipIfSharded(t)
	counted := &dbtest.SharedReads{}
	store := dbtest.Open(t, dbtest.URL(t), db.Options{MaxConnections: 8, Tracer: counted})
	db.SetPipelines(store, 2, waitFor)
	const companies, rounds = 12, 40
	var all sync.WaitGroup
	for i := range companies {
		tenant, _ := newCompany(t, store)
		want := map[string]bool{}
		for range i + 1 {
			want[newAgent(t, tenant).ID] = true
		}
		for range 2 {
			all.Go(func() {
				for n := range rounds {
					var ids []string
					var err error
					if n%4 == 3 { // on the same connections
						var found []model.Row
						found, err = findPrepared(t.Context(), tenant, db.AgentRows, keysOf(want), "id")
						for _, row := range found {
							ids = append(ids, row.(*model.Agent).ID)
						}
					} else {
						ids, err = namesOf(t.Context(), tenant, everyName)
					}
					if !assert.NoError(t, err) || !assert.Len(t, ids, len(want)) {
						return
					}
					for _, id := range ids {
						assert.True(t, want[id])
					}
				}
			})
		}
	}
	all.Wait()
	require.Positive(t, counted.Shared())
}

func keysOf(set map[string]bool) (keys []string) {
	for key := range set {
		keys = append(keys, key)
	}
	return keys
}

// If a pipeline waits for a lock, new requests wait for it only briefly. Then they open another pipeline.
func TestRequestsWaitBrieflyForABlockedPipeline(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := openPipeline(t, address)
	stuck, _ := newCompany(t, store)
	other, _ := newCompany(t, store)
	mine, theirs := newAgent(t, stuck), newAgent(t, other)
	lock := connect(t, address)
	_, err := lock.Exec(t.Context(), "BEGIN; LOCK TABLE agents")
	require.NoError(t, err)
	waits := make(chan error, 1)
	go func() {
		_, err := namesOf(context.WithoutCancel(t.Context()), stuck, everyName)
		waits <- err
	}()
	require.Eventually(t, func() bool { return db.ActivePipelines(store) == 1 }, waitFor, time.Millisecond)
	db.SetPipelines(store, 1, 20*time.Millisecond)
	companies := db.RawStatement("SELECT id FROM companies WHERE $1 <> '' AND $2 <> ''")
	_, err = namesOf(t.Context(), other, companies)
	require.ErrorIs(t, err, pg.ErrUnshared)
	db.SetPipelines(store, 2, waitFor)
	require.Eventually(t, func() bool { // as soon as the first pipeline has received nothing for a while
		ids, err := namesOf(t.Context(), other, companies)
		return err == nil && len(ids) == 1
	}, waitFor, time.Millisecond)
	found, err := findPrepared(t.Context(), other, db.ToolRows, []string{theirs.ID})
	require.NoError(t, err)
	require.Empty(t, found)
	_, err = lock.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	if err := <-waits; err != nil {
		require.ErrorIs(t, err, pg.ErrUnshared)
	}
	rows, err := findPrepared(t.Context(), stuck, db.AgentRows, []string{mine.ID})
	require.NoError(t, err)
	require.Len(t, rows, 1)
}

// A cancelled request is not sent. If it was already sent, it receives none of its rows.
func TestCancelledPipelinedReadReceivesNoRows(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := openPipeline(t, address)
	tenant, _ := newCompany(t, store)
	other, _ := newCompany(t, store)
	newAgent(t, tenant)
	newAgent(t, other)
	lock := connect(t, address)
	for _, isSent := range []bool{false, true} {
		release := held(t, tenant)
		ctx, cancel := context.WithCancel(t.Context())
		given, slow := make(chan error, 1), make(chan error, 1)
		waiting := 0
		if isSent {
			// This request is sent first and waits for a lock. Therefore, the rows of the next one cannot arrive.
			_, err := lock.Exec(t.Context(), "BEGIN; LOCK TABLE tools")
			require.NoError(t, err)
			go func() {
				_, err := namesOf(context.WithoutCancel(t.Context()), other,
					db.RawStatement("SELECT id FROM tools WHERE $1 <> '' AND $2 <> ''"))
				slow <- err
			}()
			waiting++
			awaitWaiting(t, store, waiting)
		}
		var received atomic.Int64
		go func() {
			given <- tenant.ReadShared(ctx, []pg.Read{{Statement: everyName, Keys: []string{"any"}, IsOne: true}},
				func(int, [][]byte) error {
					received.Add(1)
					return nil
				})
		}()
		waiting++
		awaitWaiting(t, store, waiting)
		if isSent {
			release()
			awaitWaiting(t, store, 0)
		}
		cancel()
		require.ErrorIs(t, <-given, context.Canceled)
		if isSent {
			_, err := lock.Exec(t.Context(), "ROLLBACK")
			require.NoError(t, err)
			require.NoError(t, <-slow)
		} else {
			release()
		}
		_, err := namesOf(t.Context(), tenant, everyName)
		require.NoError(t, err, "a cancelled request is no failure of its company")
		require.Zero(t, received.Load())
		require.Zero(t, db.Pipelined(store))
	}
}

// Every statement of a request sends the keys, before any received bytes can be counted. So reads with long keys do not
// use a pipeline.
func TestLongKeysAreNotPipelined(t *testing.T) {
	t.Parallel()
	store := openPipeline(t, dbtest.URL(t))
	tenant, _ := newCompany(t, store)
	for length, want := range map[int]error{100: nil, 20_000: pg.ErrUnshared} {
		err := tenant.ReadShared(t.Context(),
			[]pg.Read{{Statement: everyName, Keys: []string{strings.Repeat("k", length)}, IsOne: true}},
			func(int, [][]byte) error { return nil })
		require.ErrorIs(t, err, want)
	}
}

// While others wait, a company gets only a share of a pipeline. So its many requests delay those of another company
// only briefly.
func TestOneCompanyDoesNotFillPipelines(t *testing.T) {
	t.Parallel()
	store := openPipeline(t, dbtest.URL(t))
	busy, _ := newCompany(t, store)
	other, _ := newCompany(t, store)
	newAgent(t, busy)
	newAgent(t, other)
	release := held(t, busy)
	const many = 60
	var before atomic.Int64
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			_, err := namesOf(t.Context(), busy, everyName)
			assert.NoError(t, err)
		})
	}
	awaitWaiting(t, store, many)
	all.Go(func() {
		err := other.ReadShared(t.Context(), []pg.Read{{Statement: everyName, Keys: []string{"any"}, IsOne: true}},
			func(int, [][]byte) error {
				before.Store(int64(many - db.Pipelined(store)))
				return nil
			})
		assert.NoError(t, err)
	})
	awaitWaiting(t, store, many+1)
	release()
	all.Wait()
	require.LessOrEqual(t, before.Load(), int64(20), "a pipeline and the share of the company")
	require.Positive(t, before.Load())
}

// A quarter of the connections may be pipelines. The rest are for all other reads.
func TestPipelinesUseAQuarterOfTheConnections(t *testing.T) {
	t.Parallel()
	dbtest.SkipIfPooled(t)
	dbtest.SkipIfSharded(t)
	address := dbtest.URL(t)
	for connections, most := range map[int32]int{1: 0, 3: 0, 4: 1, 20: 5} {
		store := dbtest.Open(t, address, db.Options{MaxConnections: connections, Tracer: dbtest.Unchecked{}})
		require.Equal(t, most, db.MaxPipelines(store), connections)
		if most == 0 {
			tenant, _ := newCompany(t, store)
			_, err := namesOf(t.Context(), tenant, everyName)
			require.ErrorIs(t, err, pg.ErrUnshared)
		}
	}
}
