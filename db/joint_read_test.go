package db_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// everyName forgets the company: it finds the agents of all that the connection may see.
var everyName = db.RawStatement("SELECT id, name FROM agents WHERE $1 <> '' AND $2 <> ''")

// namesOf reads the ids that a statement finds together with what others read.
func namesOf(ctx context.Context, tenant *db.Tenant, statements ...db.Statement) (ids []string, err error) {
	if !tenant.MayReadJointly() {
		return nil, db.ErrAlone
	}
	var reads []db.Read
	for _, statement := range statements {
		reads = append(reads, db.Read{Statement: statement, Keys: []string{"any"}, IsOne: true})
	}
	err = tenant.ReadJointly(ctx, reads, func(_ int, values [][]byte) error {
		ids = append(ids, string(values[0]))
		return nil
	})
	return ids, err
}

// openJoint opens a store that makes one flight at a time, and whose flights and requests are patient.
func openJoint(t *testing.T, address string) *db.Store {
	t.Helper()
	dbtest.Direct(t)
	dbtest.Unsharded(t)
	store := dbtest.Open(t, address, db.Options{MaxConnections: 4, Tracer: dbtest.Unchecked{}})
	db.SetJoint(store, 1, waitFor, waitFor)
	return store
}

// held keeps the only flight under way until release is called, while the company waits for rows that it has.
func held(t *testing.T, tenant *db.Tenant) (release func()) {
	t.Helper()
	started, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		first := true
		done <- tenant.ReadJointly(context.WithoutCancel(t.Context()), []db.Read{{Statement: everyName, Keys: []string{"any"}, IsOne: true}}, func(int, [][]byte) error {
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
	require.Eventually(t, func() bool { return db.JointWaiting(store) == many }, waitFor, time.Millisecond)
}

// shared counts the flights that several requests were on.
type shared struct {
	dbtest.Unchecked
	mu       sync.Mutex
	underWay map[*pgx.Conn]int
	flights  int
}

type connOf struct{}

func (s *shared) TraceBatchStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.underWay[conn]++; s.underWay[conn] == 2 {
		s.flights++
	}
	return context.WithValue(ctx, connOf{}, conn)
}

func (*shared) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (s *shared) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay[ctx.Value(connOf{}).(*pgx.Conn)]--
}

// Whatever is read together, each company sees its own rows, even by statements that forget the company.
func TestJointReadsHoldCompaniesApart(t *testing.T) {
	t.Parallel()
	dbtest.Direct(t)
	dbtest.Unsharded(t)
	counted := &shared{underWay: map[*pgx.Conn]int{}}
	store := dbtest.Open(t, dbtest.URL(t), db.Options{MaxConnections: 8, Tracer: counted})
	db.SetJoint(store, 2, waitFor, waitFor)
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
						found, err = tenant.Find(t.Context(), db.AgentRows, keysOf(want), "id")
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
	require.Positive(t, counted.flights)
}

func keysOf(set map[string]bool) (keys []string) {
	for key := range set {
		keys = append(keys, key)
	}
	return keys
}

// What fails is read alone, and so is what is behind it. The company then reads alone for a while, and others as before.
func TestJointReadsThatFailGoAlone(t *testing.T) {
	t.Parallel()
	store := openJoint(t, dbtest.URL(t))
	for name, c := range map[string]struct {
		fails db.Statement
		key   string
		isAll bool
	}{
		"a key that Postgres cannot hold":   {everyName, "\x00", false},
		"an error while it runs":            {db.RawStatement("SELECT id, (1 / (length(name) - length(name)))::text FROM agents WHERE $1 <> '' AND $2 <> ''"), "any", false},
		"a statement that Postgres rejects": {db.RawStatement("SELECT nothing FROM nowhere WHERE $1 = $2"), "any", true},
	} {
		// The connection is bound to the first company, and others come by their ids, which grow.
		var tenants []*db.Tenant
		var ids []string
		for range 3 {
			tenant, _ := newCompany(t, store)
			tenants, ids = append(tenants, tenant), append(ids, newAgent(t, tenant).ID)
		}
		first, bad, last := tenants[0], tenants[1], tenants[2]
		release := held(t, first)
		ends := make([]chan error, 3)
		for i, tenant := range tenants {
			ends[i] = make(chan error, 1)
			statement, key := everyName, "any"
			if tenant == bad {
				statement, key = c.fails, c.key
			}
			go func() {
				var found []string
				err := tenant.ReadJointly(context.WithoutCancel(t.Context()), []db.Read{{Statement: statement, Keys: []string{key}, IsOne: true}}, func(_ int, values [][]byte) error {
					found = append(found, string(values[0]))
					return nil
				})
				if err == nil {
					assert.Equal(t, []string{ids[i]}, found, name)
				}
				ends[i] <- err
			}()
		}
		awaitWaiting(t, store, 3)
		release()
		err := <-ends[0]
		require.Equal(t, c.isAll, err != nil, "%s: %v", name, err)
		require.ErrorIs(t, <-ends[1], db.ErrAlone, name)
		require.ErrorIs(t, <-ends[2], db.ErrAlone, name)
		require.False(t, bad.MayReadJointly(), name)
		// Whose statement it is that Postgres rejects is not known.
		require.Equal(t, !c.isAll, first.MayReadJointly(), name)
		require.Equal(t, !c.isAll, last.MayReadJointly(), name)

		fresh, _ := newCompany(t, store)
		agent := newAgent(t, fresh)
		again, err := namesOf(t.Context(), fresh, everyName, everyName)
		require.NoError(t, err, name)
		require.Equal(t, []string{agent.ID, agent.ID}, again, name)
		found, err := bad.Agents(t.Context(), model.PageArgs{First: 5}, nil)
		require.NoError(t, err, name)
		require.Len(t, found.Nodes, 1, name)
	}
}

