package gateway

import (
	"context"
	"sync"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/cache"
)

type documents struct {
	*cache.Cache[string, *document]
}

// document is a parsed query with the costs of its operations, unless they depend on variables.
type document struct {
	*ast.QueryDocument
	// costs maps each *ast.OperationDefinition to an int.
	costs sync.Map
}

// A parsed document takes bytesPerDocument bytes, and up to bytesPerByte bytes for each byte of its text. Measurements
// gave 1 to 47 bytes for each byte of text; texts with many short names take the most.
const (
	bytesPerByte     = 50
	bytesPerDocument = 1_000
)

func newDocuments(maxBytes int) documents {
	return documents{cache.New(maxBytes, func(query string, _ *document) int {
		return bytesPerDocument + len(query)*bytesPerByte
	})}
}

// Get returns the cached document of a query.
func (d documents) Get(_ context.Context, query string) (*ast.QueryDocument, bool) {
	if known, ok := d.Cache.Get(query); ok {
		return known.QueryDocument, true
	}
	return nil, false
}

// cost returns the cost of a query's operation, and caches it if it does not depend on variables.
func (d documents) cost(query string, operation *ast.OperationDefinition, count func() int) int {
	if !hasConstantCost(operation) {
		return count()
	}
	known, cached := d.Cache.Get(query)
	if !cached {
		return count()
	}
	cost, counted := known.costs.Load(operation)
	if !counted {
		cost = count()
		known.costs.Store(operation, cost)
	}
	return cost.(int)
}

// Add caches a validated document. It calls preserveLiterals on it first.
func (d documents) Add(_ context.Context, query string, parsed *ast.QueryDocument) {
	preserveLiterals(parsed)
	d.Cache.Add(query, &document{QueryDocument: parsed})
}
