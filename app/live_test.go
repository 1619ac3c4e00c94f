package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// subscriber is the client's end of a socket with one subscription.
type subscriber struct {
	t      *testing.T
	socket *websocket.Conn
}

// follow subscribes and returns once the subscription is open.
func (g *gatewayUnderTest) follow(t *testing.T, key, query string, variables map[string]any) *subscriber {
	t.Helper()
	addressed := strings.Replace(g.url, "http", "ws", 1) + "/graphql"
	//nolint:bodyclose // A socket's response has no body.
	socket, _, err := websocket.Dial(t.Context(), addressed,
		&websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = socket.CloseNow() })
	socket.SetReadLimit(1 << 20) // An event may contain a prompt.
	f := &subscriber{t, socket}
	hello, err := json.Marshal(map[string]string{"X-Api-Key": key})
	require.NoError(t, err)
	require.NoError(t, wsjson.Write(t.Context(), socket, frame{Type: "connection_init", Payload: hello}))
	require.Equal(t, "connection_ack", f.receive().Type)
	subscribe, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	require.NoError(t, err)
	require.NoError(t, wsjson.Write(t.Context(), socket, frame{ID: "1", Type: "subscribe", Payload: subscribe}))
	return f
}

func (f *subscriber) receive() (message frame) {
	f.t.Helper()
	require.NoError(f.t, wsjson.Read(f.t.Context(), f.socket, &message))
	return message
}

// A changed item and its selected relations are read once for all clients that follow the campaign. Subscribers with
// another selection or fewer scopes get other answers.
func TestEventIsReadOnceForAllFollowers(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	company, err := g.store.CreateCompany(t.Context(), "Followers")
	require.NoError(t, err)
	tenant, key := g.keyOf(t, company.ID, model.APIKeyScopeAdmin)
	_, reader := g.keyOf(t, company.ID, model.APIKeyScopeRead)
	elsewhere := dbtest.Reopen(t, g.store).Tenant(company.ID)
	campaign, items := runningCampaign(t, tenant, 2)
	const brief = `subscription ($id: ID!, $with: Boolean!) { campaignItemUpdated(campaignId: $id) { runningStatus version
		@include(if: $with) } }`
	statuses := []model.CampaignItemStatus{
		model.CampaignItemStatusCalling, model.CampaignItemStatusProcessingResult, model.CampaignItemStatusProcessed,
	}
	var one int64
	for i, count := range []int{1, 40} {
		var followers []*subscriber
		for n := range count {
			f := g.follow(t, []string{key, reader}[n%2], watchItems, map[string]any{"id": campaign.ID, "after": n % 2})
			for range items {
				f.receive()
			}
			followers = append(followers, f)
		}
		for _, to := range statuses {
			before := g.statements.Load()
			_, err := elsewhere.AdvanceCampaignItem(t.Context(), model.AdvanceCampaignItemInput{CampaignID: campaign.ID,
				ItemID: items[i].ID, To: to})
			require.NoError(t, err)
			first := string(followers[0].receive().Payload)
			require.Contains(t, first, `"runningStatus":"`+to.String()+`"`)
			for _, f := range followers[1:] {
				require.Equal(t, first, string(f.receive().Payload))
			}
			if spent := g.statements.Load() - before; count == 1 {
				one = max(one, spent)
			} else {
				require.LessOrEqual(t, spent, 4*one, "admins and readers of %d followers", count)
			}
		}
		for _, f := range followers {
			require.NoError(t, f.socket.CloseNow())
		}
	}
	with := g.follow(t, key, brief, map[string]any{"id": campaign.ID, "with": true})
	without := g.follow(t, key, brief, map[string]any{"id": campaign.ID, "with": false})
	for range items {
		require.Contains(t, string(with.receive().Payload), "version")
		require.NotContains(t, string(without.receive().Payload), "version")
	}
}

// Followers of one company get nothing of another company.
func TestFollowersOfOtherCompaniesGetNothing(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Followers")
	_, stranger := g.company(t, "Stranger")
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
		Name: "Front desk", Channel: model.ChannelWeb, Direction: model.DirectionInbound, Language: "en", Prompt: "Be kind.",
	})
	require.NoError(t, err)
	chat := dbtest.Chats(t, tenant, agent.ID, 1)[0]
	const messages = `subscription ($id: ID!) { simulationChatMessages(simulationChatId: $id) { text } }`
	insider := g.follow(t, key, messages, map[string]any{"id": chat})
	refused := g.follow(t, stranger, messages, map[string]any{"id": chat}).receive()
	require.Equal(t, "error", refused.Type)
	require.Contains(t, string(refused.Payload), "NOT_FOUND")
	for i := range 3 {
		turn, err := tenant.BeginChatTurn(t.Context(), chat, dbtest.WaitTimeout)
		require.NoError(t, err)
		_, err = turn.Finish(t.Context(), &model.SimulationChatMessage{Text: fmt.Sprintf("Question %d", i)},
			&model.SimulationChatMessage{Text: "Answer"}, nil)
		require.NoError(t, err)
		require.JSONEq(t, fmt.Sprintf(`{"data":{"simulationChatMessages":{"text":"Question %d"}}}`, i),
			string(insider.receive().Payload))
		insider.receive()
	}
	_, err = tenant.EndSimulationChat(t.Context(), chat)
	require.NoError(t, err)
	require.Equal(t, "complete", insider.receive().Type)
}

// A field that the key may not select ends the subscription with one error if its type is non-null. A nullable field
// becomes null.
func TestForbiddenFieldEndsTheSubscription(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, _ := g.company(t, "Followers")
	_, browse := g.keyOf(t, companyIDOf(t, tenant), model.APIKeyScopeBrowse)
	campaign, _ := runningCampaign(t, tenant, 3)
	items := func(fields string) string {
		return `subscription ($id: ID!) { campaignItemUpdated(campaignId: $id) { ` + fields + ` } }`
	}
	variables := map[string]any{"id": campaign.ID}
	f := g.follow(t, browse, items("phoneNumber dataBag"), variables)
	refused := f.receive()
	require.Equal(t, "error", refused.Type)
	var errs []struct {
		Extensions struct{ Code string }
	}
	require.NoError(t, json.Unmarshal(refused.Payload, &errs))
	require.Len(t, errs, 1)
	require.Equal(t, "FORBIDDEN", errs[0].Extensions.Code)

	subscribe, err := json.Marshal(map[string]any{"query": items("id error"), "variables": variables})
	require.NoError(t, err)
	require.NoError(t, wsjson.Write(t.Context(), f.socket, frame{ID: "1", Type: "subscribe", Payload: subscribe}))
	for range 3 {
		next := f.receive()
		require.Equal(t, "next", next.Type)
		require.Contains(t, string(next.Payload), `"error":null`)
		require.Contains(t, string(next.Payload), "FORBIDDEN")
	}

	body, err := json.Marshal(map[string]any{"query": items("phoneNumber"), "variables": variables})
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/graphql", bytes.NewReader(body))
	require.NoError(t, err)
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}, "X-Api-Key": {browse}}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	events, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(events), "FORBIDDEN"))
	require.Contains(t, string(events), "event: complete")
}