// Of a company that was set apart, nobody flies who waited already.
func TestJointReadsOfACompanyThatWasSetApart(t *testing.T) {
	t.Parallel()
	store := openJoint(t, dbtest.URL(t))
	bad, _ := newCompany(t, store)
	good, _ := newCompany(t, store)
	newAgent(t, good)
	release := held(t, good)
	const many = 30
	var all sync.WaitGroup
	var failed atomic.Int64
	for range many {
		all.Go(func() {
			err := bad.ReadJointly(t.Context(), []db.Read{{Statement: everyName, Keys: []string{"\x00"}, IsOne: true}}, func(int, [][]byte) error { return nil })
			assert.ErrorIs(t, err, db.ErrAlone)
		})
		all.Go(func() {
			if _, err := namesOf(t.Context(), good, everyName); err != nil {
				failed.Add(1)
				assert.ErrorIs(t, err, db.ErrAlone)
			}
		})
	}
	awaitWaiting(t, store, 2*many)
	release()
	all.Wait()
	require.LessOrEqual(t, failed.Load(), int64(15), "of one flight")
}

// An error of whoever receives rows is theirs alone, and so is a panic. Rows that are too many for a flight are read alone.
func TestJointReadsWhoseRowsAreNotWanted(t *testing.T) {
	t.Parallel()
	store := openJoint(t, dbtest.URL(t))
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
		ended := make(chan any, 1)
		var beside sync.WaitGroup
		go func() {
			defer func() {
				if panicked := recover(); panicked != nil {
					ended <- panicked
				}
			}()
			ended <- tenant.ReadJointly(t.Context(), []db.Read{{Statement: endless, Keys: []string{"any"}, IsOne: true}}, func(int, [][]byte) error { return receive() })
		}()
		beside.Go(func() {
			ids, err := namesOf(t.Context(), other, everyName)
			assert.True(t, err == nil && len(ids) == 1 && ids[0] == agent.ID || errors.Is(err, db.ErrAlone), "%s: %v %v", name, ids, err)
		})
		awaitWaiting(t, store, 2)
		release()
		want := errFull
		if name == "too much" {
			want = db.ErrAlone
		}
		require.Equal(t, want, <-ended, name)
		beside.Wait()
		require.False(t, tenant.MayReadJointly(), name)
		ids, err := namesOf(t.Context(), other, everyName)
		require.NoError(t, err, name)
		require.Equal(t, []string{agent.ID}, ids, name)
	}
}

// Who waits too long reads alone, be it for a flight or for one that waits for another's rows. Nobody waits for a table that a migration
// has locked, unless they read it.
func TestJointReadsWaitOnlySoLong(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := openJoint(t, address)
	stuck, _ := newCompany(t, store)
	other, _ := newCompany(t, store)
	mine, theirs := newAgent(t, stuck), newAgent(t, other)
	_, err := namesOf(t.Context(), stuck, everyName)
	require.NoError(t, err)
	db.SetJoint(store, 1, 20*time.Millisecond, 100*time.Millisecond)
	lock := connect(t, address)
	_, err = lock.Exec(t.Context(), "BEGIN; LOCK TABLE agents")
	require.NoError(t, err)
	companies := db.RawStatement("SELECT id FROM companies WHERE $1 <> '' AND $2 <> ''")
	require.Eventually(t, func() bool { // the first time may be the machine's fault
		waits := make(chan error, 1)
		go func() {
			_, err := namesOf(t.Context(), stuck, everyName)
			waits <- err
		}()
		_, err := namesOf(t.Context(), other, companies)
		assert.True(t, err == nil || errors.Is(err, db.ErrAlone), "%v", err)
		assert.ErrorIs(t, <-waits, db.ErrAlone)
		return !stuck.MayReadJointly()
	}, waitFor, time.Millisecond)
	found, err := other.Find(t.Context(), db.ToolRows, []string{theirs.ID})
	require.NoError(t, err)
	require.Empty(t, found)
	_, err = lock.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	rows, err := stuck.Find(t.Context(), db.AgentRows, []string{mine.ID})
	require.NoError(t, err)
	require.Len(t, rows, 1)
	db.SetJoint(store, 1, waitFor, waitFor)
	fresh, _ := newCompany(t, store)
	_, err = namesOf(t.Context(), fresh, everyName)
	require.NoError(t, err)
}

