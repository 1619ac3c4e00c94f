package resolvers

import (
	"context"
	"sync"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/graph-gophers/dataloader/v7"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/model"
)

// loaders read what hangs on the rows of one response: one statement for each level and edge of the
// query, whatever the number of rows. They remember what they read, so they live no longer than the
// response.
type loaders struct {
	agentTools             *edge[*model.Agent, []*model.Tool]
	agentSubAgents         *edge[*model.Agent, []*model.SubAgent]
	agentKnowledgeBaseChat *edge[*model.Agent, *model.KnowledgeBaseChat]
	agentPromptVersions    *edge[*model.Agent, *model.PromptVersionConnection]
	agentSimulationChats   *edge[*model.Agent, *model.SimulationChatConnection]
	toolAgents             *edge[*model.Tool, *model.AgentConnection]
	subAgentAgent          *edge[*model.SubAgent, *model.Agent]
	chatDatasets           *edge[*model.KnowledgeBaseChat, []*model.Dataset]
	chatAgentCount         *edge[*model.KnowledgeBaseChat, int32]
	simulationAgent        *edge[*model.SimulationChat, *model.Agent]
	simulationMessages     *edge[*model.SimulationChat, []*model.SimulationChatMessage]
	simulationToolCalls    *edge[*model.SimulationChat, []*model.ToolCall]
	simulationCoverage     *edge[*model.SimulationChat, []*model.CallCoverage]
	consumptionAgent       *edge[*model.AgentConsumption, *model.Agent]
	consumptionCampaign    *edge[*model.CampaignConsumption, *model.Campaign]

	*testLoaders
	*campaignLoaders
	*documentLoaders
}

func newLoaders(ctx context.Context, t *db.Tenant, e *engine.Engine, n nouns) *loaders {
	// Where several fields share an edge (datasets, datasetIds, datasetNames) it has no noun: all of
	// them find what one statement read with all its columns.
	return &loaders{
		agentTools:             newEdge(ctx, n.tool, idOf[*model.Agent], many(t.ToolsOfAgents)),
		agentSubAgents:         newEdge(ctx, n.subAgent, idOf[*model.Agent], many(t.SubAgentsOfAgents)),
		agentKnowledgeBaseChat: newEdge(ctx, nil, (*model.Agent).ChatID, one("knowledge base chat", t.KnowledgeBaseChatsByID)),
		agentPromptVersions:    newEdge(ctx, n.promptVersion, idOf[*model.Agent], pages(t.AgentPromptVersions())),
		agentSimulationChats:   newEdge(ctx, n.simulationChat, idOf[*model.Agent], pages(t.AgentSimulationChats())),
		toolAgents:             newEdge(ctx, n.agent, idOf[*model.Tool], pages(t.ToolAgents())),
		subAgentAgent:          newEdge(ctx, n.agent, func(s *model.SubAgent) string { return s.DelegateAgentID }, one("agent", t.AgentsByID)),
		chatDatasets:           newEdge(ctx, nil, idOf[*model.KnowledgeBaseChat], many(t.DatasetsOfChats)),
		chatAgentCount:         newEdge(ctx, nil, idOf[*model.KnowledgeBaseChat], numbers(t.AgentCountsOfChats)),
		simulationAgent:        newEdge(ctx, n.agent, func(c *model.SimulationChat) string { return c.AgentID }, one("agent", t.AgentsByID)),
		simulationMessages:     newEdge(ctx, nil, idOf[*model.SimulationChat], many(whole(t.MessagesOfChats))),
		simulationToolCalls:    newEdge(ctx, nil, idOf[*model.SimulationChat], many(whole(t.ToolCallsOfChats))),
		simulationCoverage:     newEdge(ctx, nil, idOf[*model.SimulationChat], coverage(t, e)),
		consumptionAgent:       newEdge(ctx, n.agent, resolvedAgent, one("agent", t.AgentsByID)),
		consumptionCampaign:    newEdge(ctx, n.campaign, resolvedCampaign, one("campaign", t.CampaignsByID)),

		testLoaders:     newTestLoaders(ctx, t, n),
		campaignLoaders: newCampaignLoaders(ctx, t, n),
		documentLoaders: newDocumentLoaders(ctx, t, n),
	}
}

// parent is a row that something hangs on.
type parent interface{ Batch() *model.Batch }

func idOf[R model.Node](row R) string { return row.Cursor().ID }

