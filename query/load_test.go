package query

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// The first load of any row reads the rows of the whole batch immediately, without a delay.
func TestLoadersReadABatchAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		l := &loaders{ctx: t.Context(), known: map[loaderKey]any{}}
		batch, agents := &model.Batch{}, make([]*model.Agent, 20)
		for i := range agents {
			agents[i] = &model.Agent{ID: string(rune('a' + i%10)), Name: string(rune('A' + i))}
			agents[i].JoinBatch(batch, agents[i])
		}
		alone := &model.Agent{ID: "alone"}
		var mu sync.Mutex
		var reads [][]string
		loadValue := func(what string, row *model.Agent) (string, error) {
			return load(l, row, loaderKey{source: what}, idOf, func(keys []string) (finder[string], error) {
				mu.Lock()
				defer mu.Unlock()
				reads = append(reads, keys)
				return func(key string) (string, error) { return what + " of " + key, nil }, nil
			})
		}
		var loading sync.WaitGroup
		for _, row := range append(slices.Clone(agents), alone) {
			for _, what := range []string{"tools", "chats"} {
				loading.Go(func() {
					got, err := loadValue(what, row)
					if err != nil || got != what+" of "+row.ID {
						t.Error(got, err)
					}
				})
			}
		}
		loading.Wait()
		require.Equal(t, begin, time.Now())
		require.Len(t, reads, 4)
		for _, keys := range reads {
			slices.Sort(keys)
			require.Contains(t, []string{"abcdefghij", "alone"}, joined(keys))
		}
	})
}

func joined(keys []string) (all string) {
	for _, key := range keys {
		all += key
	}
	return all
}

func TestLoadersReportErrors(t *testing.T) {
	t.Parallel()
	l := &loaders{ctx: t.Context(), known: map[loaderKey]any{}}
	agent := &model.Agent{ID: "a"}
	failed := errors.New("failed")
	_, err := load(l, agent, loaderKey{source: "read"}, idOf, func([]string) (finder[int], error) { return nil, failed })
	require.ErrorIs(t, err, failed)
	_, err = load(l, agent, loaderKey{source: "row"}, idOf, func([]string) (finder[int], error) {
		return func(string) (int, error) { return 0, failed }, nil
	})
	require.ErrorIs(t, err, failed)
	noKey := func(any) string { return "" }
	none, err := load(l, agent, loaderKey{}, noKey,
		func([]string) (finder[int], error) { panic("a row without a key was read") })
	require.NoError(t, err)
	require.Zero(t, none)
}

func TestPageKeysAreDistinct(t *testing.T) {
	t.Parallel()
	name, other, zero := "a", "b", int32(0)
	cursor := (model.Cursor{ID: "a"}).String()
	seen := map[string]bool{}
	for _, test := range []struct {
		args   model.PageArgs
		filter pg.Filter
	}{
		{model.PageArgs{First: 10}, nil},
		{model.PageArgs{First: 11}, nil},
		{model.PageArgs{First: 10, After: &cursor}, nil},
		{model.PageArgs{First: 10, Offset: &zero}, nil},
		{model.PageArgs{Last: new(int32(10))}, nil},
		{model.PageArgs{Last: new(int32(10)), Before: &cursor}, nil},
		{model.PageArgs{First: 10}, db.NamesMatching(&model.NameFilter{NameContains: &name})},
		{model.PageArgs{First: 10}, db.NamesMatching(&model.NameFilter{NameContains: &other})},
	} {
		seen[windowOf(test.args, test.filter)] = true
	}
	require.Len(t, seen, 8)
}
