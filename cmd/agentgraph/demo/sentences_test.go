package demo

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/model"
)

// asker holds conversations with the demo agents, as in agentgraph dev.
type asker struct {
	store     *db.Store
	companies []*model.Company
	engine    *engine.Engine
	variables map[string]map[string]string
}

func newAsker(t *testing.T) *asker {
	t.Helper()
	store := dbtest.New(t)
	_, err := Seed(t.Context(), store)
	require.NoError(t, err)
	companies, err := store.Companies(t.Context())
	require.NoError(t, err)
	index(t, store)
	samples, err := Samples()
	require.NoError(t, err)
	a := &asker{store: store, companies: companies, variables: map[string]map[string]string{},
		engine: engine.New(offline.New(), engine.Options{Samples: samples, Log: slog.New(slog.DiscardHandler)})}
	c := mustRead(t, "merrowby")
	for _, group := range c.AgentTests {
		for _, described := range c.Agents {
			if described.Key == group.Agent {
				a.variables[described.Name] = group.Variables
			}
		}
	}
	a.variables["Cake orders"] = map[string]string{"visitorName": "Ana", "phoneNumber": "+447700900123", "currentDate": "2026-03-02"}
	return a
}

// ask sends messages to a new chat with the agent, and returns the whole conversation.
func (a *asker) ask(t *testing.T, agentName string, mocking *model.ToolMocking, texts ...string) string {
	t.Helper()
	tenant, agent := (voice{Agent: agentName}).find(t, a.store, a.companies)
	bag, err := model.ObjectOf(maps.Clone(a.variables[agentName]))
	require.NoError(t, err)
	chat, err := a.engine.StartSimulationChat(t.Context(), tenant, model.StartSimulationChatInput{AgentID: agent.ID,
		DataBag: bag, ToolMocking: mocking})
	require.NoError(t, err)
	var said strings.Builder
	for _, text := range texts {
		fmt.Fprintf(&said, "  > %s\n", text)
		_, messages, err := a.engine.SendSimulationMessage(t.Context(), tenant,
			model.SendSimulationMessageInput{SimulationChatID: chat.ID, Text: text})
		require.NoError(t, err, text)
		calls, err := tenant.ToolCallsOfChats(t.Context(), []string{chat.ID})
		require.NoError(t, err)
		for _, call := range calls {
			if call.MessageSequence == messages[0].Sequence && call.Kind != model.ToolCallKindRetrieval {
				fmt.Fprintf(&said, "    * %s %s\n", call.TechnicalName, call.Arguments)
			}
		}
		fmt.Fprintf(&said, "  < %s\n", strings.ReplaceAll(messages[1].Text, "\n", "\n    "))
		if messages[1].IsConversationEnded {
			said.WriteString("  (ended)\n")
			break
		}
	}
	return said.String()
}

// This test prints the answers to sentences, for a person to read. Each line of the file has the agent's name, a tab,
// and messages separated by " || ". Run it with AGENTGRAPH_SENTENCES=file go test -v -run Sentences.
func TestAnswersToSentencesArePrinted(t *testing.T) {
	t.Parallel()
	path := os.Getenv("AGENTGRAPH_SENTENCES")
	if path == "" {
		t.Skip("AGENTGRAPH_SENTENCES is not set")
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	a := newAsker(t)
	mocking := &model.ToolMocking{MockAllTools: os.Getenv("AGENTGRAPH_SENTENCES_MOCKED") != ""}
	for line := range strings.Lines(string(text)) {
		name, said, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if ok {
			fmt.Printf("%s\n%s", name, a.ask(t, name, mocking, strings.Split(said, " || ")...))
		}
	}
}
