package app_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/multitracer"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

// Two companies repeat the same queries at the same time, so that their plans share connections. Each gets the same
// bytes as from resolvers.
func TestPipelinedQueryPlansAnswerLikeResolvers(t *testing.T) {
	t.Parallel()
	dbtest.SkipIfPooled(t)
	dbtest.SkipIfSharded(t)
	counted, shared := &batches{}, &dbtest.SharedReads{}
	one := startBothWaysWith(t, multitracer.New(counted, shared), counted)
	two := *one
	two.key = one.other
	type question struct {
		gateways *bothWays
		o        operation
		want     string
	}
	var questions []question
	ask := func(o operation) {
		for _, gateways := range []*bothWays{one, &two} {
			questions = append(questions, question{gateways, o, gateways.ask(t, gateways.resolved, o)})
		}
	}
	for seed := range uint64(60) {
		ask(one.operations.make(seed))
	}
	for _, id := range one.operations.ids["agents"] { // some ids belong to the other company
		variables := map[string]any{"id": id}
		ask(operation{`query ($id: ID!) { agent(id: $id) { id name tools { name } subAgents { name agent { name } }
			tests(first: 2) { nodes { name } } } }`, variables})
		ask(operation{`query ($id: ID!) { agent(id: $id) { knowledgeBaseChat { name datasets { name } } } agents(first: 3) {
			nodes { id tools { id } } } }`, variables})
	}
	const clients = 16
	rounds := uint64(3)
	if raceDetector {
		rounds = 1
	}
	var all sync.WaitGroup
	for client := range uint64(clients) {
		all.Go(func() {
			for round := range rounds {
				// The two companies' versions of an operation are adjacent, and all clients start at nearby operations.
				first := rand.New(rand.NewPCG(client, round)).IntN(8)
				for i := range questions {
					q := questions[(first+i)%len(questions)]
					if !assert.Equal(t, q.want, q.gateways.ask(t, q.gateways.planned, q.o), "%s\n%v", q.o.text, q.o.variables) {
						return
					}
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d of %d pipelines were shared", shared.Shared(), counted.trips.Load())
	require.Greater(t, shared.Shared(), 10)
}
