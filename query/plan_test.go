package query

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// A plan must not answer a caller without scopes for all of its fields. The generated executor reports the missing
// scopes.
func TestQueryPlansRequireAllScopes(t *testing.T) {
	t.Parallel()
	reader := model.Principal{Scopes: []model.APIKeyScope{model.APIKeyScopeRead}}
	admin := model.Principal{Scopes: []model.APIKeyScope{model.APIKeyScopeAdmin}}
	token := model.Principal{Scopes: admin.Scopes, TokenHash: []byte{1}}
	read := &queryPlan{requirements: []requirement{{scope: model.APIKeyScopeRead}}}
	both := &queryPlan{requirements: []requirement{{scope: model.APIKeyScopeRead}, {scope: model.APIKeyScopeAdmin}}}
	keyOnly := &queryPlan{requirements: []requirement{{scope: model.APIKeyScopeRead, keyOnly: true}}}
	require.True(t, read.permits(reader))
	require.False(t, read.permits(model.Principal{}))
	require.False(t, both.permits(reader))
	require.True(t, both.permits(admin))
	require.True(t, keyOnly.permits(admin))
	require.False(t, keyOnly.permits(token))
}

// gqlgen prefers a method to a struct field of the same name, but plans read only struct fields.
func TestNoMethodHasTheNameOfAField(t *testing.T) {
	t.Parallel()
	seen := map[reflect.Type]bool{}
	var check func(reflect.Type)
	check = func(checked reflect.Type) {
		for checked.Kind() == reflect.Pointer || checked.Kind() == reflect.Slice || checked.Kind() == reflect.Map {
			checked = checked.Elem()
		}
		if checked.Kind() != reflect.Struct || checked == timeType || seen[checked] {
			return
		}
		seen[checked] = true
		for i := range reflect.PointerTo(checked).NumMethod() {
			method := reflect.PointerTo(checked).Method(i).Name
			_, isField := goField(checked, method)
			require.False(t, isField, "%s has the method %s and a field of that name", checked, method)
		}
		for _, field := range reflect.VisibleFields(checked) {
			if field.IsExported() {
				check(field.Type)
			}
		}
	}
	for _, row := range rowTypes {
		check(reflect.TypeOf(row))
	}
	require.Greater(t, len(seen), len(rowTypes))
}
