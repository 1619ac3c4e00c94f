package archive

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

// clean removes members that are null, and members whose names are in without. It does so at any depth, even in data
// bags and variables.
func clean(text json.RawMessage, without ...string) json.RawMessage {
	if text == nil {
		return nil
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return text
	}
	return encoded(withoutNulls(value, without), text)
}

func withoutNulls(value any, without []string) any {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if inner == nil || slices.Contains(without, name) {
				delete(v, name)
				continue
			}
			v[name] = withoutNulls(inner, without)
		}
	case []any:
		for i, inner := range v {
			v[i] = withoutNulls(inner, without)
		}
	}
	return value
}

// readTime parses a date or a date-time, which may lack its seconds or its offset. It returns false for anything else.
func readTime(text string) (time.Time, bool) {
	at, err := model.UnmarshalDateTime(text)
	if err != nil {
		at, err = time.Parse(time.DateOnly, text)
	}
	return at, err == nil
}

// timestamp returns a time in the archive's format. It returns nil without a time, and for times before 1970: .NET
// writes an unset time as year 1.
func (o v1Object) timestamp(name string) any {
	at, isTime := readTime(o.text(name))
	if !isTime || at.Year() < 1970 {
		return nil
	}
	return at.Format(time.RFC3339Nano)
}

// conversation cleans JSON that has messages at the path, and writes the times of the messages in the archive's format.
// It removes times before 1970. It does not change values that are not times: the import refuses them.
func conversation(text json.RawMessage, path ...string) json.RawMessage {
	text = clean(text)
	if len(path) > 0 {
		whole := map[string]json.RawMessage{}
		if json.Unmarshal(text, &whole) != nil || whole[path[0]] == nil {
			return text
		}
		whole[path[0]] = conversation(whole[path[0]], path[1:]...)
		return encoded(whole, text)
	}
	messages := []map[string]json.RawMessage{}
	if json.Unmarshal(text, &messages) != nil {
		return text
	}
	for _, message := range messages {
		at, isTime := readTime(v1Object(message).text("timestamp"))
		switch {
		case isTime && at.Year() < 1970:
			delete(message, "timestamp")
		case isTime:
			message["timestamp"] = json.RawMessage(at.Format(`"` + time.RFC3339Nano + `"`))
		}
	}
	return encoded(messages, text)
}

// encoded returns the JSON of a value, or the fallback if the value has none.
func encoded(value any, fallback json.RawMessage) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		return fallback
	}
	return text
}

// withDataBag adds an empty data bag to the context of a classification test that has none.
func withDataBag(text json.RawMessage) json.RawMessage {
	whole := map[string]json.RawMessage{}
	if json.Unmarshal(text, &whole) != nil || whole["dataBag"] != nil {
		return text
	}
	whole["dataBag"] = json.RawMessage("{}")
	return encoded(whole, text)
}

// writeAgents adds the rows of agents, their tools and sub-agents.
func (m *v1Move) writeAgents() {
	undescribed := 0
	for _, id := range m.agentIDs {
		agent, isRead := m.agents[id]
		if !isRead {
			continue
		}
		chat := agent.text("knowledgeBaseChatId")
		if chat != "" && !m.added["knowledge_base_chats "+chat] {
			m.left("the knowledge base chat %s of agent %s: the server does not list the chat", chat, id)
			chat = ""
		}
		m.report.Written["agents"]++
		m.addRow("agents", id, map[string]any{
			"id": id, "name": agent.text("agentName"), "channel": agent.text("channel"), "direction": agent.text("direction"),
			"language": agent.text("language"), "tags": clean(agent.raw("tags")), "prompt": agent.text("prompt"),
			"outbound_welcome_message": agent.text("outboundWelcomeMessage"),
			"inbound_welcome_message":  agent.text("inboundWelcomeMessage"),
			"fields":                   clean(agent.raw("fields")),
			"classification_tags":      clean(agent.raw("classificationTags")),
			"extracted_values":         clean(agent.raw("extractedValues")),
			"is_call_transfer_enabled": agent.raw("isCallTransferEnabled"),
			"knowledge_base_chat_id":   chat, "created_at": agent.timestamp("createdAt"), "updated_at": agent.timestamp("createdAt"),
		})
		for position, tool := range agent.objects("tools") {
			toolID := tool.text("id")
			if !m.added["tools "+toolID] {
				undescribed++
				m.report.Read["tools"]++
				m.report.Written["tools"]++
				m.addRow("tools", toolID, map[string]any{"id": toolID, "name": tool.text("name"),
					"technical_name": tool.text("technicalName")})
			}
			m.addRow("agent_tools", id+" "+toolID, map[string]any{"agent_id": id, "tool_id": toolID, "position": position})
		}
	}
	if undescribed > 0 {
		m.note("a v1 server does not return the parameters, descriptions and endpoints of tools. Set them for %s "+
			"with updateTool", Counted(undescribed, "tools"))
	}
	for _, id := range m.agentIDs {
		for position, sub := range m.agents[id].objects("subAgents") {
			m.subAgent(id, position, sub)
		}
	}
}

