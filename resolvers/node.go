package resolvers

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/model"
)

// nodes returns what the ids name, in their order, nil where one names nothing.
func (r *Resolver) nodes(ctx context.Context, ids []string) ([]model.Node, error) {
	if len(ids) > model.MaxPageSize {
		var faults model.Fields
		faults.Add("ids", "must have at most %d entries, not %d", model.MaxPageSize, len(ids))
		return nil, faults.Err()
	}
	t := r.tenant(ctx)
	// What no id can be names nothing.
	possible := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return strings.ContainsRune(id, 0) || !utf8.ValidString(id) })
	kinds, err := t.Kinds(ctx, possible)
	if err != nil {
		return nil, err
	}
	readers := map[string]func([]string) error{}
	found := map[string]model.Node{}
	readers["company"] = func([]string) error {
		company, err := t.Company(ctx)
		found[company.ID] = company
		return err
	}
	readers["agent"] = collect(ctx, found, t.AgentsByID)
	readers["promptVersion"] = collect(ctx, found, t.PromptVersionsByID)
	readers["tool"] = collect(ctx, found, t.ToolsByID)
	readers["subAgent"] = collect(ctx, found, t.SubAgentsByID)
	readers["knowledgeBaseChat"] = collect(ctx, found, t.KnowledgeBaseChatsByID)
	readers["dataset"] = collect(ctx, found, t.DatasetsByID)
	readers["document"] = collect(ctx, found, t.DocumentsByID)
	readers["chunk"] = collect(ctx, found, t.ChunksByID)
	readers["simulationChat"] = collect(ctx, found, t.SimulationChatsByID)
	readers["agentTest"] = collect(ctx, found, t.AgentTestsByID)
	readers["agentTestFolder"] = collect(ctx, found, t.AgentTestFoldersByID)
	readers["agentTestExecution"] = collect(ctx, found, t.AgentTestExecutionsByID)
	readers["agentTestRun"] = collect(ctx, found, t.AgentTestRunsByID)
	readers["campaign"] = collect(ctx, found, t.CampaignsByID)
	readers["campaignItem"] = collect(ctx, found, t.CampaignItemsByID)

	idsOf := map[string][]string{}
	for id, kind := range kinds {
		idsOf[kind] = append(idsOf[kind], id)
	}
	for kind, ids := range idsOf {
		if err := readers[kind](ids); err != nil {
			return nil, err
		}
	}
	nodes := make([]model.Node, len(ids))
	for i, id := range ids {
		nodes[i] = found[id]
	}
	return nodes, nil
}

// collect reads rows of one noun into found.
func collect[R model.Node](ctx context.Context, found map[string]model.Node, rows rowsOf[R]) func([]string) error {
	return func(ids []string) error {
		read, err := rows(ctx, ids)
		for _, row := range read {
			found[row.Cursor().ID] = row
		}
		return err
	}
}

// knowledgeBaseChatName returns the name of the agent's chat, nil when none is connected.
func knowledgeBaseChatName(ctx context.Context, agent *model.Agent) (*string, error) {
	chat, err := load(ctx).agentKnowledgeBaseChat.load(ctx, agent)
	if err != nil || chat == nil {
		return nil, err
	}
	return &chat.Name, nil
}

// datasetTexts returns one text of each of the chat's datasets, in order.
func datasetTexts(ctx context.Context, chat *model.KnowledgeBaseChat, text func(*model.Dataset) string) ([]string, error) {
	datasets, err := load(ctx).chatDatasets.load(ctx, chat)
	texts := make([]string, len(datasets))
	for i, d := range datasets {
		texts[i] = text(d)
	}
	return texts, err
}
