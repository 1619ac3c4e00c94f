package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"

	"github.com/agentgraph/agentgraph/model"
)

// readKnowledge reads datasets and knowledge base chats, and counts the documents, whose files a v1 server does not
// return.
func (m *v1Move) readKnowledge(ctx context.Context) error {
	chats, err := m.list(ctx, "knowledge base chats", "/KnowledgeBaseChat", nil)
	if err != nil {
		return err
	}
	datasets, err := m.list(ctx, "datasets", "/Dataset", nil)
	if err != nil {
		return err
	}
	for _, d := range datasets {
		id := d.text("id")
		m.report.Written["datasets"]++
		m.addRow("datasets", id, map[string]any{
			"id": id, "name": d.text("name"), "description": d.raw("description"), "chunk_method": d.text("chunkMethod"),
			"parser_config": clean(d.raw("parserConfig")), "created_at": d.timestamp("createdAt"),
		})
		documents, err := m.list(ctx, "documents", "/Dataset/"+url.PathEscape(id)+"/document", nil)
		if err != nil {
			return err
		}
		if len(documents) > 0 {
			m.left("%s of the dataset %q (%s): a v1 server does not return their files. Add the files with "+
				"addDocument",
				Counted(len(documents), "documents"), d.text("name"), id)
		}
	}
	for _, chat := range chats {
		id := chat.text("id")
		m.report.Written["knowledge base chats"]++
		m.addRow("knowledge_base_chats", id, map[string]any{
			"id": id, "name": chat.text("name"), "llm_settings": clean(chat.raw("llmSettings")),
			"prompt_settings": clean(chat.raw("promptSettings")),
			"created_at":      chat.timestamp("createdAt"), "updated_at": chat.timestamp("updatedAt"),
		})
		var datasetIDs []string
		_ = json.Unmarshal(chat.raw("datasetIds"), &datasetIDs) // none if absent
		for position, dataset := range datasetIDs {
			if !m.added["datasets "+dataset] {
				m.left("the dataset %s of the knowledge base chat %q (%s): the server does not list the "+
					"dataset", dataset, chat.text("name"),
					id)
				continue
			}
			m.addRow("knowledge_base_chat_datasets", id+" "+dataset, map[string]any{"chat_id": id, "dataset_id": dataset,
				"position": position})
		}
	}
	return nil
}

// readCampaigns reads the fields and items of campaigns.
func (m *v1Move) readCampaigns(ctx context.Context) error {
	for _, id := range m.Campaigns {
		if _, isKnown := m.campaigns[id]; !isKnown {
			m.campaigns[id] = ""
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.campaigns)) {
		if id == "" {
			continue // consumption without a campaign
		}
		agentID := m.campaigns[id]
		if _, isRead := m.agents[agentID]; !isRead {
			m.left("the campaign %s: its agent %q is not moved", id, agentID)
			continue
		}
		fields := v1Object{}
		err := m.client.get(ctx, "/CampaignField", url.Values{"campaignId": {id}}, &fields)
		if hasStatus(err, http.StatusBadRequest, http.StatusNotFound) {
			m.left("the campaign %s: %v", id, err)
			continue
		}
		if err != nil {
			return err
		}
		m.report.Read["campaigns"]++
		m.report.Written["campaigns"]++
		m.addRow("campaigns", id, map[string]any{
			"id": id, "agent_id": agentID, "name": id, "status": model.CampaignStatusPaused,
			"own_fields": m.ownFields(agentID, fields.objects("data")),
		})
		m.note("a v1 server does not show the names of campaigns: the campaign %[1]s is named %[1]s, and is paused", id)
		items, err := m.list(ctx, "campaign items", "/CampaignItem/"+url.PathEscape(id), nil)
		if err != nil {
			return err
		}
		for _, item := range items {
			m.item(id, item)
		}
	}
	return nil
}

// ownFields returns the fields of a campaign that its agent does not have, without system fields.
func (m *v1Move) ownFields(agentID string, fields []v1Object) []map[string]any {
	own := []map[string]any{}
	for _, field := range fields {
		isSystem := string(field.raw("isSystem")) == "true"
		isOfAgent := slices.ContainsFunc(m.agents[agentID].objects("fields"),
			func(known v1Object) bool { return known.text("name") == field.text("name") })
		if isSystem || isOfAgent {
			continue
		}
		property := map[string]any{"name": field.text("name"), "isMandatory": string(field.raw("isMandatory")) == "true",
			"isSystem": false}
		if about := field.text("description"); about != "" {
			property["description"] = about
		}
		own = append(own, property)
	}
	return own
}

var dialable = regexp.MustCompile(`^(\+[1-9][0-9]{1,14})?$`)

// item adds the rows of an item and its events. It leaves out an item whose call is in progress, or whose phone number
// has the wrong form.
func (m *v1Move) item(campaignID string, item v1Object) {
	id, status, number := item.text("id"), item.text("runningStatus"), item.text("phoneNumber")
	switch {
	case status == "Calling" || status == "ProcessingResult":
		m.left("the item %s of the campaign %s: its status is %s", id, campaignID, status)
		return
	case !dialable.MatchString(number):
		m.left("the item %s of the campaign %s: its phone number does not have the form +15551234567", id, campaignID)
		return
	}
	attempts, _ := item.number("attemptCount")
	created := item.timestamp("createdAt")
	row := map[string]any{
		"id": id, "campaign_id": campaignID, "data_bag": clean(item.raw("dataBag")), "running_status": status,
		"is_archived": item.raw("isArchived"),
		"created_at":  created, "due_at": created, "last_call_date": item.timestamp("lastCallDate"), "attempt_count": attempts,
	}
	ended := cmp.Or(item.timestamp("processedAt"), item.timestamp("lastCallDate"), created)
	switch status {
	case "Processed":
		row["processed_at"], row["result"] = ended, conversation(item.raw("result"), "conversation",
			"messages")
	case "Error":
		row["error"] = "the v1 server does not say why"
	default:
		row["next_try_date"] = item.timestamp("nextTryDate")
		row["due_at"] = cmp.Or(item.timestamp("nextTryDate"), created)
	}
	if status == "Processed" || status == "Error" {
		row["attempt_count"], row["last_call_date"] = max(1, attempts), cmp.Or(item.timestamp("lastCallDate"), ended)
	}
	events := item.objects("eventList")
	row["event_count"] = len(events)
	m.report.Written["campaign items"]++
	m.addRow("campaign_items", id, row)
	m.rows["campaign_items"][len(m.rows["campaign_items"])-1]["phone_number"] = number
	for i, event := range events {
		m.rows["campaign_item_events"] = append(m.rows["campaign_item_events"], map[string]any{
			"item_id": id, "number": i + 1, "type": event.text("type"), "date": cmp.Or(event.timestamp("date"), created),
			"description": cmp.Or(event.text("description"), event.text("type")),
		})
	}
}
