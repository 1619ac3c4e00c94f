package query

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/99designs/gqlgen/graphql"
	"github.com/graph-gophers/dataloader/v7"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// Loading is the gqlgen extension by which resolvers read rows with dataloaders: one statement for each level and
// relation of an operation. Each response and each event of a subscription has fresh loaders. So does each field of a
// mutation, because it must see the writes of the previous field.
type Loading struct{ *Table }

// ExtensionName names the extension.
func (Loading) ExtensionName() string { return "Loading" }

// Validate accepts every schema.
func (Loading) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptResponse starts a response with fresh loaders.
func (l Loading) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	return next(l.withLoaders(ctx))
}

// InterceptRootField starts each field of a mutation with fresh loaders.
func (l Loading) InterceptRootField(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
	if graphql.GetOperationContext(ctx).Operation.Operation == ast.Mutation {
		ctx = l.withLoaders(ctx)
	}
	return next(ctx)
}

type loadersKey struct{}

func (l Loading) withLoaders(ctx context.Context) context.Context {
	loaders := &loaders{table: l.Table, known: map[loaderKey]any{}}
	loaders.ctx = pg.WithSharedCounts(context.WithValue(ctx, loadersKey{}, loaders))
	if operation := graphql.GetOperationContext(ctx).Operation; operation != nil && operation.Operation != ast.Mutation {
		loaders.ctx = pg.WithSlots(loaders.ctx)
	}
	return loaders.ctx
}

func loadersOf(ctx context.Context) *loaders { return ctx.Value(loadersKey{}).(*loaders) }

type loaders struct {
	table *Table
	// ctx is the context of the response, not of the field that happens to load first.
	ctx   context.Context
	mu    sync.Mutex
	known map[loaderKey]any
}

// tenant returns the caller's company. Without a principal, it returns a company without rows.
func (l *loaders) tenant() *db.Tenant {
	principal, _ := model.PrincipalOf(l.ctx)
	return l.table.store.Tenant(principal.CompanyID)
}

// loaderKey identifies a loader by the relation that it reads, its columns, its page window, and the rows for which it
// reads. These are a batch, or one row that was read alone.
type loaderKey struct {
	rows    any
	source  any
	columns string
	window  string
}

// windowOf identifies a page of a filtered list.
func windowOf(args model.PageArgs, filter pg.Filter) string {
	page, _ := json.Marshal(args) // numbers and strings always have an encoding
	return fmt.Sprintf("%s %q", page, filter.Values())
}

// readKeys reads the rows of all keys, and returns a function that finds the rows of one key.
type readKeys[V any] func(keys []string) (finder[V], error)

type finder[V any] func(key string) (V, error)

// loaderOf returns the loader of the key. A new loader gets all its keys at once and reads as soon as it has them. It
// never waits for other keys, so the number of statements does not depend on timing.
func loaderOf[V any](l *loaders, cacheKey loaderKey, keys func() []string, read readKeys[V]) *dataloader.Loader[string,
	V] {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.known[cacheKey]; ok {
		return known.(*dataloader.Loader[string, V])
	}
	all := keys()
	loader := dataloader.NewBatchedLoader(func(_ context.Context, keys []string) []*dataloader.Result[V] {
		results := make([]*dataloader.Result[V], len(keys))
		find, err := read(keys)
		for i, key := range keys {
			if results[i] = (&dataloader.Result[V]{Error: err}); err == nil {
				results[i].Data, results[i].Error = find(key)
			}
		}
		return results
	}, dataloader.WithBatchCapacity[string, V](len(all)), dataloader.WithInputCapacity[string, V](len(all)))
	for _, key := range all {
		loader.Load(l.ctx, key)
	}
	l.known[cacheKey] = loader
	return loader
}

// load returns the value for the key of the row. The first call for a row of a batch loads the values of all rows of
// the batch.
func load[V any](l *loaders, row any, cacheKey loaderKey, keyOf func(row any) string, read readKeys[V]) (V, error) {
	key := keyOf(row)
	if key == "" {
		var nothing V
		return nothing, nil
	}
	rows := []any{row}
	cacheKey.rows = row
	if batched, ok := row.(interface{ Batch() *model.Batch }); ok && batched.Batch() != nil {
		cacheKey.rows, rows = batched.Batch(), batched.Batch().Rows
	}
	return loaderOf(l, cacheKey, func() []string { return keysOf(rows, keyOf) }, read).Load(l.ctx, key)()
}

