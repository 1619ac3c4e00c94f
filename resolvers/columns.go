package resolvers

import (
	"context"
	"slices"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// columnSet is a set of columns of one noun, a bit each. So a loader can tell keys apart by what is
// selected, and join what several fields of one query select.
type columnSet uint64

// allColumns stands for every column, known or not.
const allColumns = ^columnSet(0)

// noun knows which columns the fields of a GraphQL type need.
type noun struct {
	// types are those that a fragment on the noun, its lists or what it implements may name.
	types   []string
	columns []string
	fields  map[string]columnSet
}

// newNoun returns the noun whose fields are the columns of the row, a struct, of the same names.
// extra names the columns that other fields need, and none for those that need only the id. A field
// that is neither makes a query read every column. kinds are the types of an interface.
func newNoun(store *db.Store, name string, row any, extra map[string][]string, kinds ...string) *noun {
	n := &noun{types: append(kinds, name, name+"Connection", name+"Edge", "Node"), fields: map[string]columnSet{"__typename": 0}}
	byField := store.Columns(row)
	n.columns = make([]string, 0, len(byField))
	for _, column := range byField {
		n.columns = append(n.columns, column)
	}
	slices.Sort(n.columns)
	for field, column := range byField {
		n.fields[field] = n.bit(column)
	}
	for field, columns := range extra {
		var set columnSet
		for _, column := range columns {
			set |= n.bit(column)
		}
		n.fields[strings.ToLower(field)] = set
	}
	return n
}

func (n *noun) bit(column string) columnSet {
	return 1 << slices.Index(n.columns, column)
}

// selected returns the columns that the selection of the field being resolved needs; all of them
// for no noun.
func (n *noun) selected(ctx context.Context) columnSet {
	if n == nil {
		return allColumns
	}
	return n.of(graphql.CollectFieldsCtx(ctx, n.types))
}

// listed is selected for a field that returns a connection of the noun.
func (n *noun) listed(ctx context.Context) columnSet {
	operation := graphql.GetOperationContext(ctx)
	var set columnSet
	for _, field := range graphql.CollectFieldsCtx(ctx, n.types) {
		inner := graphql.CollectFields(operation, field.Selections, n.types)
		switch field.Name {
		case "nodes":
			set |= n.of(inner)
		case "edges":
			for _, edge := range inner {
				if edge.Name == "node" {
					set |= n.of(graphql.CollectFields(operation, edge.Selections, n.types))
				}
			}
		}
	}
	return set
}

func (n *noun) of(fields []graphql.CollectedField) columnSet {
	var set columnSet
	for _, field := range fields {
		needs, known := n.fields[strings.ToLower(field.Name)]
		if !known {
			return allColumns
		}
		set |= needs
	}
	return set
}

// names returns the columns of the set; none stands for all of them.
func (n *noun) names(set columnSet) []string {
	if set == allColumns {
		return nil
	}
	// The id is read in any case, and names that nothing else is wanted.
	names := []string{"id"}
	for i, column := range n.columns {
		if set&(1<<i) != 0 {
			names = append(names, column)
		}
	}
	return names
}

// nouns are the nouns that loaders and lists read.
type nouns struct {
	agent, tool, subAgent, promptVersion, knowledgeBaseChat, dataset, simulationChat *noun
	agentTest, agentTestFolder, agentTestExecution, agentTestRun, document, chunk    *noun
	campaign, campaignItem                                                           *noun
}

func newNouns(store *db.Store) nouns {
	return nouns{
		agent: newNoun(store, "Agent", model.Agent{}, map[string][]string{
			"knowledgeBaseChat": {"knowledge_base_chat_id"}, "knowledgeBaseChatName": {"knowledge_base_chat_id"},
			"tools": nil, "subAgents": nil, "promptVersions": nil, "simulationChats": nil,
			"tests": nil, "testFolders": nil, "testExecutions": nil, "campaigns": nil,
		}),
		tool:          newNoun(store, "Tool", model.Tool{}, map[string][]string{"agents": nil}),
		subAgent:      newNoun(store, "SubAgent", model.SubAgent{}, map[string][]string{"agent": {"delegate_agent_id"}}),
		promptVersion: newNoun(store, "PromptVersion", model.PromptVersion{}, nil),
		knowledgeBaseChat: newNoun(store, "KnowledgeBaseChat", model.KnowledgeBaseChat{}, map[string][]string{
			"datasets": nil, "datasetIds": nil, "datasetNames": nil, "connectedAgentCount": nil,
		}),
		dataset: newNoun(store, "Dataset", model.Dataset{}, map[string][]string{
			"documents": nil, "documentCount": nil, "chunkCount": nil,
		}),
		document: newNoun(store, "Document", model.Document{}, map[string][]string{"dataset": {"dataset_id"}, "chunks": nil}),
		chunk:    newNoun(store, "Chunk", model.Chunk{}, map[string][]string{"document": {"document_id"}}),
		agentTest: newNoun(store, "AgentTest", model.AgentTestRow{}, map[string][]string{
			"agent": {"agent_id"}, "folder": {"folder_id"}, "lastRun": {"last_run_id"}, "isFlaky": nil, "runs": nil,
		}, "SimulationTest", "ClassificationTest"),
		agentTestFolder: newNoun(store, "AgentTestFolder", model.AgentTestFolder{}, map[string][]string{"agent": {"agent_id"}, "tests": nil}),
		agentTestExecution: newNoun(store, "AgentTestExecution", model.AgentTestExecution{}, map[string][]string{
			"agent": {"agent_id"}, "verdict": {"status", "finished_at"}, "counts": nil, "passRate": nil, "passHatK": nil,
			"flakyTestIds": nil, "runs": nil,
		}),
		agentTestRun: newNoun(store, "AgentTestRun", model.AgentTestRun{}, map[string][]string{
			"test": {"test_id"}, "execution": {"execution_id"},
		}),
		campaign: newNoun(store, "Campaign", model.Campaign{}, map[string][]string{
			"agent": {"agent_id"}, "fields": {"agent_id", "own_fields"}, "counts": nil, "items": nil,
		}),
		campaignItem: newNoun(store, "CampaignItem", model.CampaignItem{}, map[string][]string{
			"campaign": {"campaign_id"}, "claimedUntil": {"running_status", "claim_id", "due_at"}, "eventList": nil,
		}),
		simulationChat: newNoun(store, "SimulationChat", model.SimulationChat{}, map[string][]string{
			"agent": {"agent_id"}, "status": {"status", "reply_until"}, "messages": nil, "toolCalls": nil, "coverage": nil,
		}),
	}
}
