package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

const watchItems = `subscription ($id: ID!, $after: Int! = 0) {
	campaignItemUpdated(campaignId: $id, afterVersion: $after) { id runningStatus version eventList { type } campaign {
		status } }
}`

// seenItem is an event of campaignItemUpdated.
type seenItem struct {
	ID, RunningStatus string
	Version           int32
	EventList         []struct{ Type string }
	Campaign          struct{ Status string }
}

// watch returns the items of a campaign from server-sent events, until the stream completes.
func watch(t *testing.T, url, key, campaignID string, after int32) <-chan seenItem {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": watchItems, "variables": map[string]any{"id": campaignID,
		"after": after}})
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/graphql", strings.NewReader(string(body)))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("X-Api-Key", key)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	t.Cleanup(func() { _ = response.Body.Close() })
	items := make(chan seenItem)
	go func() {
		defer close(items)
		defer func() { _ = response.Body.Close() }()
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			var next struct {
				Data struct{ CampaignItemUpdated *seenItem }
			}
			data, is := strings.CutPrefix(lines.Text(), "data: ")
			if is && json.Unmarshal([]byte(data), &next) == nil && next.Data.CampaignItemUpdated != nil {
				items <- *next.Data.CampaignItemUpdated
			}
		}
	}()
	return items
}

func TestItemUpdatesReachOtherReplicas(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	elsewhere := serveStore(t, dbtest.Reopen(t, g.store))
	tenant, key := g.company(t, "Watchers")
	campaign, items := runningCampaign(t, tenant, 30)
	watched := watch(t, elsewhere, key, campaign.ID, 0)
	for range items {
		require.Equal(t, "Pending", (<-watched).RunningStatus)
	}
	done := make(chan error, 1)
	go func() {
		for _, item := range items {
			for _, to := range []model.CampaignItemStatus{
				model.CampaignItemStatusCalling, model.CampaignItemStatusProcessingResult, model.CampaignItemStatusProcessed,
			} {
				in := model.AdvanceCampaignItemInput{CampaignID: campaign.ID, ItemID: item.ID, To: to}
				if _, err := tenant.AdvanceCampaignItem(context.WithoutCancel(t.Context()), in); err != nil {
					done <- err
					return
				}
			}
		}
		_, err := tenant.UpdateCampaign(context.WithoutCancel(t.Context()), model.UpdateCampaignInput{
			CampaignID: campaign.ID, Status: new(model.CampaignStatusArchived),
		})
		done <- err
	}()
	last := map[string]seenItem{}
	version := int32(len(items))
	for item := range watched {
		require.Greater(t, item.Version, version)
		version = item.Version
		last[item.ID] = item
	}
	require.NoError(t, <-done)
	require.Len(t, last, len(items))
	for _, item := range last {
		require.Equal(t, "Processed", item.RunningStatus)
		require.Len(t, item.EventList, 3)
	}
	// A client that resumes after a version receives only the items that changed later.
	rest := 0
	for range watch(t, elsewhere, key, campaign.ID, version-2) {
		rest++
	}
	require.LessOrEqual(t, rest, 2)
	require.Positive(t, rest)
}

func TestItemUpdatesReachSockets(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Watchers")
	_, stranger := g.company(t, "Stranger")
	campaign, items := runningCampaign(t, tenant, 1)
	open := func(key string) func() frame {
		socket, response, err := websocket.Dial(t.Context(), strings.Replace(g.url, "http", "ws", 1)+"/graphql",
			&websocket.DialOptions{Subprotocols: []string{"graphql-transport-ws"}})
		require.NoError(t, err)
		if response.Body != nil {
			require.NoError(t, response.Body.Close())
		}
		t.Cleanup(func() { _ = socket.CloseNow() })
		receive := func() (f frame) {
			require.NoError(t, wsjson.Read(t.Context(), socket, &f))
			return f
		}
		hello, err := json.Marshal(map[string]string{"X-Api-Key": key})
		require.NoError(t, err)
		require.NoError(t, wsjson.Write(t.Context(), socket, frame{Type: "connection_init", Payload: hello}))
		require.Equal(t, "connection_ack", receive().Type)
		subscribe, err := json.Marshal(map[string]any{"query": watchItems, "variables": map[string]any{"id": campaign.ID}})
		require.NoError(t, err)
		require.NoError(t, wsjson.Write(t.Context(), socket, frame{ID: "1", Type: "subscribe", Payload: subscribe}))
		return receive
	}
	answer := open(stranger)()
	require.Equal(t, "error", answer.Type)
	require.Contains(t, string(answer.Payload), "NOT_FOUND")

	receive := open(key)
	for _, status := range []model.CampaignItemStatus{
		"", model.CampaignItemStatusCalling, model.CampaignItemStatusProcessingResult, model.CampaignItemStatusProcessed,
	} {
		if status == "" {
			status = model.CampaignItemStatusPending
		} else {
			advance(t, tenant, items[0], status)
		}
		next := receive()
		require.Equal(t, "next", next.Type)
		require.Contains(t, string(next.Payload), `"runningStatus":"`+status.String()+`"`)
	}
}
