package rules

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// compiled caches compiled texts. It forgets the least recently used ones, which bounds the total size of the texts in
// bytes. It is safe for concurrent use.
type compiled[V any] struct {
	compile func(text string) (V, error)
	most    int

	mu    sync.Mutex
	known *simplelru.LRU[string, V]
	bytes int
}

func newCompiled[V any](mostBytes int, compile func(string) (V, error)) *compiled[V] {
	// The cache bounds the size of the texts, not their number.
	known, _ := simplelru.NewLRU[string, V](math.MaxInt, nil)
	return &compiled[V]{compile: compile, most: mostBytes, known: known}
}

// of returns the compiled text.
func (c *compiled[V]) of(text string) (V, error) {
	c.mu.Lock()
	known, ok := c.known.Get(text)
	c.mu.Unlock()
	if ok {
		return known, nil
	}
	made, err := c.compile(text)
	if err != nil {
		return made, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.known.Contains(text) {
		c.known.Add(text, made)
		c.bytes += len(text)
	}
	for c.bytes > c.most {
		oldest, _, _ := c.known.RemoveOldest()
		c.bytes -= len(oldest)
	}
	return made, nil
}
