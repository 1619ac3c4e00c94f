package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// newVictimCampaign returns the ids of a campaign with one item that was called.
func newVictimCampaign(t *testing.T, tenant *db.Tenant, agentID string) map[string]string {
	t.Helper()
	campaign, err := tenant.CreateCampaign(t.Context(), model.CreateCampaignInput{AgentID: agentID,
		Name: "SECRET campaign", MaxAttempts: 1})
	require.NoError(t, err)
	_, _, err = tenant.AddCampaignField(t.Context(), model.AddCampaignFieldInput{CampaignID: campaign.ID, Name: "SECRET"})
	require.NoError(t, err)
	added, err := tenant.AddCampaignItems(t.Context(), model.AddCampaignItemsInput{CampaignID: campaign.ID,
		Items: []*model.CampaignItemInput{
			{PhoneNumber: "+12025550143", DataBag: model.JSONObject(`{"name":"SECRET"}`)},
		}})
	require.NoError(t, err)
	items := added.Items
	for _, to := range []model.CampaignItemStatus{model.CampaignItemStatusCalling, model.CampaignItemStatusError} {
		_, err = tenant.AdvanceCampaignItem(t.Context(), model.AdvanceCampaignItemInput{
			CampaignID: campaign.ID, ItemID: items[0].ID, To: to, Reason: new("SECRET reason"),
		})
		require.NoError(t, err)
	}
	return map[string]string{"campaign": campaign.ID, "item": items[0].ID, "campaignItem": items[0].ID}
}

// runningCampaign returns a running campaign with count items and its own agent.
func runningCampaign(t testing.TB, tenant *db.Tenant, count int) (*model.Campaign, []*model.CampaignItem) {
	t.Helper()
	ctx := t.Context()
	agent, err := tenant.CreateAgent(ctx, model.CreateAgentInput{
		Name: "Caller", Channel: model.ChannelPhone, Direction: model.DirectionOutbound, Language: "en",
		Prompt: "Call {firstName}.",
		Fields: []*model.AgentField{{Name: "firstName", IsMandatory: true},
			{Name: "phoneNumber", IsSystem: true, IsMandatory: true}},
	})
	require.NoError(t, err)
	campaign, err := tenant.CreateCampaign(ctx, model.CreateCampaignInput{AgentID: agent.ID, Name: "Renewals",
		MaxAttempts: 2, RetryDelayMinutes: 30})
	require.NoError(t, err)
	campaign, err = tenant.UpdateCampaign(ctx, model.UpdateCampaignInput{CampaignID: campaign.ID,
		Status: new(model.CampaignStatusRunning)})
	require.NoError(t, err)
	in := model.AddCampaignItemsInput{CampaignID: campaign.ID}
	for i := range count {
		in.Items = append(in.Items, &model.CampaignItemInput{
			PhoneNumber: fmt.Sprintf("+1202555%04d", 100+i), DataBag: model.JSONObject(`{"firstName":"Ada"}`),
		})
	}
	added, err := tenant.AddCampaignItems(ctx, in)
	require.NoError(t, err)
	return campaign, added.Items
}

func advance(t testing.TB, tenant *db.Tenant, item *model.CampaignItem, moves ...model.CampaignItemStatus) {
	t.Helper()
	for _, to := range moves {
		_, err := tenant.AdvanceCampaignItem(t.Context(), model.AdvanceCampaignItemInput{CampaignID: item.CampaignID,
			ItemID: item.ID, To: to})
		require.NoError(t, err)
	}
}