// resolvedAgent is the agent that used something, if it still exists.
func resolvedAgent(c *model.AgentConsumption) string {
	if c.NameStatus != model.NameStatusResolved {
		return ""
	}
	return c.AgentID
}

// resolvedCampaign is the campaign that something was used for, if it still exists.
func resolvedCampaign(c *model.CampaignConsumption) string {
	if c.NameStatus != model.NameStatusResolved {
		return ""
	}
	return c.CampaignID
}

// want is how a field wants what it leads to: which columns, and which part of a list.
type want struct {
	columns             columnSet
	first, offset       int32
	after               string
	hasOffset, hasAfter bool
}

func (w want) args() model.PageArgs {
	args := model.PageArgs{First: w.first}
	if w.hasAfter {
		args.After = &w.after
	}
	if w.hasOffset {
		args.Offset = &w.offset
	}
	return args
}

// edge leads from the rows of one noun to what hangs on them. The first row of a batch that asks
// makes it read for all of them. So the number of statements does not depend on which fields happen
// to be resolved at the same time, and nobody waits for others to ask.
type edge[P parent, V any] struct {
	ctx  context.Context
	noun *noun
	// key is where a row leads; "" is nowhere.
	key  func(P) string
	read read[V]

	mu      sync.Mutex
	loaders map[asked]*dataloader.Loader[string, V]
}

// asked tells reads of one edge apart: for which rows, a batch or a row that was read alone, and how.
type asked struct {
	rows any
	want want
}

func newEdge[P parent, V any](ctx context.Context, n *noun, key func(P) string, read read[V]) *edge[P, V] {
	return &edge[P, V]{ctx: ctx, noun: n, key: key, read: read, loaders: map[asked]*dataloader.Loader[string, V]{}}
}

// load returns what hangs on the row, with the columns that the field being resolved selects.
func (e *edge[P, V]) load(ctx context.Context, row P) (V, error) {
	return e.loadAs(row, want{columns: e.noun.selected(ctx)})
}

// page is load for one page of a list.
func (e *edge[P, V]) page(ctx context.Context, row P, first int32, after *string, offset *int32) (V, error) {
	w := want{columns: e.noun.listed(ctx), first: first}
	if after != nil {
		w.after, w.hasAfter = *after, true
	}
	if offset != nil {
		w.offset, w.hasOffset = *offset, true
	}
	return e.loadAs(row, w)
}

func (e *edge[P, V]) loadAs(row P, w want) (V, error) {
	key := e.key(row)
	if key == "" {
		var nothing V
		return nothing, nil
	}
	return e.loader(row, w).Load(e.ctx, key)()
}

