package cache

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func weighed(_ string, value int) int { return value }

func TestCacheDropsTheLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	c := New(10, weighed)
	c.Add("a", 4)
	c.Add("b", 6)
	_, ok := c.Get("a")
	require.True(t, ok, "both together have exactly 10 bytes")
	c.Add("c", 4)
	for key, want := range map[string]bool{"a": true, "b": false, "c": true} {
		_, ok := c.Get(key)
		require.Equal(t, want, ok, key)
	}
}

func TestCacheKeepsTheFirstValueUntilAnotherIsPut(t *testing.T) {
	t.Parallel()
	c := New(10, weighed)
	require.Equal(t, 1, c.Add("a", 1))
	require.Equal(t, 1, c.Add("a", 2))
	c.Put("a", 3)
	value, err := c.Load("a", func(string) (int, error) { return 0, errors.New("it is cached") })
	require.NoError(t, err)
	require.Equal(t, 3, value)
	require.Equal(t, 3, c.bytes)
	c.Put("a", 11)
	_, ok := c.Get("a")
	require.False(t, ok, "too large")
	c.Put("a", 10)
	_, ok = c.Get("a")
	require.True(t, ok, "as large as the cache")
	_, err = c.Load("b", func(string) (int, error) { return 5, errors.New("failed") })
	require.Error(t, err)
	_, ok = c.Get("b")
	require.False(t, ok, "an error is not cached")
}

func TestCacheIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := New(100, weighed)
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			key, value := rapid.StringMatching("[a-f]").Draw(t, "key"), rapid.IntRange(0, 120).Draw(t, "bytes")
			if rapid.Bool().Draw(t, "put") {
				c.Put(key, value)
			} else {
				c.Add(key, value)
			}
			sum := 0
			for _, kept := range c.entries.Values() {
				sum += kept.bytes
			}
			require.Equal(t, sum, c.bytes)
			require.LessOrEqual(t, c.bytes, 100)
		}
	})
}