// Who gives up is left out of a flight, or gets none of its rows any more if these come later.
func TestJointReadsThatAreGivenUp(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	store := openJoint(t, address)
	tenant, _ := newCompany(t, store)
	other, _ := newCompany(t, store)
	newAgent(t, tenant)
	newAgent(t, other)
	lock := connect(t, address)
	for _, isAboard := range []bool{false, true} {
		release := held(t, tenant)
		ctx, cancel := context.WithCancel(t.Context())
		given, slow := make(chan error, 1), make(chan error, 1)
		var received atomic.Int64
		go func() {
			given <- tenant.ReadJointly(ctx, []db.Read{{Statement: everyName, Keys: []string{"any"}, IsOne: true}}, func(int, [][]byte) error {
				received.Add(1)
				return nil
			})
		}()
		awaitWaiting(t, store, 1)
		if isAboard {
			// It flies with a company that waits for a lock, and whose rows come first or last.
			_, err := lock.Exec(t.Context(), "BEGIN; LOCK TABLE tools")
			require.NoError(t, err)
			go func() {
				_, err := namesOf(context.WithoutCancel(t.Context()), other, db.RawStatement("SELECT id FROM tools WHERE $1 <> '' AND $2 <> ''"))
				slow <- err
			}()
			awaitWaiting(t, store, 2)
			release()
			awaitWaiting(t, store, 0)
		}
		cancel()
		require.ErrorIs(t, <-given, context.Canceled)
		if isAboard {
			_, err := lock.Exec(t.Context(), "ROLLBACK")
			require.NoError(t, err)
			require.NoError(t, <-slow)
		} else {
			release()
		}
		_, err := namesOf(t.Context(), tenant, everyName)
		require.NoError(t, err, "a request that gives up is not a company that fails")
		require.Zero(t, received.Load())
		require.Zero(t, db.JointWaiting(store))
	}
}

// Keys are sent, and sent again for each read, before anything is received that could be counted.
func TestLongKeysAreReadAlone(t *testing.T) {
	t.Parallel()
	store := openJoint(t, dbtest.URL(t))
	tenant, _ := newCompany(t, store)
	for length, want := range map[int]error{100: nil, 20_000: db.ErrAlone} {
		err := tenant.ReadJointly(t.Context(), []db.Read{{Statement: everyName, Keys: []string{strings.Repeat("k", length)}, IsOne: true}}, func(int, [][]byte) error { return nil })
		require.ErrorIs(t, err, want)
	}
}

// One company has a share of a flight while others wait: however many requests it sends, those of another are in the next one.
func TestOneCompanyDoesNotFillFlights(t *testing.T) {
	t.Parallel()
	store := openJoint(t, dbtest.URL(t))
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
		err := other.ReadJointly(t.Context(), []db.Read{{Statement: everyName, Keys: []string{"any"}, IsOne: true}}, func(int, [][]byte) error {
			before.Store(int64(many - db.JointWaiting(store)))
			return nil
		})
		assert.NoError(t, err)
	})
	awaitWaiting(t, store, many+1)
	release()
	all.Wait()
	require.LessOrEqual(t, before.Load(), int64(16))
	require.Positive(t, before.Load())
}

// Connections that the server has ended, that are cut, or whose statements have changed are nobody's error.
func TestJointReadsOnConnectionsThatAreOfNoUse(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	behind, cut, _ := proxied(t, address)
	store := openJoint(t, behind)
	conn := connect(t, address)
	tenant, _ := newCompany(t, store)
	agent := newAgent(t, tenant)
	languages := db.RawStatement("SELECT id, language FROM agents WHERE $1 <> '' AND $2 <> ''")
	read := func(why string) {
		for range 20 {
			ids, err := namesOf(t.Context(), tenant, languages)
			if errors.Is(err, db.ErrAlone) {
				continue
			}
			require.NoError(t, err, why)
			require.Equal(t, []string{agent.ID}, ids, why)
			return
		}
		require.Fail(t, "alone for ever", why)
	}
	read("at first")
	_, err := conn.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	require.NoError(t, err)
	read("the connections are ended")
	cut()
	read("the connections are cut")
	_, err = conn.Exec(t.Context(), "DROP VIEW company.agents; ALTER TABLE agents ALTER COLUMN language TYPE varchar(40)")
	require.NoError(t, err)
	read("the statements have another result")
}

// Few flights at a time are enough for a database that is near, and connections are left for all other reads.
func TestJointConnections(t *testing.T) {
	t.Parallel()
	dbtest.Direct(t)
	dbtest.Unsharded(t)
	address := dbtest.URL(t)
	for connections, most := range map[int32]int{1: 0, 3: 0, 4: 2, 20: 10} {
		store := dbtest.Open(t, address, db.Options{MaxConnections: connections, Tracer: dbtest.Unchecked{}})
		require.LessOrEqual(t, db.JointConnections(store), most, fmt.Sprint(connections))
		if most > 0 {
			require.Positive(t, db.JointConnections(store), fmt.Sprint(connections))
			continue
		}
		tenant, _ := newCompany(t, store)
		_, err := namesOf(t.Context(), tenant, everyName)
		require.ErrorIs(t, err, db.ErrAlone)
	}
}