func TestGraphQLRunsCampaignToItsEnd(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Campaigns")
	agentID := manyAgents(t, tenant, 2)
	_, err := tenant.UpdateAgent(t.Context(), model.UpdateAgentInput{
		AgentID: agentID, Channel: new(model.ChannelPhone), Direction: new(model.DirectionOutbound),
		Fields: []*model.AgentField{{Name: "firstName", IsMandatory: true}},
	})
	require.NoError(t, err)
	var made struct {
		CreateCampaign struct{ Campaign struct{ ID, Status string } }
	}
	g.must(t, key, `mutation ($id: ID!) { createCampaign(input: {agentId: $id, name: "Leads", maxAttempts: 1,
		defaultRegion: "US"}) { campaign { id status } } }`,
		map[string]any{"id": agentID}, &made)
	id := made.CreateCampaign.Campaign.ID
	require.Equal(t, "Draft", made.CreateCampaign.Campaign.Status)
	g.must(t, key, `mutation ($id: ID!) {
		addCampaignField(input: {campaignId: $id, name: "offer", description: "What is offered"}) { field { name } }
		updateCampaign(input: {campaignId: $id, status: Running}) { campaign { status } }
	}`, map[string]any{"id": id}, nil)

	refused := g.query(t, key, `mutation ($id: ID!) { addCampaignItems(input: {campaignId: $id, items: [
		{phoneNumber: "202 555 0143", dataBag: {firstName: "Ada"}}, {phoneNumber: "12"},
			{}]}) { items { id } } }`, map[string]any{"id": id})
	require.Equal(t, []string{"BAD_INPUT"}, refused.codes())
	require.Contains(t, refused.Errors[0].Extensions.Fields, "items.1.phoneNumber")
	require.Contains(t, refused.Errors[0].Extensions.Fields, "items.2.phoneNumber")
	require.Contains(t, refused.Errors[0].Extensions.Fields, "items.2.dataBag.firstName", "all faults at once")
	refused = g.query(t, key,
		`mutation ($id: ID!) { addCampaignItems(input: {campaignId: $id, items: [{phoneNumber: "202 555 0143"}]}) { items { id
			} } }`,
		map[string]any{"id": id})
	require.Equal(t, []string{"UNPROCESSABLE"}, refused.codes())
	require.Contains(t, refused.Errors[0].Extensions.Fields, "items.0.dataBag.firstName")

	var added struct {
		AddCampaignItems struct {
			Items []struct{ ID, PhoneNumber string }
		}
	}
	g.must(t, key, `mutation ($id: ID!) { addCampaignItems(input: {campaignId: $id, items: [
		{phoneNumber: "202 555 0143", dataBag: {firstName: "Ada"}}, {phoneNumber: "+33199001234",
			dataBag: {firstName: "Al"}}]}) { items { id phoneNumber } } }`,
		map[string]any{"id": id}, &added)
	items := added.AddCampaignItems.Items
	require.Equal(t, "+12025550143", items[0].PhoneNumber)
	var claimed struct {
		ClaimCampaignItems struct {
			ClaimID string
			Items   []struct{ ID, RunningStatus, ClaimedUntil string }
		}
	}
	g.must(t, key, `mutation ($id: ID!) { claimCampaignItems(input: {campaignId: $id,
		limit: 1}) { claimId items { id runningStatus claimedUntil } } }`,
		map[string]any{"id": id}, &claimed)
	require.Equal(t, items[0].ID, claimed.ClaimCampaignItems.Items[0].ID)
	require.NotEmpty(t, claimed.ClaimCampaignItems.Items[0].ClaimedUntil)

	names := map[string]any{"id": id, "item": items[0].ID, "claim": claimed.ClaimCampaignItems.ClaimID}
	wrong := g.query(t, key,
		`mutation ($id: ID!, $item: ID!) { advanceCampaignItem(input: {campaignId: $id, itemId: $item,
			to: Processed}) { item { id } } }`, names)
	require.Equal(t, []string{"CONFLICT"}, wrong.codes())
	require.Contains(t, wrong.Errors[0].Message, "only to Calling")
	g.must(t, key, `mutation ($id: ID!, $item: ID!, $claim: ID!) {
		renewCampaignClaim(input: {campaignId: $id, claimId: $claim}) { items { id } }
		a: advanceCampaignItem(input: {campaignId: $id, itemId: $item, to: Calling, claimId: $claim}) { item { id } }
		b: advanceCampaignItem(input: {campaignId: $id, itemId: $item, to: Pending, answered: false}) { item { id } }
	}`, names, nil)
	item := g.query(t, key, `query ($id: ID!, $item: ID!) { campaignItem(campaignId: $id, id: $item) {
		runningStatus attemptCount nextTryDate isArchived dataBag error claimedUntil
		result { tag { id name color } conversation { id } summary isSystem metadata } eventList { type description }
		campaign { name fields { name description isMandatory isSystem } counts { total pending processed } agent { id } } }
			}`, names)
	require.Empty(t, item.Errors)
	require.JSONEq(t, `{"campaignItem": {
		"runningStatus": "Processed", "attemptCount": 1, "nextTryDate": null, "isArchived": false, "dataBag": {"firstName": "Ada"}, "error": null, "claimedUntil": null,
		"result": {"tag": {"id": "tag_no_answer", "name": "No answer", "color": "#6B7280"}, "conversation": null, "summary": null, "isSystem": true, "metadata": {}},
		"eventList": [{"type": "LaunchCall", "description": "Attempt 1 of 1 began: +*******0143."}, {"type": "EndCall", "description": "Nobody answered the last attempt."}],
		"campaign": {"name": "Leads", "agent": {"id": "`+agentID+`"}, "counts": {"total": 2, "pending": 1, "processed": 1}, "fields": [
			{"name": "firstName", "description": null, "isMandatory": true, "isSystem": false},
			{"name": "offer", "description": "What is offered", "isMandatory": false, "isSystem": false}]}}}`, string(item.Data))

	rest := g.query(t, key, `query ($id: ID!, $item: ID!) {
		node(id: $item) { ... on CampaignItem { campaignId } }
		campaigns(filter: {statuses: [Running], nameContains: "lea"}) { nodes { id } totalCount }
		campaign(id: $id) { items(runningStatus: Pending) { nodes { phoneNumber } totalCount } }
		campaignItems(campaignId: $id, isArchived: true) { totalCount }
	}`, names)
	require.Empty(t, rest.Errors)
	require.JSONEq(t, `{"node": {"campaignId": "`+id+`"}, "campaigns": {"nodes": [{"id": "`+id+`"}], "totalCount": 1},
		"campaign": {"items": {"nodes": [{"phoneNumber": "+33199001234"}], "totalCount": 1}}, "campaignItems": {"totalCount": 0}}`, string(rest.Data))
	g.must(t, key, `mutation ($id: ID!, $item: ID!) {
		resetCampaignItem(input: {campaignId: $id, itemId: $item}) { item { runningStatus } }
		archiveCampaignItems(input: {campaignId: $id, itemIds: [$item]}) { items { isArchived } }
		deleteCampaignItem(input: {campaignId: $id, itemId: $item}) { deletedId }
	}`, names, nil)
	gone := g.query(t, key,
		`query ($id: ID!, $item: ID!) { campaignItem(campaignId: $id, id: $item) { id } campaign(id: "campaign_none") { id }
			}`, names)
	require.ElementsMatch(t, []string{"NOT_FOUND", "NOT_FOUND"}, gone.codes())
}

