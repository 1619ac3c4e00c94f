// Package cache has a cache of recently used values with a bound on their memory.
package cache

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Cache holds values by key. It drops the least recently used values when all values together exceed its bound. It is
// safe for concurrent use.
type Cache[K comparable, V any] struct {
	maxBytes int
	weigh    func(K, V) int

	mu      sync.Mutex
	entries *simplelru.LRU[K, entry[V]]
	bytes   int
}

type entry[V any] struct {
	value V
	bytes int
}

// New returns a cache of at most maxBytes. weigh estimates the memory of an entry in bytes, including the key.
func New[K comparable, V any](maxBytes int, weigh func(K, V) int) *Cache[K, V] {
	c := &Cache[K, V]{maxBytes: maxBytes, weigh: weigh}
	// NewLRU only fails for a size below one. The number of entries has no separate bound.
	c.entries, _ = simplelru.NewLRU(math.MaxInt, func(_ K, dropped entry[V]) { c.bytes -= dropped.bytes })
	return c
}

// Get returns the value of the key.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.entries.Get(key)
	return found.value, ok
}

// Add stores the value unless the key has one, and returns the key's value.
func (c *Cache[K, V]) Add(key K, value V) V {
	bytes := c.weigh(key, value)
	c.mu.Lock()
	defer c.mu.Unlock()
	if found, ok := c.entries.Get(key); ok {
		return found.value
	}
	c.put(key, entry[V]{value, bytes})
	return value
}

// Put stores the value under the key and replaces an earlier value. Call it again with the same value after the value
// has grown. A value larger than the whole cache is not stored.
func (c *Cache[K, V]) Put(key K, value V) {
	bytes := c.weigh(key, value)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries.Remove(key)
	c.put(key, entry[V]{value, bytes})
}

// put stores an entry. The key must not have one yet.
func (c *Cache[K, V]) put(key K, added entry[V]) {
	if added.bytes > c.maxBytes {
		return
	}
	c.entries.Add(key, added)
	for c.bytes += added.bytes; c.bytes > c.maxBytes; {
		c.entries.RemoveOldest()
	}
}

// Len returns the number of entries.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entries.Len()
}

// Load returns the value of the key. If there is none, it calls load and stores the value, unless load returns an
// error. Concurrent callers may all call load. They get the value that was stored first.
func (c *Cache[K, V]) Load(key K, load func(K) (V, error)) (V, error) {
	if value, ok := c.Get(key); ok {
		return value, nil
	}
	value, err := load(key)
	if err != nil {
		return value, err
	}
	return c.Add(key, value), nil
}
