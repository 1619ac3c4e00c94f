package apply

import (
	"fmt"
	"slices"
	"strings"
)

// importMessages imports the conversation so far. The calls before an answer of the agent belong to that answer. member
// is the name of the member that contains a message's text.
func importMessages(t *importedTest, history list, member string) (messages list) {
	calls := pastCalls{test: t}
	for i, one := range history {
		message, _ := one.(object)
		role, text := message.text("role"), message.text(member)
		calls.owner = fmt.Sprintf("message %d", i+1)
		if role == "agent" {
			role = "assistant"
		}
		if role != "tool" && truncate(text, 10_000) != text {
			t.noteApproximated(calls.owner, "only its first 10,000 characters are kept")
		}
		if !calls.addMessage(message, role) {
			t.noteLeftOut(calls.owner, "no earlier message contains its call")
		}
		isSpoken := role == "assistant" || role == "user"
		if !isSpoken && role != "tool" {
			t.noteLeftOut(calls.owner, "its role %q is neither user, assistant nor tool", role)
		}
		if !isSpoken || strings.TrimSpace(text) == "" {
			continue
		}
		carried := object{{"role", role}, {"text", truncate(convertPlaceholders(text), 10_000)}}
		answers := len(messages) > 0 && messages[len(messages)-1].(object).text("role") == "user"
		if made := calls.takeCalls(); len(made) > 0 && role == "assistant" && answers {
			if len(made) > 20 {
				t.noteLeftOut(calls.owner, "of its %d calls, only the first 20 are kept", len(made))
			}
			carried = carried.with("toolCalls", made[:min(len(made), 20)])
		} else if len(made) > 0 {
			t.noteLeftOut(calls.owner, "its calls do not belong to an answer of the agent to the contact")
		}
		messages = append(messages, carried)
	}
	if made := calls.takeCalls(); len(made) > 0 {
		t.noteLeftOut("the conversation so far", "its tool calls after the last message")
	}
	if len(messages) > 200 {
		t.noteLeftOut("the conversation so far", "of its %d messages, only the last 200 are kept", len(messages))
		messages = messages[len(messages)-200:]
	}
	return messages
}

// pastCalls collects calls, and their ids, until the agent's next answer takes them.
type pastCalls struct {
	test *importedTest
	// owner names the message that is being added.
	owner string
	calls list
	ids   []string
}

// addMessage adds the calls of a message, and the results for earlier calls. It returns false if a result has no call.
func (p *pastCalls) addMessage(message object, role string) (areKnown bool) {
	areKnown = true
	for _, one := range message.list("tool_calls") {
		call, _ := one.(object)
		name, arguments := call.text("name")+call.text("tool_name"), call.object("arguments")
		if decoded, err := decodeJSON([]byte(call.text("params_as_json"))); err == nil {
			arguments, _ = decoded.(object)
		}
		if function := call.object("function"); function != nil {
			decoded, _ := decodeJSON([]byte(function.text("arguments")))
			name = function.text("name")
			arguments, _ = decoded.(object)
		}
		if truncate(name, 64) != name {
			p.test.noteApproximated(p.owner, "of the name of its call, only the first 64 characters are kept")
		}
		p.calls = append(p.calls, object{{"technicalName", truncate(name, 64)}, {"arguments", append(object{}, arguments...)},
			{"result", ""}})
		p.ids = append(p.ids, call.text("id")+call.text("request_id"))
	}
	results := message.list("tool_results")
	if role == "tool" {
		results = append(results, message)
	}
	for _, one := range results {
		result, _ := one.(object)
		at := slices.Index(p.ids, result.text("id")+result.text("request_id")+result.text("tool_call_id"))
		if at < 0 {
			areKnown = false
			continue
		}
		call := p.calls[at].(object).without("result")
		text := result.text("content") + result.text("result_value")
		if truncate(text, 10_000) != text {
			p.test.noteApproximated(p.owner, "of the result of its call, only the first 10,000 characters are kept")
		}
		memberName := "result"
		for _, flag := range []string{"error", "is_error"} {
			if failed, _ := result.get(flag); failed == true {
				memberName = "error"
			}
		}
		p.calls[at] = append(call, member{memberName, truncate(text, 10_000)})
	}
	return areKnown
}

func (p *pastCalls) takeCalls() list {
	made := p.calls
	p.calls, p.ids = nil, nil
	return made
}
