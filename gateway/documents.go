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

// document is a parsed query with the costs of those operations whose cost does not depend on variables.
type document struct {
	*ast.QueryDocument
	// costs has an int for each *ast.OperationDefinition.
	costs sync.Map
}

// A parsed document takes up to bytesPerByte for each byte of its text, and bytesPerDocument besides. Between 1 and 47
// were measured for each byte; many short names take the most.
const (
	bytesPerByte     = 50
	bytesPerDocument = 1_000
)

func newDocuments(maxBytes int) documents {
	return documents{cache.New(maxBytes, func(query string, _ *document) int {
		return bytesPerDocument + len(query)*bytesPerByte
	})}
}

// Get returns the document of a query that has been validated before.
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

// Add caches a validated document. It calls keepSpelling on it first.
func (d documents) Add(_ context.Context, query string, parsed *ast.QueryDocument) {
	keepSpelling(parsed)
	d.Cache.Add(query, &document{QueryDocument: parsed})
}
