package query

import (
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/cache"
)

// Bounds of the plan cache: the bytes of all plans and their documents, and the number of plans of one operation. An
// operation has one plan for each combination of the values of @skip and @include.
const (
	maxBytes    = 32 << 20
	maxVariants = 8

	// A parsed document takes up to 50 bytes for each byte of its text, and a plan some 500 bytes for each value.
	bytesPerEntry = 1_000
	bytesPerByte  = 50
	bytesPerValue = 500
)

// planCache caches plans by their operations. It compares operations by address. This works because parsed documents
// are cached too.
type planCache struct {
	*cache.Cache[*ast.OperationDefinition, *cachedPlans]
}

// cachedPlans is the cache entry of an operation.
type cachedPlans struct {
	// conditions are the variables of @skip and @include.
	conditions []string
	// text is the length of the document in bytes.
	text int

	mu sync.Mutex
	// variants maps the values of the conditions to the operation's plans, nil for no plan.
	variants map[uint64]*queryPlan
}

func newPlanCache() planCache {
	return planCache{cache.New(maxBytes,
		func(_ *ast.OperationDefinition, known *cachedPlans) int { return known.size() })}
}

// size estimates the memory of an operation's document and plans.
func (k *cachedPlans) size() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	bytes := bytesPerEntry + k.text*bytesPerByte
	for _, made := range k.variants {
		if made != nil {
			bytes += made.selected * bytesPerValue
		}
	}
	return bytes
}

// loadOrCompile returns the operation's plan for its variables. It returns nil when there is none, when other variables
// already have maxVariants plans, or when variant returns false.
func (p planCache) loadOrCompile(operation *graphql.OperationContext, t *Table) *queryPlan {
	known, _ := p.Load(operation.Operation, func(*ast.OperationDefinition) (*cachedPlans, error) {
		return &cachedPlans{conditions: conditionsOf(operation), text: len(operation.RawQuery),
			variants: map[uint64]*queryPlan{}}, nil
	})
	variant, countable := known.variant(operation.Variables)
	if !countable {
		return nil
	}
	known.mu.Lock()
	found, ok := known.variants[variant]
	full := len(known.variants) >= maxVariants
	known.mu.Unlock()
	if ok || full {
		return found
	}
	// Concurrent requests may compile the same plan. The results are equal.
	made := compile(operation, t)
	known.mu.Lock()
	known.variants[variant] = made
	known.mu.Unlock()
	p.Put(operation.Operation, known)
	return made
}

// variant encodes the values of the conditions. It returns false when there are too many conditions, or one has no
// value.
func (k *cachedPlans) variant(variables map[string]any) (uint64, bool) {
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

// conditionsOf returns the distinct variables of @skip and @include.
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
