package resolvers

import (
	"context"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/graph-gophers/dataloader/v7"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// batchWait is how long a loader gathers keys. Sibling fields are resolved at the same time, so the
// shortest wait that a timer keeps is enough.
const batchWait = time.Millisecond

// loaders read what the fields of one response need, one statement for each level and edge of the
// query. They remember what they read, so they live no longer than the response.
type loaders struct {
	agents             one[*model.Agent]
	tools              one[*model.Tool]
	subAgents          one[*model.SubAgent]
	promptVersions     one[*model.PromptVersion]
	knowledgeBaseChats one[*model.KnowledgeBaseChat]
	datasets           one[*model.Dataset]
	simulationChats    one[*model.SimulationChat]

	agentTools     many[*model.Tool]
	agentSubAgents many[*model.SubAgent]
	chatDatasets   many[*model.Dataset]
	chatMessages   many[*model.SimulationChatMessage]
	chatAgents     *dataloader.Loader[string, int32]

	agentPromptVersions  children[*model.PromptVersion]
	agentSimulationChats children[*model.SimulationChat]
	toolAgents           children[*model.Agent]
}

func newLoaders(ctx context.Context, t *db.Tenant, n nouns) *loaders {
	return &loaders{
		agents:             newOne(ctx, n.agent, "agent", t.AgentsByID),
		tools:              newOne(ctx, n.tool, "tool", t.ToolsByID),
		subAgents:          newOne(ctx, n.subAgent, "sub-agent", t.SubAgentsByID),
		promptVersions:     newOne(ctx, n.promptVersion, "prompt version", t.PromptVersionsByID),
		knowledgeBaseChats: newOne(ctx, n.knowledgeBaseChat, "knowledge base chat", t.KnowledgeBaseChatsByID),
		datasets:           newOne(ctx, n.dataset, "dataset", t.DatasetsByID),
		simulationChats:    newOne(ctx, n.simulationChat, "simulation chat", t.SimulationChatsByID),

		agentTools:     newMany(ctx, n.tool, t.ToolsOfAgents),
		agentSubAgents: newMany(ctx, n.subAgent, t.SubAgentsOfAgents),
		chatDatasets:   newMany(ctx, n.dataset, t.DatasetsOfChats),
		chatMessages:   newMany(ctx, nil, whole(t.MessagesOfChats)),
		chatAgents:     newCounts(ctx, t.AgentCountsOfChats),

		agentPromptVersions:  newChildren(ctx, n.promptVersion, t.AgentPromptVersions()),
		agentSimulationChats: newChildren(ctx, n.simulationChat, t.AgentSimulationChats()),
		toolAgents:           newChildren(ctx, n.agent, t.ToolAgents()),
	}
}

// wanted is a key with the columns that its row is wanted with.
type wanted[K comparable] struct {
	key     K
	columns columnSet
}

// distinct returns the keys without repetition and all the columns that they are wanted with.
func distinct[K comparable](all []wanted[K]) ([]K, columnSet) {
	var columns columnSet
	keys := make([]K, 0, len(all))
	seen := make(map[K]bool, len(all))
	for _, w := range all {
		columns |= w.columns
		if !seen[w.key] {
			seen[w.key] = true
			keys = append(keys, w.key)
		}
	}
	return keys, columns
}

// read reads rows by the ids of themselves or of their parents.
type read[R any] = func(ctx context.Context, ids []string, columns ...string) ([]R, error)

// whole is a read of rows that always have all their columns.
func whole[R any](rows func(context.Context, []string) ([]R, error)) read[R] {
	return func(ctx context.Context, ids []string, _ ...string) ([]R, error) { return rows(ctx, ids) }
}

// one loads one row per id.
type one[R model.Node] struct {
	noun *noun
	rows *dataloader.Loader[wanted[string], R]
}

func newOne[R model.Node](ctx context.Context, n *noun, name string, rows read[R]) one[R] {
	return one[R]{n, batch(ctx, func(ctx context.Context, keys []wanted[string]) []*dataloader.Result[R] {
		ids, columns := distinct(keys)
		found, err := rows(ctx, ids, n.names(columns)...)
		byID := make(map[string]R, len(found))
		for _, row := range found {
			byID[row.Cursor().ID] = row
		}
		return results(keys, err, func(w wanted[string]) (R, error) {
			row, ok := byID[w.key]
			if !ok {
				return row, model.Missing(name, w.key)
			}
			return row, nil
		})
	})}
}

// load returns the row, with the columns that the field being resolved selects, or NOT_FOUND.
func (l one[R]) load(ctx context.Context, id string) (R, error) {
	return l.rows.Load(ctx, wanted[string]{id, l.noun.selected(ctx)})()
}

// later is load for a caller that asks for several rows before it waits for the first.
func (l one[R]) later(ctx context.Context, id string) func() (R, error) {
	return l.rows.Load(ctx, wanted[string]{id, allColumns})
}

// child is a row that knows its parent.
type child interface{ Parent() string }

// many loads all rows of one parent.
type many[R child] struct {
	noun *noun
	rows *dataloader.Loader[wanted[string], []R]
}

func newMany[R child](ctx context.Context, n *noun, rows read[R]) many[R] {
	return many[R]{n, batch(ctx, func(ctx context.Context, keys []wanted[string]) []*dataloader.Result[[]R] {
		parents, columns := distinct(keys)
		found, err := rows(ctx, parents, n.names(columns)...)
		byParent := make(map[string][]R, len(parents))
		for _, row := range found {
			byParent[row.Parent()] = append(byParent[row.Parent()], row)
		}
		return results(keys, err, func(w wanted[string]) ([]R, error) { return byParent[w.key], nil })
	})}
}

// load returns the rows of the parent, with the columns that the field being resolved selects.
func (l many[R]) load(ctx context.Context, parent string) ([]R, error) {
	return l.rows.Load(ctx, wanted[string]{parent, l.noun.selected(ctx)})()
}

// newCounts makes a loader of one number per key out of a read that keeps the order of the keys.
func newCounts(ctx context.Context, numbers func(context.Context, []string) ([]int32, error)) *dataloader.Loader[string, int32] {
	return batch(ctx, func(ctx context.Context, parents []string) []*dataloader.Result[int32] {
		found, err := numbers(ctx, parents)
		byParent := make(map[string]int32, len(parents))
		for i, number := range found {
			byParent[parents[i]] = number
		}
		return results(parents, err, func(parent string) (int32, error) { return byParent[parent], nil })
	})
}

// part is which part of a parent's list is wanted: model.PageArgs in a form that can be compared.
type part struct {
	parent              string
	first, offset       int32
	after               string
	hasOffset, hasAfter bool
}

func partOf(parent string, args model.PageArgs) part {
	p := part{parent: parent, first: args.First}
	if args.After != nil {
		p.after, p.hasAfter = *args.After, true
	}
	if args.Offset != nil {
		p.offset, p.hasOffset = *args.Offset, true
	}
	return p
}

func (p part) args() model.PageArgs {
	args := model.PageArgs{First: p.first}
	if p.hasAfter {
		args.After = &p.after
	}
	if p.hasOffset {
		args.Offset = &p.offset
	}
	return args
}

// children loads the pages of a list that hangs on each of many parents.
type children[R model.Node] struct {
	noun   *noun
	pages  *dataloader.Loader[wanted[part], []R]
	totals *dataloader.Loader[string, int32]
}

func newChildren[R interface {
	model.Node
	child
}](ctx context.Context, n *noun, list db.Children[R]) children[R] {
	return children[R]{n, batch(ctx, func(ctx context.Context, keys []wanted[part]) []*dataloader.Result[[]R] {
		parts, columns := distinct(keys)
		// A statement reads the same part of every parent's list.
		parents := map[part][]string{}
		for _, p := range parts {
			same := p
			same.parent = ""
			parents[same] = append(parents[same], p.parent)
		}
		found := map[part][]R{}
		failed := map[part]error{}
		for same, ids := range parents {
			rows, err := list.Pages(ctx, ids, same.args(), n.names(columns)...)
			failed[same] = err
			for _, row := range rows {
				p := same
				p.parent = row.Parent()
				found[p] = append(found[p], row)
			}
		}
		return results(keys, nil, func(w wanted[part]) ([]R, error) {
			same := w.key
			same.parent = ""
			return found[w.key], failed[same]
		})
	}), newCounts(ctx, list.Counts)}
}

// page returns one page of the parent's list.
func (c children[R]) page(ctx context.Context, parent string, args model.PageArgs) (*model.Page[R], error) {
	rows, err := c.pages.Load(ctx, wanted[part]{partOf(parent, args), c.noun.listed(ctx)})()
	if err != nil {
		return nil, err
	}
	return model.NewPage(rows, args, func(ctx context.Context) (int32, error) { return c.totals.Load(ctx, parent)() }), nil
}

// batch makes a loader. Its reads run under the response's context rather than that of the field
// that happened to ask first.
func batch[K comparable, V any](ctx context.Context, read func(context.Context, []K) []*dataloader.Result[V]) *dataloader.Loader[K, V] {
	return dataloader.NewBatchedLoader(
		func(_ context.Context, keys []K) []*dataloader.Result[V] { return read(ctx, keys) },
		dataloader.WithWait[K, V](batchWait),
	)
}

// results finds the value of each key, or gives each the error with which the read failed.
func results[K, V any](keys []K, err error, find func(K) (V, error)) []*dataloader.Result[V] {
	all := make([]*dataloader.Result[V], len(keys))
	for i, key := range keys {
		if err != nil {
			all[i] = &dataloader.Result[V]{Error: err}
			continue
		}
		value, err := find(key)
		all[i] = &dataloader.Result[V]{Data: value, Error: err}
	}
	return all
}

type loadersKey struct{}

// load returns the loaders of the response.
func load(ctx context.Context) *loaders {
	return ctx.Value(loadersKey{}).(*loaders)
}

// Loading is the gqlgen extension that installs the loaders: new ones for each response, so for each
// event of a subscription too, and for each field of a mutation, which must see what the one before
// it wrote.
type Loading struct{ *Resolver }

// ExtensionName names the extension.
func (Loading) ExtensionName() string { return "Loading" }

// Validate accepts every schema.
func (Loading) Validate(graphql.ExecutableSchema) error { return nil }

// InterceptResponse installs the loaders of a response.
func (l Loading) InterceptResponse(ctx context.Context, next graphql.ResponseHandler) *graphql.Response {
	return next(l.with(ctx))
}

// InterceptRootField installs the loaders of a mutation's field.
func (l Loading) InterceptRootField(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
	if graphql.GetOperationContext(ctx).Operation.Operation == ast.Mutation {
		ctx = l.with(ctx)
	}
	return next(ctx)
}

func (l Loading) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, loadersKey{}, newLoaders(ctx, l.tenant(ctx), l.nouns))
}
