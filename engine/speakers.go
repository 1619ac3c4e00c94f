package engine

import (
	"context"
	"time"

	"github.com/graph-gophers/dataloader/v7"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// loadWindow is how long a run waits for other runs, so that their agents are read together. The contact's model
	// writes its message during this wait.
	loadWindow  = 5 * time.Millisecond
	loadTimeout = 10 * time.Second
)

type speakerKey struct {
	companyID, agentID string
	tenant             *db.Tenant
}

// speakers batches the reads of agents for runs that start at about the same time. It caches nothing: a request never
// gets rows that were read before the request.
type speakers = dataloader.Loader[speakerKey, *Speaker]

func newSpeakers() *speakers {
	return dataloader.NewBatchedLoader(readSpeakers, dataloader.WithWait[speakerKey, *Speaker](loadWindow),
		dataloader.WithCache[speakerKey, *Speaker](&dataloader.NoCache[speakerKey, *Speaker]{}))
}

func readSpeakers(ctx context.Context, wanted []speakerKey) []*dataloader.Result[*Speaker] {
	// A run that ends must not cancel the read of other runs.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	defer cancel()
	type read struct {
		speakers map[string]*Speaker
		err      error
	}
	agents, byCompany := map[string][]string{}, map[string]read{}
	for _, w := range wanted {
		agents[w.companyID] = append(agents[w.companyID], w.agentID)
	}
	results := make([]*dataloader.Result[*Speaker], len(wanted))
	for i, w := range wanted {
		found, known := byCompany[w.companyID]
		if !known {
			found.speakers, found.err = LoadSpeakers(ctx, w.tenant, agents[w.companyID])
			byCompany[w.companyID] = found
		}
		results[i] = &dataloader.Result[*Speaker]{Data: found.speakers[w.agentID], Error: found.err}
		if found.err == nil && results[i].Data == nil {
			results[i].Error = model.Missing("agent", w.agentID)
		}
	}
	return results
}

// wantSpeakers returns the reads for agents: their rows, tools, sub-agents and knowledge base chats.
func wantSpeakers(agentIDs []string) []pg.Want {
	return []pg.Want{
		{Rows: db.AgentRows, Keys: agentIDs},
		{Rows: db.ToolsOfAgents, Keys: agentIDs},
		{Rows: db.SubAgentsOfAgents, Keys: agentIDs},
		{Rows: db.KnowledgeBaseChatOfAgents, Keys: agentIDs},
	}
}

// speakersOf returns the speakers in the rows of wantSpeakers, by the id of the agent.
func speakersOf(found [][]model.Row) map[string]*Speaker {
	speakers := make(map[string]*Speaker, len(found[0]))
	for _, row := range found[0] {
		agent := row.(*model.Agent)
		speakers[agent.ID] = &Speaker{Agent: agent}
	}
	for _, rows := range found[1:] {
		for _, row := range rows {
			s := speakers[row.Parent()]
			if s == nil {
				continue
			}
			switch row := row.(type) {
			case *model.Tool:
				s.Tools = append(s.Tools, row)
			case *model.SubAgent:
				s.SubAgents = append(s.SubAgents, row)
			case *model.KnowledgeBaseChat:
				s.chat = row
			}
		}
	}
	return speakers
}

// LoadSpeakers reads agents with their tools, sub-agents and knowledge base chats in one round trip. The result is by
// the id of the agent.
func LoadSpeakers(ctx context.Context, t *db.Tenant, agentIDs []string) (map[string]*Speaker, error) {
	if len(agentIDs) == 0 {
		return map[string]*Speaker{}, nil
	}
	found, err := t.FindTogether(ctx, wantSpeakers(model.Unique(agentIDs))...)
	if err != nil {
		return nil, err
	}
	return speakersOf(found), nil
}

// loadSpeaker reads one agent with its tools, sub-agents and knowledge base chat. The error is NOT_FOUND if the agent
// does not exist.
func loadSpeaker(ctx context.Context, t *db.Tenant, agentID string) (*Speaker, error) {
	speakers, err := LoadSpeakers(ctx, t, []string{agentID})
	if err != nil {
		return nil, err
	}
	if s := speakers[agentID]; s != nil {
		return s, nil
	}
	return nil, model.Missing("agent", agentID)
}
