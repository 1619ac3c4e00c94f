package app_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
)

// joined counts the round trips that several requests share.
type joined struct {
	batches
	mu sync.Mutex
	// underWay are the requests whose reads each connection has.
	underWay map[*pgx.Conn]int
	shared   atomic.Int64
}

type connKey struct{}

func (j *joined) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.underWay[conn]++; j.underWay[conn] == 2 {
		j.shared.Add(1)
	}
	return context.WithValue(j.batches.TraceBatchStart(ctx, conn, data), connKey{}, conn)
}

func (j *joined) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.underWay[ctx.Value(connKey{}).(*pgx.Conn)]--
}

// Two companies ask the same at once, again and again, so that plans read for both in one round trip. Each gets what
// resolvers answer, byte for byte.
func TestPlansThatReadTogetherAnswerAsResolversDo(t *testing.T) {
	t.Parallel()
	dbtest.Direct(t)
	dbtest.Unsharded(t)
	counted := &joined{underWay: map[*pgx.Conn]int{}}
	one := startBothWaysWith(t, counted, &counted.batches)
	two := *one
	two.key = one.other
	type question struct {
		of   *bothWays
		o    operation
		want string
	}
	var questions []question
	ask := func(o operation) {
		for _, of := range []*bothWays{one, &two} {
			questions = append(questions, question{of, o, of.ask(t, of.resolved, o)})
		}
	}
	for seed := range uint64(60) {
		ask(one.operations.make(seed))
	}
	for _, id := range one.operations.ids["agents"] { // some of them are the other company's
		variables := map[string]any{"id": id}
		ask(operation{`query ($id: ID!) { agent(id: $id) { id name tools { name } subAgents { name agent { name } } tests(first: 2) { nodes { name } } } }`, variables})
		ask(operation{`query ($id: ID!) { agent(id: $id) { knowledgeBaseChat { name datasets { name } } } agents(first: 3) { nodes { id tools { id } } } }`, variables})
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
				// Both companies' questions of one operation stand together, and all clients begin near each other.
				first := rand.New(rand.NewPCG(client, round)).IntN(8)
				for i := range questions {
					q := questions[(first+i)%len(questions)]
					if !assert.Equal(t, q.want, q.of.ask(t, q.of.planned, q.o), "%s\n%v", q.o.text, q.o.variables) {
						return
					}
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d of %d round trips were shared", counted.shared.Load(), counted.trips.Load())
	require.Greater(t, counted.shared.Load(), int64(10))
}
