package query

import (
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/vektah/gqlparser/v2/ast"
)

// Bounds of what is remembered: operations, an estimate of the memory of their documents and plans, and ways in which @skip
// and @include make different plans of one operation.
const (
	mostPlanned  = 1_000
	mostBytes    = 32 << 20
	mostVariants = 8

	// A parsed document takes up to 50 bytes for each byte of its text, and a plan some 500 for each value.
	bytesPerByte  = 50
	bytesPerValue = 500
)

// plans caches plans of the operations used last. Operations are compared by pointer, since documents are cached too.
type plans struct {
	mu    sync.Mutex
	cache *simplelru.LRU[*ast.OperationDefinition, *planned]
	bytes int
}

// planned is what the cache knows of an operation.
type planned struct {
	// conditions are the variables that @skip and @include read.
	conditions []string
	// variants are its plans by the values of the conditions; nil where there is no plan.
	variants map[uint64]*plan
	bytes    int
}

func newPlans() *plans {
	p := &plans{}
	// The only error is a size below one.
	p.cache, _ = simplelru.NewLRU(mostPlanned, func(_ *ast.OperationDefinition, known *planned) { p.bytes -= known.bytes })
	return p
}

// of returns the plan of the operation with its variables; nil when it has none.
func (p *plans) of(operation *graphql.OperationContext, t *Table) *plan {
	p.mu.Lock()
	known, ok := p.cache.Get(operation.Operation)
	if !ok {
		known = &planned{conditions: conditionsOf(operation), variants: map[uint64]*plan{}, bytes: len(operation.RawQuery) * bytesPerByte}
		p.cache.Add(operation.Operation, known)
		p.bytes += known.bytes
		p.shrink()
	}
	variant, countable := known.variant(operation.Variables)
	found, ok := known.variants[variant]
	full := len(known.variants) >= mostVariants
	p.mu.Unlock()
	if ok || full || !countable {
		return found
	}
	// Somebody else may compile the same plan meanwhile; both are equal.
	made := compile(operation, t)
	p.mu.Lock()
	defer p.mu.Unlock()
	known.variants[variant] = made
	if current, ok := p.cache.Peek(operation.Operation); made != nil && ok && current == known {
		known.bytes += made.selected * bytesPerValue
		p.bytes += made.selected * bytesPerValue
		p.shrink()
	}
	return made
}

// shrink drops what was used longest ago until the rest fits.
func (p *plans) shrink() {
	for p.bytes > mostBytes && p.cache.Len() > 1 {
		p.cache.RemoveOldest()
	}
}

// variant tells the values of the conditions apart; false when there are too many of them, or one has no value.
func (k *planned) variant(variables map[string]any) (uint64, bool) {
	if len(k.conditions) > 64 {
		return 0, false
	}
	variant := uint64(0)
	for i, name := range k.conditions {
		value, ok := variables[name].(bool)
		if !ok {
			return 0, false
		}
		if value {
			variant |= 1 << i
		}
	}
	return variant, true
}

// conditionsOf returns the variables that @skip and @include read, each once.
func conditionsOf(operation *graphql.OperationContext) []string {
	var names []string
	seen, visited := map[string]bool{}, map[string]bool{}
	add := func(directives ast.DirectiveList) {
		for _, d := range directives {
			if d.Name != "skip" && d.Name != "include" {
				continue
			}
			for _, a := range d.Arguments {
				if a.Value.Kind == ast.Variable && !seen[a.Value.Raw] {
					seen[a.Value.Raw] = true
					names = append(names, a.Value.Raw)
				}
			}
		}
	}
	var visit func(ast.SelectionSet)
	visit = func(set ast.SelectionSet) {
		for _, selection := range set {
			switch s := selection.(type) {
			case *ast.Field:
				add(s.Directives)
				visit(s.SelectionSet)
			case *ast.InlineFragment:
				add(s.Directives)
				visit(s.SelectionSet)
			case *ast.FragmentSpread:
				add(s.Directives)
				if !visited[s.Name] {
					visited[s.Name] = true
					visit(s.Definition.SelectionSet)
				}
			}
		}
	}
	visit(operation.Operation.SelectionSet)
	return names
}
