package engine

import (
	"context"
	"time"

	"github.com/graph-gophers/dataloader/v7"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// loadWindow is how long the agent of a run waits to be read with those of other runs. The contact is asked
	// meanwhile.
	loadWindow  = 5 * time.Millisecond
	loadTimeout = 10 * time.Second
)

// speakerOf names an agent that is to be read for a company.
type speakerOf struct {
	companyID, agentID string
	tenant             *db.Tenant
}

// speakers reads the agents of runs that begin at the same time together. Nothing is remembered: what is read was
// read after it was asked for.
type speakers = dataloader.Loader[speakerOf, *speaker]

func newSpeakers() *speakers {
	return dataloader.NewBatchedLoader(readSpeakers, dataloader.WithWait[speakerOf, *speaker](loadWindow),
		dataloader.WithCache[speakerOf, *speaker](&dataloader.NoCache[speakerOf, *speaker]{}))
}

func readSpeakers(ctx context.Context, wanted []speakerOf) []*dataloader.Result[*speaker] {
	// One run that ends must not take the others along.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	defer cancel()
	type read struct {
		speakers map[string]*speaker
		err      error
	}
	agents, of := map[string][]string{}, map[string]read{}
	for _, w := range wanted {
		agents[w.companyID] = append(agents[w.companyID], w.agentID)
	}
	results := make([]*dataloader.Result[*speaker], len(wanted))
	for i, w := range wanted {
		found, known := of[w.companyID]
		if !known {
			found.speakers, found.err = loadSpeakers(ctx, w.tenant, agents[w.companyID])
			of[w.companyID] = found
		}
		results[i] = &dataloader.Result[*speaker]{Data: found.speakers[w.agentID], Error: found.err}
		if found.err == nil && results[i].Data == nil {
			results[i].Error = model.Missing("agent", w.agentID)
		}
	}
	return results
}