func TestOmittedObjectsAreEmpty(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Campaigns")
	agent, err := tenant.CreateAgent(t.Context(), model.CreateAgentInput{
		Name: "Widget", Channel: model.ChannelWeb, Direction: model.DirectionOutbound, Language: "en", Prompt: "Talk.",
		ClassificationTags: []*model.ClassificationTag{{Name: "Praise", Definition: "Praises."}},
	})
	require.NoError(t, err)
	campaign, err := tenant.CreateCampaign(t.Context(), model.CreateCampaignInput{AgentID: agent.ID, Name: "Visits",
		MaxAttempts: 1})
	require.NoError(t, err)
	names := map[string]any{"agent": agent.ID, "id": campaign.ID}
	added := g.query(t, key,
		`mutation ($id: ID!) { addCampaignItems(input: {campaignId: $id, items: [{},
			{dataBag: null}]}) { items { dataBag } } }`, names)
	require.Empty(t, added.Errors)
	require.JSONEq(t, `{"addCampaignItems": {"items": [{"dataBag": {}}, {"dataBag": {}}]}}`, string(added.Data))
	var page struct {
		Campaign struct {
			Items struct{ Nodes []struct{ ID string } }
		}
	}
	g.must(t, key, `query ($id: ID!) { campaign(id: $id) { items { nodes { id } } } }`, names, &page)
	names["item"] = page.Campaign.Items.Nodes[0].ID
	moved := g.query(t, key, `mutation ($id: ID!, $item: ID!) {
		a: advanceCampaignItem(input: {campaignId: $id, itemId: $item, to: Calling}) { item { id } }
		b: advanceCampaignItem(input: {campaignId: $id, itemId: $item, to: ProcessingResult}) { item { id } }
		c: advanceCampaignItem(input: {campaignId: $id, itemId: $item, to: Processed,
			result: {summary: "Short"}}) { item { result { summary metadata } } }
	}`, names)
	require.Empty(t, moved.Errors)
	require.Contains(t, string(moved.Data), `{"summary":"Short","metadata":{}}`)
	made := g.query(t, key,
		`mutation ($agent: ID!) { createClassificationTest(input: {agentId: $agent, name: "One", tagExpected: "Praise",
		conversationContext: {messages: [{role: user, text: "Fine."}]}}) { agentTest { ... on ClassificationTest {
			conversationContext { dataBag } } } } }`, names)
	require.Empty(t, made.Errors)
	require.Contains(t, string(made.Data), `{"dataBag":{}}`)
}

