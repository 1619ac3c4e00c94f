package resolvers

import (
	"context"
	"errors"

	"github.com/agentgraph/agentgraph/model"
)

// nodes returns what the ids name, in their order, nil where one names nothing.
func (r *Resolver) nodes(ctx context.Context, ids []string) ([]model.Node, error) {
	if len(ids) > model.MaxPageSize {
		var faults model.Fields
		faults.Add("ids", "must have at most %d entries, not %d", model.MaxPageSize, len(ids))
		return nil, faults.Err()
	}
	kinds, err := r.tenant(ctx).Kinds(ctx, ids)
	if err != nil {
		return nil, err
	}
	l := load(ctx)
	readers := map[string]func(id string) func() (model.Node, error){
		"company": func(string) func() (model.Node, error) {
			return func() (model.Node, error) { return r.tenant(ctx).Company(ctx) }
		},
		"agent":             reader(ctx, l.agents),
		"promptVersion":     reader(ctx, l.promptVersions),
		"tool":              reader(ctx, l.tools),
		"subAgent":          reader(ctx, l.subAgents),
		"knowledgeBaseChat": reader(ctx, l.knowledgeBaseChats),
		"dataset":           reader(ctx, l.datasets),
		"simulationChat":    reader(ctx, l.simulationChats),
	}
	reads := make([]func() (model.Node, error), len(ids))
	for i, id := range ids {
		if kind, ok := kinds[id]; ok {
			reads[i] = readers[kind](id)
		}
	}
	nodes := make([]model.Node, len(ids))
	for i, read := range reads {
		if read == nil {
			continue
		}
		node, err := read()
		// What was deleted between the two statements names nothing either.
		var known *model.Error
		if errors.As(err, &known) && known.Code == model.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		nodes[i] = node
	}
	return nodes, nil
}

func reader[R model.Node](ctx context.Context, loader one[R]) func(string) func() (model.Node, error) {
	return func(id string) func() (model.Node, error) {
		read := loader.later(ctx, id)
		return func() (model.Node, error) { return read() }
	}
}

// knowledgeBaseChat returns the agent's chat, nil when none is connected.
func knowledgeBaseChat(ctx context.Context, agent *model.Agent) (*model.KnowledgeBaseChat, error) {
	if agent.KnowledgeBaseChatID == nil {
		return nil, nil
	}
	return load(ctx).knowledgeBaseChats.load(ctx, *agent.KnowledgeBaseChatID)
}

// datasetTexts returns one text of each of the chat's datasets, in order.
func datasetTexts(ctx context.Context, chat *model.KnowledgeBaseChat, text func(*model.Dataset) string) ([]string, error) {
	datasets, err := load(ctx).chatDatasets.load(ctx, chat.ID)
	texts := make([]string, len(datasets))
	for i, d := range datasets {
		texts[i] = text(d)
	}
	return texts, err
}
