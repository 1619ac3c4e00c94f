package group_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/group"
)

// gate is a commit that blocks until the test releases it.
type gate struct {
	mu      sync.Mutex
	commits [][]string
	next    chan error
}

func (g *gate) commit(_ context.Context, key string, members []string) error {
	g.mu.Lock()
	g.commits = append(g.commits, append([]string{key}, members...))
	g.mu.Unlock()
	return <-g.next
}

func TestLaterArrivalsShareTheNextCommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := &gate{next: make(chan error)}
		g := &group.Group[string, string]{Commit: gate.commit}
		var got sync.Map
		do := func(key, member string) {
			go func() { got.Store(member, g.Do(t.Context(), key, member)) }()
			synctest.Wait()
		}
		do("a", "a1")
		do("a", "a2")
		do("a", "a3")
		do("b", "b1")
		require.Equal(t, [][]string{{"a", "a1"}, {"b", "b1"}}, gate.commits, "keys do not wait for each other")

		failed := errors.New("failed")
		for range 2 {
			gate.next <- nil
		}
		synctest.Wait()
		require.Equal(t, []string{"a", "a2", "a3"}, gate.commits[2])
		gate.next <- failed
		synctest.Wait()
		for member, want := range map[string]error{"a1": nil, "b1": nil, "a2": failed, "a3": failed} {
			err, ok := got.Load(member)
			require.True(t, ok, member)
			if want == nil {
				require.Nil(t, err, member)
			} else {
				require.Equal(t, want, err, member)
			}
		}

		do("a", "a4")
		require.Equal(t, []string{"a", "a4"}, gate.commits[3], "it starts again")
		gate.next <- nil
		synctest.Wait()
	})
}

func TestCommitsKeepTheLimitAndSeparateConflicts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := &gate{next: make(chan error)}
		g := &group.Group[string, string]{Commit: gate.commit, Limit: 2, Conflict: func(a, b string) bool { return a == b }}
		for _, member := range []string{"first", "same", "same", "other", "last"} {
			go func() { _ = g.Do(t.Context(), "key", member) }()
			synctest.Wait()
		}
		for range 3 {
			gate.next <- nil
			synctest.Wait()
		}
		require.Equal(t, [][]string{{"key", "first"}, {"key", "same", "other"}, {"key", "same", "last"}}, gate.commits)
	})
}

// A commit continues when the context of the caller that started it ends.
func TestCommitsOutliveTheirContexts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &group.Group[int, int]{Commit: func(ctx context.Context, _ int, _ []int) error { return ctx.Err() }}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, g.Do(ctx, 1, 1))
	})
}

func TestConcurrentMembersAreCommittedOnce(t *testing.T) {
	t.Parallel()
	var sum, inProgress atomic.Int64
	g := &group.Group[int, int64]{Limit: 10, Commit: func(_ context.Context, _ int, members []int64) error {
		assert.EqualValues(t, 1, inProgress.Add(1), "one commit at a time")
		for _, n := range members {
			sum.Add(n)
		}
		inProgress.Add(-1)
		return nil
	}}
	var all sync.WaitGroup
	for n := range int64(1000) {
		all.Go(func() { assert.NoError(t, g.Do(t.Context(), 1, n)) })
	}
	all.Wait()
	require.EqualValues(t, 999*1000/2, sum.Load())
}