// subAgent adds the row of a sub-agent, if its agent can be identified.
func (m *v1Move) subAgent(parentID string, position int, sub v1Object) {
	m.report.Read["sub-agents"]++
	id, leadsTo := sub.text("id"), []string{}
	for agentID, agent := range m.agents {
		if agentID == id || agent.text("agentName") == sub.text("name") {
			leadsTo = append(leadsTo, agentID)
		}
	}
	if _, isAgent := m.agents[id]; isAgent {
		leadsTo = []string{id}
		id = "sub-" + parentID + "-" + fmt.Sprint(position)
	}
	if len(leadsTo) != 1 || len(id) > model.MaxIDLength {
		m.left("the sub-agent %q (%s) of agent %s: a v1 server shows only the name of the agent behind it, and %d of "+
			"the imported agents have that name",
			sub.text("name"), sub.text("id"), parentID, len(leadsTo))
		return
	}
	m.report.Written["sub-agents"]++
	m.addRow("sub_agents", id, map[string]any{
		"id": id, "agent_id": parentID, "delegate_agent_id": leadsTo[0], "name": sub.text("name"),
		"technical_name": sub.text("technicalName"),
		"description":    sub.text("description"), "position": position,
	})
}

// writeTests adds the rows of folders and tests.
func (m *v1Move) writeTests() {
	for _, folder := range m.folders {
		id, agentID := folder.text("id"), folder.text("agentId")
		if !m.added["agents "+agentID] {
			m.left("the folder %q (%s): its agent %s is not moved", folder.text("name"), id, agentID)
			continue
		}
		m.report.Written["agent test folders"]++
		m.addRow("agent_test_folders", id, map[string]any{
			"id": id, "agent_id": agentID, "name": folder.text("name"), "color": folder.text("color"),
			"body":       folder.text("body"),
			"created_at": folder.timestamp("createdAt"), "updated_at": folder.timestamp("updatedAt"),
		})
	}
	for _, test := range m.tests {
		m.test(test)
	}
}

// test adds the row of a test. Its runs are not moved.
func (m *v1Move) test(test v1Object) {
	id, agentID, folder := test.text("id"), test.text("agentId"), test.text("folderId")
	if !m.added["agents "+agentID] {
		m.left("the test %q (%s): its agent %s is not moved", test.text("name"), id, agentID)
		return
	}
	if folder != "" && !m.added["agent_test_folders "+folder] {
		m.left("the folder %s of the test %q (%s): the server does not list the folder, so the test is now at the "+
			"root", folder,
			test.text("name"), id)
		folder = ""
	}
	row := map[string]any{
		"id": id, "agent_id": agentID, "folder_id": folder, "name": test.text("name"),
		"created_at": test.timestamp("createdAt"), "updated_at": test.timestamp("updatedAt"),
	}
	switch {
	case test.raw("scenario") != nil:
		row["kind"], row["scenario"] = model.AgentTestKindSimulation, test.text("scenario")
		for column, name := range map[string]string{
			"criteria": "criteria", "max_turns": "maxTurns", "variables": "variables", "tool_mocking": "toolMocking",
			"persona": "persona",
			"pass_at": "passAt", "judge_sees": "judgeSees",
		} {
			row[column] = clean(test.raw(name))
		}
		row["conversation_messages"] = conversation(test.raw("conversationMessages"))
		row["checks"] = clean(test.raw("checks"), "description")
		// These lists are not cleaned, because null has a meaning in them.
		row["criteria_weights"], row["contact_says"] = test.raw("criteriaWeights"), test.raw("contactSays")
	case test.raw("conversationContext") != nil:
		row["kind"], row["tag_expected"] = model.AgentTestKindClassification, test.text("tagExpected")
		row["conversation_context"] = withDataBag(conversation(test.raw("conversationContext"), "messages"))
	default:
		m.left("the test %q (%s): the server shows neither a scenario nor a conversation", test.text("name"), id)
		return
	}
	m.report.Written["agent tests"]++
	m.addRow("agent_tests", id, row)
}
