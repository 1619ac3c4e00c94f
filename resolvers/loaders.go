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
	agents             *dataloader.Loader[string, *model.Agent]
	tools              *dataloader.Loader[string, *model.Tool]
	subAgents          *dataloader.Loader[string, *model.SubAgent]
	promptVersions     *dataloader.Loader[string, *model.PromptVersion]
	knowledgeBaseChats *dataloader.Loader[string, *model.KnowledgeBaseChat]
	datasets           *dataloader.Loader[string, *model.Dataset]
	simulationChats    *dataloader.Loader[string, *model.SimulationChat]

	agentTools     *dataloader.Loader[string, []*model.Tool]
	agentSubAgents *dataloader.Loader[string, []*model.SubAgent]
	chatDatasets   *dataloader.Loader[string, []*model.Dataset]
	chatMessages   *dataloader.Loader[string, []*model.SimulationChatMessage]
	chatAgents     *dataloader.Loader[string, int32]

	agentPromptVersions  children[*model.PromptVersion]
	agentSimulationChats children[*model.SimulationChat]
	toolAgents           children[*model.Agent]
}

func newLoaders(ctx context.Context, t *db.Tenant) *loaders {
	return &loaders{
		agents:             one(ctx, "agent", t.AgentsByID),
		tools:              one(ctx, "tool", t.ToolsByID),
		subAgents:          one(ctx, "sub-agent", t.SubAgentsByID),
		promptVersions:     one(ctx, "prompt version", t.PromptVersionsByID),
		knowledgeBaseChats: one(ctx, "knowledge base chat", t.KnowledgeBaseChatsByID),
		datasets:           one(ctx, "dataset", t.DatasetsByID),
		simulationChats:    one(ctx, "simulation chat", t.SimulationChatsByID),

		agentTools:     many(ctx, t.ToolsOfAgents),
		agentSubAgents: many(ctx, t.SubAgentsOfAgents),
		chatDatasets:   many(ctx, t.DatasetsOfChats),
		chatMessages:   many(ctx, t.MessagesOfChats),
		chatAgents:     counts(ctx, t.AgentCountsOfChats),

		agentPromptVersions:  newChildren(ctx, t.AgentPromptVersions()),
		agentSimulationChats: newChildren(ctx, t.AgentSimulationChats()),
		toolAgents:           newChildren(ctx, t.ToolAgents()),
	}
}

// one makes a loader of one row per key out of a read of rows by their ids.
func one[R model.Node](ctx context.Context, noun string, read func(context.Context, []string) ([]R, error)) *dataloader.Loader[string, R] {
	return batch(ctx, func(ctx context.Context, ids []string) []*dataloader.Result[R] {
		rows, err := read(ctx, ids)
		byID := make(map[string]R, len(rows))
		for _, row := range rows {
			byID[row.Cursor().ID] = row
		}
		return results(ids, err, func(id string) (R, error) {
			row, ok := byID[id]
			if !ok {
				return row, model.Missing(noun, id)
			}
			return row, nil
		})
	})
}

// many makes a loader of many rows per key out of a read of rows that know their parents.
func many[R interface{ Parent() string }](ctx context.Context, read func(context.Context, []string) ([]R, error)) *dataloader.Loader[string, []R] {
	return batch(ctx, func(ctx context.Context, parents []string) []*dataloader.Result[[]R] {
		rows, err := read(ctx, parents)
		byParent := make(map[string][]R, len(parents))
		for _, row := range rows {
			byParent[row.Parent()] = append(byParent[row.Parent()], row)
		}
		return results(parents, err, func(parent string) ([]R, error) { return byParent[parent], nil })
	})
}

// counts makes a loader of one number per key out of a read that keeps the order of the keys.
func counts(ctx context.Context, read func(context.Context, []string) ([]int32, error)) *dataloader.Loader[string, int32] {
	return batch(ctx, func(ctx context.Context, parents []string) []*dataloader.Result[int32] {
		numbers, err := read(ctx, parents)
		byParent := make(map[string]int32, len(parents))
		for i, number := range numbers {
			byParent[parents[i]] = number
		}
		return results(parents, err, func(parent string) (int32, error) { return byParent[parent], nil })
	})
}

// pageKey is one page of one parent's list.
type pageKey struct {
	parent string
	args   pageOf
}

// pageOf is model.PageArgs in a form that can be compared.
type pageOf struct {
	first, offset int32
	after         string
	hasOffset     bool
	hasAfter      bool
}

// children loads the pages of a list that hangs on each of many parents.
type children[R model.Node] struct {
	pages  *dataloader.Loader[pageKey, []R]
	totals *dataloader.Loader[string, int32]
}

func newChildren[R interface {
	model.Node
	Parent() string
}](ctx context.Context, list db.Children[R]) children[R] {
	return children[R]{
		totals: counts(ctx, list.Counts),
		pages: batch(ctx, func(ctx context.Context, keys []pageKey) []*dataloader.Result[[]R] {
			parents := map[pageOf][]string{}
			for _, key := range keys {
				parents[key.args] = append(parents[key.args], key.parent)
			}
			read := map[pageKey][]R{}
			failed := map[pageOf]error{}
			for args, ids := range parents {
				rows, err := list.Pages(ctx, ids, args.pageArgs())
				failed[args] = err
				for _, row := range rows {
					key := pageKey{row.Parent(), args}
					read[key] = append(read[key], row)
				}
			}
			return results(keys, nil, func(key pageKey) ([]R, error) { return read[key], failed[key.args] })
		}),
	}
}

// page returns one page of the parent's list.
func (c children[R]) page(ctx context.Context, parent string, args model.PageArgs) (*model.Page[R], error) {
	rows, err := c.pages.Load(ctx, pageKey{parent, keyOf(args)})()
	if err != nil {
		return nil, err
	}
	return model.NewPage(rows, args, func(ctx context.Context) (int32, error) { return c.totals.Load(ctx, parent)() }), nil
}

func keyOf(args model.PageArgs) pageOf {
	p := pageOf{first: args.First}
	if args.After != nil {
		p.after, p.hasAfter = *args.After, true
	}
	if args.Offset != nil {
		p.offset, p.hasOffset = *args.Offset, true
	}
	return p
}

func (p pageOf) pageArgs() model.PageArgs {
	args := model.PageArgs{First: p.first}
	if p.hasAfter {
		args.After = &p.after
	}
	if p.hasOffset {
		args.Offset = &p.offset
	}
	return args
}

// batch makes a loader. Its reads run under the response's context rather than that of the field
// that happened to ask first.
func batch[K comparable, V any](ctx context.Context, read func(context.Context, []K) []*dataloader.Result[V]) *dataloader.Loader[K, V] {
	return dataloader.NewBatchedLoader(
		func(_ context.Context, keys []K) []*dataloader.Result[V] { return read(ctx, keys) },
		dataloader.WithWait[K, V](batchWait),
	)
}

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
	return context.WithValue(ctx, loadersKey{}, newLoaders(ctx, l.tenant(ctx)))
}
