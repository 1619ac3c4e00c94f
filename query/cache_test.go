package query

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/cache"
)

func TestPlansDependOnConditions(t *testing.T) {
	t.Parallel()
	table := newTestTable(t)
	operation := operationOf(t, table, `query ($a: Boolean!, $b: Boolean!, $c: Boolean!, $id: ID!) {
		agent(id: $id) { id @include(if: $a) ...f @skip(if: $c) ... @skip(if: $b) { name } } }
		fragment f on Agent { tools @skip(if: $a) { id } tags @include(if: true) }`, nil)
	require.Equal(t, []string{"a", "c", "b"}, conditionsOf(operation))

	known := cachedPlans{conditions: []string{"a", "b"}}
	seen := map[uint64]bool{}
	for _, a := range []bool{false, true} {
		for _, b := range []bool{false, true} {
			variant, countable := known.variant(map[string]any{"a": a, "b": b, "id": fmt.Sprint(a)})
			require.True(t, countable)
			seen[variant] = true
		}
	}
	require.Len(t, seen, 4)
	_, countable := known.variant(map[string]any{"a": true})
	require.False(t, countable, "b has no value")
	_, countable = (&cachedPlans{conditions: make([]string, 65)}).variant(nil)
	require.False(t, countable)
	require.Nil(t, newPlanCache().loadOrCompile(operation, table), "its conditions have no values")
}

// The cache counts a plan as soon as it is compiled, although its entry is older.
func TestPlansCountTowardTheCache(t *testing.T) {
	t.Parallel()
	table, fields := newTestTable(t), ""
	for i := range 30 {
		fields += fmt.Sprintf(" f%d: id", i)
	}
	cached := planCache{cache.New(2*bytesPerEntry+40*bytesPerValue,
		func(_ *ast.OperationDefinition, known *cachedPlans) int { return known.size() })}
	for range 2 {
		operation := operationOf(t, table, "{ agents { nodes {"+fields+" } } }", nil)
		operation.RawQuery = "" // only the plan counts
		require.NotNil(t, cached.loadOrCompile(operation, table))
	}
	require.Equal(t, 1, cached.Len())
}

func TestPlansAreCached(t *testing.T) {
	t.Parallel()
	table, cached := newTestTable(t), newPlanCache()
	conditions, fields := "", ""
	for i := range maxVariants {
		conditions += fmt.Sprintf(" $c%d: Boolean!", i)
		fields += fmt.Sprintf(" f%d: id @include(if: $c%d)", i, i)
	}
	operation := operationOf(t, table, "query ("+conditions+") { agents { nodes { name"+fields+" } } }", nil)
	plan := func(set int) *queryPlan {
		operation.Variables = map[string]any{}
		for i := range maxVariants {
			operation.Variables[fmt.Sprintf("c%d", i)] = i == set
		}
		return cached.loadOrCompile(operation, table)
	}
	first := plan(0)
	require.NotNil(t, first)
	require.Same(t, first, plan(0))
	for i := range maxVariants {
		require.NotNil(t, plan(i))
	}
	require.Nil(t, plan(-1), "an operation has a bounded number of plans")
	require.Equal(t, 1, cached.Len())

	known, _ := cached.Get(operation.Operation)
	require.Greater(t, known.size(), len(operation.RawQuery)*bytesPerByte+maxVariants*bytesPerValue)
	unplanned := operationOf(t, table, `{ company { id } }`, nil)
	require.Nil(t, cached.loadOrCompile(unplanned, table))
	require.Nil(t, cached.loadOrCompile(unplanned, table))
	require.Equal(t, 2, cached.Len())
}

func TestConditionsWithoutValuesHaveNoPlan(t *testing.T) {
	t.Parallel()
	table, cached := newTestTable(t), newPlanCache()
	operation := operationOf(t, table, `query ($a: Boolean = true) { agents { nodes { id name @include(if: $a) } } }`, nil)
	operation.Variables = map[string]any{"a": false}
	require.NotNil(t, cached.loadOrCompile(operation, table))
	operation.Variables = map[string]any{"a": nil}
	require.Nil(t, cached.loadOrCompile(operation, table))
}
