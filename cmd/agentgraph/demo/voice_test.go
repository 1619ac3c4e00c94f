package demo

import (
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
	"github.com/agentgraph/agentgraph/model"
)

var rewrite = flag.Bool("rewrite", false, "write the agents' current answers to testdata/voice")

// voice describes the conversations of a file: the agent, its field values, and tool results by technical name. Other
// tools return success.
type voice struct {
	Agent   string
	DataBag map[string]string `yaml:"dataBag"`
	Results map[string]string
}

// New users see the offline model first, so its answers are recorded in testdata/voice, for each demo agent. In these
// files, a customer's line starts with ">" and a tool call with "*". All other lines are the agent's. The test fails if
// an answer changes; -rewrite rewrites the files.
func TestConversationsMatchTheirRecordings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/voice/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	store := dbtest.New(t)
	_, err = Seed(t.Context(), store)
	require.NoError(t, err)
	companies, err := store.Companies(t.Context())
	require.NoError(t, err)
	index(t, store)
	e := engine.New(offline.New(), engine.Options{Log: slog.New(slog.DiscardHandler)})
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			written, err := os.ReadFile(file)
			require.NoError(t, err)
			header, conversations, ok := strings.Cut(string(written), "\n---\n")
			require.True(t, ok)
			var v voice
			require.NoError(t, yaml.Unmarshal([]byte(header), &v))
			var said strings.Builder
			said.WriteString(header + "\n---\n")
			for i, conversation := range strings.Split(conversations, "\n---\n") {
				if i > 0 {
					said.WriteString("\n---\n")
				}
				said.WriteString(v.hold(t, store, companies, e, conversation))
			}
			said.WriteString("\n")
			if *rewrite {
				require.NoError(t, os.WriteFile(file, []byte(said.String()), 0o644))
				return
			}
			require.Equal(t, string(written), said.String())
		})
	}
}

// hold sends the customer's lines of a conversation. It returns the conversation with the agent's new answers. If the
// first line starts with "#", it describes the customer.
func (v voice) hold(t *testing.T, store *db.Store, companies []*model.Company, e *engine.Engine,
	conversation string) string {
	t.Helper()
	tenant, agent := v.find(t, store, companies)
	mocking := &model.ToolMocking{MockAllTools: true, MockAllSubAgents: true, MockCallTransfer: true}
	tools, err := tenant.ToolsOfAgents(t.Context(), []string{agent.ID})
	require.NoError(t, err)
	for _, tool := range tools {
		if result, ok := v.Results[tool.TechnicalName]; ok {
			mocking.MockedTools = append(mocking.MockedTools,
				model.MockedTool{ToolID: tool.ID, Mock: model.Mock{ResultTemplate: &result}})
		}
	}
	bag, err := model.ObjectOf(v.DataBag)
	require.NoError(t, err)
	chat, err := e.StartSimulationChat(t.Context(), tenant, model.StartSimulationChatInput{AgentID: agent.ID, DataBag: bag,
		ToolMocking: mocking})
	require.NoError(t, err)
	var said strings.Builder
	for line := range strings.Lines(conversation) {
		if strings.HasPrefix(line, "#") {
			said.WriteString(line)
		}
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "> ")
		if !ok {
			continue
		}
		fmt.Fprintf(&said, "> %s\n", text)
		_, messages, err := e.SendSimulationMessage(t.Context(), tenant,
			model.SendSimulationMessageInput{SimulationChatID: chat.ID, Text: text})
		require.NoError(t, err, text)
		answer := messages[1]
		calls, err := tenant.ToolCallsOfChats(t.Context(), []string{chat.ID})
		require.NoError(t, err)
		for _, call := range calls {
			// Retrieval queries only repeat the messages.
			if call.MessageSequence == messages[0].Sequence && call.Kind != model.ToolCallKindRetrieval {
				fmt.Fprintf(&said, "* %s %s\n", call.TechnicalName, call.Arguments)
			}
		}
		said.WriteString(answer.Text + "\n")
		if answer.IsConversationEnded {
			break
		}
	}
	return strings.TrimSuffix(said.String(), "\n")
}

// find returns the agent with the name in any of the companies.
func (v voice) find(t *testing.T, store *db.Store, companies []*model.Company) (*db.Tenant, *model.Agent) {
	t.Helper()
	for _, company := range companies {
		tenant := store.Tenant(company.ID)
		byName, _ := agentsOf(t, tenant)
		if agent := byName[v.Agent]; agent != nil {
			return tenant, agent
		}
	}
	require.Fail(t, "no such agent", v.Agent)
	return nil, nil
}
