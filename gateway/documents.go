package gateway

import (
	"context"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/vektah/gqlparser/v2/ast"
)

// documents caches parsed and validated queries by their text, the most recently used ones, bounded
// by their number and by an estimate of their memory.
type documents struct {
	mu       sync.Mutex
	cache    *simplelru.LRU[string, *ast.QueryDocument]
	bytes    int
	maxBytes int
}

// bytesPerByte is the memory of a parsed document for each byte of its text: between 1 and 47 were
// measured, the most for many short names.
const bytesPerByte = 50

func newDocuments(entries, maxBytes int) *documents {
	d := &documents{maxBytes: maxBytes}
	// The only error is a size below one.
	d.cache, _ = simplelru.NewLRU(max(entries, 1), func(query string, _ *ast.QueryDocument) {
		d.bytes -= len(query) * bytesPerByte
	})
	return d
}

// Get returns the document of a query that was found valid before.
func (d *documents) Get(_ context.Context, query string) (*ast.QueryDocument, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cache.Get(query)
}

// Add keeps a document that was found valid, making room for it. From now on its numbers are as they were spelled.
func (d *documents) Add(_ context.Context, query string, document *ast.QueryDocument) {
	keepSpelling(document)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cache.Contains(query) {
		return
	}
	d.bytes += len(query) * bytesPerByte
	d.cache.Add(query, document)
	for d.bytes > d.maxBytes {
		d.cache.RemoveOldest()
	}
}
