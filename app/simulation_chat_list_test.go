package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/model"
)

// listOfChats selects the fields that distinguish chats, on all paths to chats.
const listOfChats = `{
	simulationChats(first: 25, filter: {statuses: [Open]}) { totalCount nodes {
		messageCount lastMessage { sequence role text citations { number } } firstContactMessage { text } agent { name }
			isDraft draftPrompt instructions
	} }
	agents { nodes { simulationChats(first: 2, filter: {statuses: [Open, Replying]}) { totalCount nodes { messageCount
		lastMessage { text } } } } }
}`

func TestChatListStatementsDoNotGrowWithRows(t *testing.T) {
	t.Parallel()
	for _, isPlanned := range []bool{true, false} {
		address, counted, options := dbtest.URL(t), &statements{}, dbtest.Options()
		options.Tracer = counted
		g := &gatewayUnderTest{store: dbtest.Open(t, address, options)}
		g.url = servePlanned(t, g.store, gateway.DefaultSettings(), isPlanned)
		writer := dbtest.Open(t, address, dbtest.Options())
		var taken []int64
		for _, size := range []int{2, 20} {
			company, err := writer.CreateCompany(t.Context(), fmt.Sprintf("Company with %d chats", size))
			require.NoError(t, err)
			tenant := writer.Tenant(company.ID)
			_, key := g.keyOf(t, company.ID, model.APIKeyScopeWrite)
			agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
				Name: "Front desk", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en", Prompt: "Help.",
			})
			require.NoError(t, err)
			for i := range size {
				newTalk(t, tenant, agent.ID, i)
			}
			g.must(t, key, `{ company { id } }`, nil, nil) // a key's first use takes another statement
			before := counted.Load()
			var got struct {
				SimulationChats struct {
					TotalCount int
					Nodes      []struct {
						MessageCount                     int
						LastMessage, FirstContactMessage *struct{ Text string }
					}
				}
			}
			g.must(t, key, listOfChats, nil, &got)
			taken = append(taken, counted.Load()-before)
			require.Equal(t, size, got.SimulationChats.TotalCount)
			for i, chat := range got.SimulationChats.Nodes {
				turns := (size - 1 - i) % 3
				require.Equal(t, 2*turns, chat.MessageCount)
				if turns == 0 {
					require.Nil(t, chat.LastMessage)
					require.Nil(t, chat.FirstContactMessage)
					continue
				}
				require.Equal(t, fmt.Sprintf("Answer %d", turns), chat.LastMessage.Text)
				require.Equal(t, "Question 1", chat.FirstContactMessage.Text)
			}
		}
		require.Equal(t, taken[0], taken[1], "statements do not grow with the chats")
	}
}

// newTalk creates a chat with n mod 3 turns.
func newTalk(t *testing.T, tenant *db.Tenant, agentID string, n int) {
	t.Helper()
	chat := &model.SimulationChat{AgentID: agentID, DataBag: model.JSONObject(`{}`), Warnings: []string{}}
	require.NoError(t, tenant.CreateSimulationChat(t.Context(), chat))
	for turn := range n % 3 {
		held, err := tenant.BeginChatTurn(t.Context(), chat.ID, time.Minute)
		require.NoError(t, err)
		_, err = held.Finish(t.Context(), &model.SimulationChatMessage{Text: fmt.Sprintf("Question %d", turn+1)},
			&model.SimulationChatMessage{Text: fmt.Sprintf("Answer %d", turn+1)}, nil)
		require.NoError(t, err)
	}
}
