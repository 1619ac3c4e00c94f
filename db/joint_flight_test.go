package db_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

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
