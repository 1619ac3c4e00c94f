package gateway

import (
	"context"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/vektah/gqlparser/v2/ast"
)

// documents caches parsed and validated queries by their text. It keeps the most recently used ones, bounded by their
// number and their estimated memory.
type documents struct {
	mu       sync.Mutex
	cache    *simplelru.LRU[string, *document]
	bytes    int
	maxBytes int
}

// document is a parsed query with the costs of those operations whose cost does not depend on variables.
type document struct {
	*ast.QueryDocument
	costs map[*ast.OperationDefinition]int
}

// bytesPerByte is the memory of a parsed document per byte of its text. Between 1 and 47 were measured; many short
// names take the most.
const bytesPerByte = 50

func newDocuments(entries, maxBytes int) *documents {
	d := &documents{maxBytes: maxBytes}
	// NewLRU only fails for a size below one.
	d.cache, _ = simplelru.NewLRU(max(entries, 1), func(query string, _ *document) {
		d.bytes -= len(query) * bytesPerByte
	})
	return d
}

// Get returns the document of a query that has been validated before.
func (d *documents) Get(_ context.Context, query string) (*ast.QueryDocument, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known, ok := d.cache.Get(query); ok {
		return known.QueryDocument, true
	}
	return nil, false
}

// cost returns the cost of a query's operation, and caches it if it does not depend on variables.
func (d *documents) cost(query string, operation *ast.OperationDefinition, count func() int) int {
	if !hasConstantCost(operation) {
		return count()
	}
	d.mu.Lock()
	known, cached := d.cache.Peek(query)
	if cached {
		if cost, counted := known.costs[operation]; counted {
			d.mu.Unlock()
			return cost
		}
	}
	d.mu.Unlock()
	cost := count()
	if cached {
		d.mu.Lock()
		defer d.mu.Unlock()
		known.costs[operation] = cost
	}
	return cost
}

// Add caches a validated document, evicting others if needed. It calls keepSpelling on it first.
func (d *documents) Add(_ context.Context, query string, parsed *ast.QueryDocument) {
	keepSpelling(parsed)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cache.Contains(query) {
		return
	}
	d.bytes += len(query) * bytesPerByte
	d.cache.Add(query, &document{parsed, map[*ast.OperationDefinition]int{}})
	for d.bytes > d.maxBytes {
		d.cache.RemoveOldest()
	}
}
