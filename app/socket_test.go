package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

// frame is a message of graphql-transport-ws.
type frame struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// A socket is long-lived, so an operation must not see rows that an earlier operation has read.
func TestLaterSocketOperationSeesChanges(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Socket")
	agentID := manyAgents(t, tenant, 2)
	agent, err := tenant.Agent(t.Context(), agentID)
	require.NoError(t, err)

	socket, response, err := websocket.Dial(t.Context(), strings.Replace(g.url, "http", "ws", 1)+"/graphql",
		&websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}})
	require.NoError(t, err)
	if response.Body != nil {
		require.NoError(t, response.Body.Close())
	}
	defer func() { _ = socket.CloseNow() }()
	send := func(id, kind string, payload any) {
		text, err := json.Marshal(payload)
		require.NoError(t, err)
		require.NoError(t, wsjson.Write(t.Context(), socket, frame{ID: id, Type: kind, Payload: text}))
	}
	receive := func(kind string) frame {
		for {
			var f frame
			require.NoError(t, wsjson.Read(t.Context(), socket, &f))
			if f.Type == kind {
				return f
			}
		}
	}
	send("", "connection_init", map[string]string{"X-Api-Key": key})
	receive("connection_ack")
	for i, name := range []string{"Chat 0", "Renamed", "Renamed again"} {
		if i > 0 {
			_, err := tenant.UpdateKnowledgeBaseChat(t.Context(),
				model.UpdateKnowledgeBaseChatInput{ChatID: *agent.KnowledgeBaseChatID, Name: &name})
			require.NoError(t, err)
		}
		send(fmt.Sprint(i), "subscribe", map[string]any{
			"query":     `query ($id: ID!) { agent(id: $id) { knowledgeBaseChat { name } } }`,
			"variables": map[string]string{"id": agentID},
		})
		require.JSONEq(t, `{"data":{"agent":{"knowledgeBaseChat":{"name":"`+name+`"}}}}`, string(receive("next").Payload))
		receive("complete")
	}
}