// loader returns the loader of the row's batch, which has read, or is reading, all of it.
func (e *edge[P, V]) loader(row P, w want) *dataloader.Loader[string, V] {
	a := asked{rows: row.Batch(), want: w}
	rows := []any{row}
	if batch := row.Batch(); batch != nil {
		rows = batch.Rows
	} else {
		a.rows = row
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if loader, ok := e.loaders[a]; ok {
		return loader
	}
	keys := make([]string, 0, len(rows))
	seen := make(map[string]bool, len(rows))
	for _, r := range rows {
		if key := e.key(r.(P)); key != "" && !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	// The last key fills the batch, which is then read at once. The wait is never over: a busy process that took its
	// time here would read twice.
	loader := dataloader.NewBatchedLoader(e.batch(w), dataloader.WithBatchCapacity[string, V](len(keys)), dataloader.WithWait[string, V](time.Hour))
	for _, key := range keys {
		loader.Load(e.ctx, key)
	}
	e.loaders[a] = loader
	return loader
}

func (e *edge[P, V]) batch(w want) dataloader.BatchFunc[string, V] {
	return func(_ context.Context, keys []string) []*dataloader.Result[V] {
		// The response's context, rather than that of the field that happened to ask first.
		find, err := e.read(e.ctx, keys, e.noun.names(w.columns), w.args())
		results := make([]*dataloader.Result[V], len(keys))
		for i, key := range keys {
			results[i] = &dataloader.Result[V]{Error: err}
			if err == nil {
				results[i].Data, results[i].Error = find(key)
			}
		}
		return results
	}
}

// read reads what all keys lead to, and returns how to find what one of them leads to.
type read[V any] func(ctx context.Context, keys, columns []string, args model.PageArgs) (func(key string) (V, error), error)

// rowsOf reads rows by the ids of themselves or of their parents.
type rowsOf[R any] = func(ctx context.Context, ids []string, columns ...string) ([]R, error)

// one reads one row per key; the name is the noun's, for the error when there is none.
func one[R model.Node](name string, rows rowsOf[R]) read[R] {
	return func(ctx context.Context, keys, columns []string, _ model.PageArgs) (func(string) (R, error), error) {
		found, err := rows(ctx, keys, columns...)
		byID := make(map[string]R, len(found))
		for _, row := range found {
			byID[row.Cursor().ID] = row
		}
		return func(key string) (R, error) {
			row, ok := byID[key]
			if !ok {
				return row, model.Missing(name, key)
			}
			return row, nil
		}, err
	}
}

// many reads many rows per key; the rows know their parents.
func many[R interface{ Parent() string }](rows rowsOf[R]) read[[]R] {
	return func(ctx context.Context, keys, columns []string, _ model.PageArgs) (func(string) ([]R, error), error) {
		found, err := rows(ctx, keys, columns...)
		byParent := byParent(found)
		return func(key string) ([]R, error) { return byParent[key], nil }, err
	}
}

func byParent[R interface{ Parent() string }](rows []R) map[string][]R {
	byParent := make(map[string][]R, len(rows))
	for _, row := range rows {
		byParent[row.Parent()] = append(byParent[row.Parent()], row)
	}
	return byParent
}

// whole makes rows that always have all their columns fit many.
func whole[R any](rows func(context.Context, []string) ([]R, error)) rowsOf[R] {
	return func(ctx context.Context, ids []string, _ ...string) ([]R, error) { return rows(ctx, ids) }
}

// numbers reads one number per key, in the order of the keys.
func numbers(count func(context.Context, []string) ([]int32, error)) read[int32] {
	return func(ctx context.Context, keys, _ []string, _ model.PageArgs) (func(string) (int32, error), error) {
		found, err := count(ctx, keys)
		byKey := make(map[string]int32, len(found))
		for i, number := range found {
			byKey[keys[i]] = number
		}
		return func(key string) (int32, error) { return byKey[key], nil }, err
	}
}

// childList is a list that hangs on each of several parents, such as db.Children.
type childList[R any] interface {
	Pages(ctx context.Context, parents []string, args model.PageArgs, columns ...string) ([]R, error)
	Counts(ctx context.Context, parents []string) ([]int32, error)
}

// pages reads the same page of each parent's list. All lists are counted as soon as one is asked for
// its total.
func pages[R interface {
	model.Node
	Parent() string
}](list childList[R]) read[*model.Page[R]] {
	return func(ctx context.Context, keys, columns []string, args model.PageArgs) (func(string) (*model.Page[R], error), error) {
		found, err := list.Pages(ctx, keys, args, columns...)
		byParent := byParent(found)
		totals := sync.OnceValues(func() (func(string) (int32, error), error) {
			return numbers(list.Counts)(ctx, keys, nil, args)
		})
		return func(key string) (*model.Page[R], error) {
			return model.NewPage(byParent[key], args, func(context.Context) (int32, error) {
				total, err := totals()
				if err != nil {
					return 0, err
				}
				return total(key)
			}), nil
		}, err
	}
}

// coverage reads what would happen to the calls of chats.
func coverage(t *db.Tenant, e *engine.Engine) read[[]*model.CallCoverage] {
	return func(ctx context.Context, keys, _ []string, _ model.PageArgs) (func(string) ([]*model.CallCoverage, error), error) {
		chats, err := t.SimulationChatsByID(ctx, keys, "agent_id", "tool_mocking")
		if err != nil {
			return nil, err
		}
		found, err := e.Coverage(ctx, t, chats)
		return func(key string) ([]*model.CallCoverage, error) { return found[key], nil }, err
	}
}

// byID reads one row for a field that names it by its id, or returns NOT_FOUND.
func byID[R model.Node](ctx context.Context, n *noun, name, id string, rows rowsOf[R]) (R, error) {
	find, err := one(name, rows)(ctx, []string{id}, n.names(n.selected(ctx)), model.PageArgs{})
	if err != nil {
		var nothing R
		return nothing, err
	}
	return find(id)
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
	return context.WithValue(ctx, loadersKey{}, newLoaders(ctx, l.tenant(ctx), l.engine, l.nouns))
}