func TestRESTManagesCampaignItems(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Campaigns")
	_, stranger := g.company(t, "Stranger")
	campaign, items := runningCampaign(t, tenant, 3)
	call := func(key, method, path, body string, status int) map[string]any {
		t.Helper()
		response := g.do(t, method, path, key, body)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, status, response.StatusCode, "%s %s: %s", method, path, text)
		if status == http.StatusNoContent {
			require.Empty(t, text)
			return nil
		}
		object := map[string]any{}
		require.NoError(t, json.Unmarshal(text, &object))
		if status >= 400 {
			require.Equal(t, "application/problem+json", response.Header.Get("Content-Type"))
			require.Equal(t, http.StatusText(status), object["title"])
		}
		return object
	}
	base := "/CampaignItem/" + campaign.ID
	first := base + "/" + items[0].ID
	read := call(key, "GET", first, "", 200)
	require.Equal(t, campaign.ID, read["campaignId"])
	require.Equal(t, "Pending", read["runningStatus"])
	require.Equal(t, map[string]any{"firstName": "Ada"}, read["dataBag"])
	require.Nil(t, read["result"])
	require.Equal(t, []any{}, read["eventList"])

	added := call(key, "POST", base, `{"items":[{"phoneNumber":"+1 202 555 0199","dataBag":{"firstName":"Eve"}}]}`, 200)
	require.Equal(t, "+12025550199", added["items"].([]any)[0].(map[string]any)["phoneNumber"])
	again := call(key, "POST", base, `{"items":[{"phoneNumber":"+1 (202) 555-0199","dataBag":{"firstName":"Eve"}}]}`, 200)
	require.Empty(t, again["items"])
	require.Equal(t, added["items"].([]any)[0].(map[string]any)["id"],
		again["duplicates"].([]any)[0].(map[string]any)["itemId"])
	require.Contains(t, call(key, "POST", base,
		`{"onDuplicate":"REFUSE","items":[{"phoneNumber":"+12025550199","dataBag":{"firstName":"Eve"}}]}`, 409)["errors"],
		"items.0.phoneNumber")
	require.Contains(t, call(key, "POST", base, `{"items":[{"phoneNumber":"12","dataBag":{"firstName":"Eve"}}]}`,
		400)["errors"], "items.0.phoneNumber")
	_, err := tenant.UpdateCampaign(t.Context(),
		model.UpdateCampaignInput{CampaignID: campaign.ID, DefaultRegion: new("DE")})
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(call(key, "POST", base,
		`{"items":[{"phoneNumber":"4917612345678","dataBag":{"firstName":"Eve"}}]}`, 400)["errors"]),
		"49 can be the country code, or the start of a national number of region DE")
	require.Contains(t, call(key, "POST", base, `{"items":[{"phoneNumber":"+12025550199"}]}`, 422)["errors"],
		"items.0.dataBag.firstName")
	require.Contains(t, call(key, "POST", base, `{}`, 400)["errors"], "items")

	advance(t, tenant, items[1], model.CampaignItemStatusCalling)
	list := call(key, "GET", base+"?runningStatus=Calling&isArchived=false", "", 200)
	require.EqualValues(t, 1, list["total"])
	require.Equal(t, items[1].ID, list["data"].([]any)[0].(map[string]any)["id"])
	require.EqualValues(t, 4, call(key, "GET", base+"?pageSize=2&pageNumber=2", "", 200)["total"])
	require.Contains(t, call(key, "GET", base+"?runningStatus=Done", "", 400)["errors"], "runningStatus")

	require.Contains(t, call(key, "DELETE", base+"/"+items[1].ID, "", 409)["detail"], "is in a call")
	require.Equal(t, "Pending", call(key, "POST", base+"/"+items[1].ID+"/reset", "", 200)["runningStatus"])
	call(key, "DELETE", base+"/"+items[1].ID, "", 204)
	require.Equal(t, `campaign item "`+items[1].ID+`" does not exist`, call(key, "DELETE", base+"/"+items[1].ID, "",
		404)["detail"])

	field := call(key, "POST", "/CampaignField", `{"campaignId":"`+campaign.ID+`","name":"offer","isMandatory":true}`, 200)
	require.Equal(t, map[string]any{"name": "offer", "description": nil, "isMandatory": true, "isSystem": false}, field)
	require.Len(t, call(key, "GET", "/CampaignField?campaignId="+campaign.ID, "", 200)["data"], 3)
	require.Contains(t, call(key, "POST", "/CampaignField", `{"campaignId":"`+campaign.ID+`","name":"offer"}`,
		422)["errors"], "name")

	// For another company the campaign does not exist.
	for _, request := range []string{
		"GET " + base, "POST " + base + ` {"items":[{"phoneNumber":"+12025550199"}]}`, "GET " + first, "DELETE " + first,
		"POST " + first + "/reset",
		"GET /CampaignField?campaignId=" + campaign.ID, `POST /CampaignField {"campaignId":"` + campaign.ID +
			`","name":"mine"}`,
	} {
		method, rest, _ := strings.Cut(request, " ")
		path, body, _ := strings.Cut(rest, " ")
		problem := call(stranger, method, path, body, 400)
		require.Equal(t, `campaign "`+campaign.ID+`" does not exist`, problem["detail"], request)
		require.Equal(t, "https://tools.ietf.org/html/rfc7231#section-6.5.1", problem["type"])
		require.Contains(t, problem["errors"], "campaignId")
	}
	call(key, "GET", first, "", 200)
}