// keysOf returns the distinct keys of the rows.
func keysOf(rows []any, keyOf func(any) string) []string {
	keys := make([]string, 0, len(rows))
	seen := make(map[string]bool, len(rows))
	for _, row := range rows {
		if key := keyOf(row); key != "" && !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	return keys
}

// resolvedRelation returns the relation of the resolved field, and the columns that its selection needs.
func (l *loaders) resolvedRelation(ctx context.Context) (*relation, []string) {
	field := graphql.GetFieldContext(ctx)
	r := l.table.relations[field.Object+"."+field.Field.Name]
	if r.resolverColumn != "" {
		return r, []string{r.resolverColumn}
	}
	if r.value != "" || r.readsAllColumns {
		return r, nil // several fields share the rows, so one statement reads all columns
	}
	return r, l.table.columnsOf(ctx)
}

// One returns the row that the resolved field leads to. It returns R's zero value if there is no key, and NOT_FOUND if
// the row is missing.
func One[R any](ctx context.Context, row any) (R, error) {
	l := loadersOf(ctx)
	r, columns := l.resolvedRelation(ctx)
	cacheKey := loaderKey{source: r.identity(), columns: strings.Join(columns, " ")}
	return load(l, row, cacheKey, r.keyOf, func(keys []string) (finder[R], error) {
		found, err := l.tenant().Find(l.ctx, r.rows, keys, columns...)
		byID := model.MapOf(found, func(row model.Row) (string, R) { return row.(model.Node).Cursor().ID, row.(R) })
		return func(key string) (R, error) {
			row, ok := byID[key]
			if !ok {
				return row, model.Missing(r.rows.Type, key)
			}
			return row, nil
		}, err
	})
}

// Many returns the rows that the resolved field leads to, in order.
func Many[R any](ctx context.Context, row any) ([]R, error) {
	l := loadersOf(ctx)
	r, columns := l.resolvedRelation(ctx)
	loadKey := loaderKey{source: r.identity(), columns: strings.Join(columns, " ")}
	return load(l, row, loadKey, r.keyOf, func(keys []string) (finder[[]R], error) {
		found, err := l.tenant().Find(l.ctx, r.rows, keys, columns...)
		byParent := byParent[R](found)
		return func(key string) ([]R, error) { return byParent[key], nil }, err
	})
}

// First returns the only row that the resolved field leads to, or R's zero value.
func First[R any](ctx context.Context, row any) (R, error) {
	rows, err := Many[R](ctx, row)
	var none R
	if err != nil || len(rows) == 0 {
		return none, err
	}
	return rows[0], nil
}

func byParent[R any](rows []model.Row) map[string][]R {
	byParent := make(map[string][]R, len(rows))
	for _, row := range rows {
		byParent[row.Parent()] = append(byParent[row.Parent()], row.(R))
	}
	return byParent
}

// Page returns the page of rows that the resolved field leads to. The first request for a total counts the lists of all
// rows in the batch.
func Page[R model.Node](ctx context.Context, row any, args model.PageArgs, filter pg.Filter) (*model.Page[R], error) {
	l := loadersOf(ctx)
	r, columns := l.resolvedRelation(ctx)
	args.Table = r.list.Table()
	a := loaderKey{source: r.identity(), columns: strings.Join(columns, " "), window: windowOf(args, filter)}
	return load(l, row, a, r.keyOf, func(keys []string) (finder[*model.Page[R]], error) {
		found, err := l.tenant().FindPages(l.ctx, r.list, filter, keys, args, columns...)
		byParent := byParent[R](found)
		totals := sync.OnceValues(func() (map[string]int32, error) {
			return l.tenant().Count(l.ctx, r.list, filter, keys)
		})
		return func(key string) (*model.Page[R], error) {
			return model.NewPage(byParent[key], args, func(context.Context) (int32, error) {
				total, err := totals()
				return total[key], err
			}), nil
		}, err
	})
}

// Total returns the number of rows that the resolved field leads to.
func Total(ctx context.Context, row any) (int32, error) {
	l := loadersOf(ctx)
	r, _ := l.resolvedRelation(ctx)
	return load(l, row, loaderKey{source: r.identity()}, r.keyOf, func(keys []string) (finder[int32], error) {
		totals, err := l.tenant().Count(l.ctx, r.list, nil, keys)
		return func(key string) (int32, error) { return totals[key], nil }, err
	})
}

// Value calls read with the ids of the row's batch, and returns the row's value from the resulting map, or V's zero
// value. Fields that use the same name share the result.
func Value[V any](
	ctx context.Context, row model.Node, name string, read func(ctx context.Context, t *db.Tenant, ids []string) (
		map[string]V, error),
) (V, error) {
	l := loadersOf(ctx)
	return load(l, row, loaderKey{source: name}, idOf, func(keys []string) (finder[V], error) {
		found, err := read(l.ctx, l.tenant(), keys)
		return func(key string) (V, error) { return found[key], nil }, err
	})
}

// ReadMethod converts a method of Tenant to a read function for Value.
func ReadMethod[V any](method func(*db.Tenant, context.Context, []string) (V, error)) func(context.Context, *db.Tenant,
	[]string) (V, error) {
	return func(ctx context.Context, t *db.Tenant, ids []string) (V, error) { return method(t, ctx, ids) }
}

func idOf(row any) string { return row.(model.Node).Cursor().ID }

// ByID returns the row with the id for a field of Query, or NOT_FOUND. Fields with the same id share the row, so its
// dependent rows are read once for all of them.
func ByID[R any](ctx context.Context, id string) (R, error) {
	l := loadersOf(ctx)
	rows, columns := l.table.roots[graphql.GetFieldContext(ctx).Field.Name].rows, l.table.columnsOf(ctx)
	loadKey := loaderKey{source: rows, columns: strings.Join(columns, " ")}
	ids := func() []string { return []string{id} }
	return loaderOf(l, loadKey, ids, func(keys []string) (finder[R], error) {
		found, err := l.tenant().Find(l.ctx, rows, keys, columns...)
		return func(id string) (R, error) {
			if len(found) == 0 {
				var none R
				return none, model.Missing(rows.Type, id)
			}
			return found[0].(R), nil
		}, err
	}).Load(l.ctx, id)()
}

// Columns returns the columns that the selection of the resolved field needs from its rows. An empty result means all
// columns.
func Columns(ctx context.Context) []string { return loadersOf(ctx).table.columnsOf(ctx) }

// keyOf returns the key of the rows that the relation leads to from this row, or "" if there is none.
func (r *relation) keyOf(row any) string {
	if r.key != nil {
		return r.key(row)
	}
	if r.column == "id" {
		return idOf(row)
	}
	if test, ok := row.(model.AgentTest); ok {
		row = test.Row()
	}
	value := reflect.ValueOf(row).Elem().FieldByIndex(r.fieldIndex)
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return ""
		}
		value = value.Elem()
	}
	return value.String()
}
