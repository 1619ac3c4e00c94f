package app_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// clinic is a company whose front desk agent books, searches, transfers calls and delegates to an expert. The expert
// has the tool dig. The model follows a script.
type clinic struct {
	*served
	model, address                  string
	provider                        *stubServer
	desk, book, lookUp, expert, dig string
}

const (
	askExpert = `{"request":"How do I get up?"}`
	// knock is a message that each clinic's model answers with a fixed reply, which is not in its script.
	knock = "Knock, knock"
)

func openClinic(t *testing.T, script ...fixture) *clinic {
	t.Helper()
	name := modelNameFor(t.Name())
	answersKnock := says("Who is there?").but("match", fixture{"userMessage": knock})
	c := &clinic{model: name,
		provider: startProvider(t, map[string][]fixture{name: append([]fixture{answersKnock}, script...)})}
	address := dbtest.URL(t)
	g := &gatewayUnderTest{store: dbtest.Open(t, address, dbtest.Options())}
	tenant, key := g.company(t, "Clinic")
	ctx := t.Context()
	c.desk, c.book = frontDesk(t, tenant)
	_, err := tenant.UpdateAgent(ctx, model.UpdateAgentInput{AgentID: c.desk, Channel: new(model.ChannelPhone),
		IsCallTransferEnabled: new(true)})
	require.NoError(t, err)
	expert, err := tenant.CreateAgent(ctx, model.CreateAgentInput{
		Name: "Expert", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en",
		Prompt: "You are the expert.",
	})
	require.NoError(t, err)
	for _, tool := range []struct {
		id           *string
		agent, named string
	}{{&c.lookUp, c.desk, "look_up"}, {&c.dig, expert.ID, "dig"}} {
		created, err := tenant.CreateTool(ctx, model.CreateToolInput{Name: tool.named, TechnicalName: tool.named})
		require.NoError(t, err)
		_, err = tenant.ConnectTool(ctx, model.ConnectToolInput{AgentID: tool.agent, ToolID: created.ID})
		require.NoError(t, err)
		*tool.id = created.ID
	}
	edge, _, err := tenant.AddSubAgent(ctx, model.AddSubAgentInput{
		AgentID: c.desk, DelegateAgentID: expert.ID, Name: "Expert", TechnicalName: "ask_expert",
	})
	require.NoError(t, err)
	c.expert = edge.ID
	c.address = address
	c.served = c.serve(t, key)
	return c
}

// serve runs the program on the clinic's database, with an engine of its own.
func (c *clinic) serve(t *testing.T, key string, with ...func(*app.EngineOptions)) *served {
	t.Helper()
	s := serve(t, c.address, key, append(with, c.provider.asks(c.model))...)
	t.Cleanup(func() { s.requireNoKey(t, providerKey) })
	return s
}

// asked returns the requests that the scripted model received.
func (c *clinic) asked(t *testing.T) []request {
	t.Helper()
	return c.provider.asked(t, c.model)
}

// callResults returns the call results in a request as "name: result", in order.
func (r request) callResults() []string {
	results := []string{}
	for _, m := range r.Messages {
		if m.Role == "tool" {
			results = append(results, strings.TrimPrefix(m.ToolCallID, "made_by_")+": "+m.Content)
		}
	}
	return results
}

func (r request) offered() []string {
	offered := []string{}
	for _, tool := range r.Tools {
		offered = append(offered, tool.Function.Name)
	}
	return offered
}

type mocking = map[string]any

func mockedTool(id string, more mocking) mocking {
	mock := mocking{"toolId": id}
	for name, value := range more {
		mock[name] = value
	}
	return mock
}

// restChat is a chat as REST v1 returns it.
type restChat struct {
	SimulationChatID string
	Messages         []struct {
		Role, Text          string
		IsConversationEnded bool
		EndReason           *string
	}
}

// chatEvent is an event of simulationChatEvents.
type chatEvent struct {
	Type          string `json:"__typename"`
	TechnicalName string
	Result        *string
	Mocked        bool
	Message       struct{ Text string }
}

// follow subscribes to a chat and returns its events. It returns after the subscription's first event, so no later
// event is missed.
func (c *clinic) follow(t *testing.T, chatID string) <-chan chatEvent {
	t.Helper()
	body, err := json.Marshal(map[string]any{"variables": map[string]any{"id": chatID}, "query": `subscription ($id: ID!) {
		simulationChatEvents(simulationChatId: $id) {
			__typename
			... on ToolCallStarted { technicalName }
			... on ToolCallFinished { technicalName result mocked }
			... on MessageWritten { message { text } }
		}
	}`})
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+"/graphql", strings.NewReader(string(body)))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("X-Api-Key", c.key)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	t.Cleanup(func() { _ = response.Body.Close() })
	events := make(chan chatEvent, 1_000)
	go func() {
		defer close(events)
		defer func() { _ = response.Body.Close() }()
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			var next struct {
				Data struct{ SimulationChatEvents chatEvent }
			}
			if data, is := strings.CutPrefix(lines.Text(), "data: "); is && json.Unmarshal([]byte(data), &next) == nil {
				events <- next.Data.SimulationChatEvents
			}
		}
	}()
	for {
		c.say(t, chatID, knock)
		select {
		case <-events:
			return events
		default:
		}
	}
}