// The largest batch is answered with all of its new items. A refused one changes nothing.
func TestLargestBatchOfCampaignItemsIsAnswered(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	tenant, key := g.company(t, "Large batches")
	campaign, _ := runningCampaign(t, tenant, 1)
	batch := func(area string) []map[string]any {
		items := make([]map[string]any, 1000)
		for i := range items {
			items[i] = map[string]any{"phoneNumber": fmt.Sprintf("+44%s%04d", area, i),
				"dataBag": map[string]string{"firstName": "Ada", "lastName": "L", "planName": "P", "expiryDate": "2026-12-24"}}
		}
		return items
	}
	body, err := json.Marshal(map[string]any{"items": batch("151496")})
	require.NoError(t, err)
	response := g.do(t, http.MethodPost, "/CampaignItem/"+campaign.ID, key, string(body))
	var added struct{ Items []struct{ EventList []any } }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&added))
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Len(t, added.Items, 1000)

	const add = `mutation ($in: AddCampaignItemsInput!) { addCampaignItems(input: $in) { items { id version `
	input := func(area string) map[string]any {
		return map[string]any{"in": map[string]any{"campaignId": campaign.ID, "items": batch(area)}}
	}
	a := g.query(t, key, add+`eventList { type } campaign { agent { name fields { name } } } } } }`, input("113496"))
	require.Empty(t, a.Errors)
	a = g.query(t, key, add+`campaign { items(first: 100) { nodes { id version createdAt runningStatus phoneNumber
		dataBag isArchived attemptCount error claimedUntil } } } } } }`, input("117496"))
	require.Equal(t, []string{"LIMIT_EXCEEDED"}, a.codes())
	require.Contains(t, a.Errors[0].Message, "more than the limit of 1000000")
	var now struct{ CampaignItems struct{ TotalCount int } }
	g.must(t, key, `query ($id: ID!) { campaignItems(campaignId: $id) { totalCount } }`,
		map[string]any{"id": campaign.ID}, &now)
	require.Equal(t, 2001, now.CampaignItems.TotalCount)
}

func TestCampaignStatementsDoNotGrowWithRows(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	for _, size := range []int{2, 25} {
		tenant, key := g.company(t, fmt.Sprintf("Company with %d campaigns", size))
		var campaignID string
		for i := range size {
			campaign, items := runningCampaign(t, tenant, size)
			advance(t, tenant, items[i], model.CampaignItemStatusCalling, model.CampaignItemStatusProcessingResult)
			campaignID = campaign.ID
		}
		g.must(t, key, `{ company { id } }`, nil, nil) // a key's first use takes another statement
		for query, promised := range map[string]int{
			// The statements read campaigns and their total, agents, agents' fields, counts, items and their totals, and events.
			`{ campaigns { totalCount nodes { id name status agent { name } fields { name } counts { total calling }
				items(first: 50) { totalCount nodes { id phoneNumber eventList { type description } } } } } }`: 8,
			// The statements read agents, their campaigns, and items with their campaigns.
			`{ agents { nodes { id campaigns { nodes { id items(runningStatus: ProcessingResult) { nodes { id campaign { name } }
				} } } } } }`: 3,
			// The statements read the campaign, its items with their campaigns, their total, and events.
			`query ($id: ID!) { campaignItems(campaignId: $id) { totalCount nodes { id result { summary } campaign { name }
				eventList { type } } } }`: 4,
		} {
			before := g.statements.Load()
			g.must(t, key, query, map[string]any{"id": campaignID}, nil)
			require.EqualValues(t, promised, g.statements.Load()-before, "%d: %s", size, query)
		}
	}
}
