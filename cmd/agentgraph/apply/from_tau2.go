package apply

import (
	"fmt"
	"slices"
	"strings"
)

// fromTau2Bench carries over the tasks of a domain of tau2-bench.
func fromTau2Bench(text []byte) (list, []string, error) {
	tasks, err := casesIn(text, "tasks")
	if err != nil {
		return nil, nil, err
	}
	c := &carriedTests{}
	for i, task := range tasks {
		id, _ := task.get("id")
		name := fmt.Sprintf("Task %d", i+1)
		if id != nil {
			name = "Task " + shown(id)
		}
		if purpose := firstLine(task.object("description").text("purpose"), 200); purpose != "" {
			name += ": " + purpose
		}
		t := c.begin(name, name)
		t.scenario = scenarioOfTask(task.object("user_scenario"))
		if t.scenario == "" {
			t.leave("the whole test", "it has no user_scenario")
			continue
		}
		start := task.object("initial_state")
		for _, part := range []string{"initialization_data", "initialization_actions"} {
			if value, _ := start.get(part); value != nil {
				t.leave("initial_state."+part, "the state behind tools is theirs: mock them")
			}
		}
		if messages := messagesOf(t, start.list("message_history"), "content"); len(messages) > 0 {
			t.with("conversationContext", messages)
		}
		t.evaluation(task.object("evaluation_criteria"))
		t.with("maxTurns", int64(30))
		c.add(t)
	}
	return c.done()
}

// scenarioOfTask writes what the simulated user is told.
func scenarioOfTask(user object) string {
	var parts []string
	add := func(title, text string) {
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, title+text)
		}
	}
	add("", user.text("persona"))
	add("", user.text("instructions"))
	instructions := user.object("instructions")
	add("", instructions.text("task_instructions"))
	add("Why you call: ", instructions.text("reason_for_call"))
	add("What you know: ", instructions.text("known_info"))
	add("What you do not know: ", instructions.text("unknown_info"))
	return strings.Join(parts, "\n\n")
}

// evaluation carries over what decides a task.
func (t *carried) evaluation(criteria object) {
	counted := []object{}
	for _, one := range criteria.list("actions") {
		action, _ := one.(object)
		if requestor := action.text("requestor"); requestor != "" && requestor != "assistant" {
			t.leave("action "+action.text("name"), "a contact calls no tools here")
			continue
		}
		call := object{{"technicalName", action.text("name")}}
		compared, isChosen := action.get("compare_args")
		chosen, _ := compared.(list)
		var where list
		for _, argument := range action.object("arguments") {
			if !isChosen || compared == nil || slices.Contains(chosen, any(argument.name)) {
				where = append(where, object{{"argument", argument.name}, {"equals", shown(argument.value)}})
			}
		}
		if len(where) > 20 {
			t.leave("action "+action.text("name"), "of its %d arguments the first 20 are compared", len(where))
			where = where[:20]
		}
		if len(where) > 0 {
			call = append(call, member{"where", where})
		}
		counted = append(counted, call)
	}
	for i, call := range counted {
		same := func(other object) bool { return isEqual(other, call) }
		if slices.IndexFunc(counted, same) < i {
			continue
		}
		times := 0
		for _, other := range counted {
			if same(other) {
				times++
			}
		}
		if times > 1 {
			call = append(slices.Clip(call), member{"min", int64(times)})
		}
		t.check("called", call, nil)
	}
	for _, info := range criteria.list("communicate_info") {
		t.check("says", object{{"text", shown(info)}}, nil)
	}
	for _, assertion := range criteria.list("nl_assertions") {
		t.criteria = append(t.criteria, cutTo(shown(assertion), 2000))
	}
	if len(criteria.list("env_assertions")) > 0 {
		t.leave("env_assertions", "the state behind tools is theirs")
	}
	basis := criteria.list("reward_basis")
	if len(counted) > 0 && !slices.Contains(basis, any("ACTION")) {
		t.leave("the state of the database", "it is not compared; the calls of the reference solution are required instead")
	}
}

// messagesOf carries over a conversation so far, with the calls of the agent before the answer that they helped to. The member has
// the text of a message.
func messagesOf(t *carried, history list, member string) (messages list) {
	calls := pastCalls{}
	for i, one := range history {
		message, _ := one.(object)
		role, text := message.text("role"), message.text(member)
		if role == "agent" {
			role = "assistant"
		}
		calls.note(message, role)
		if role != "assistant" && role != "user" || strings.TrimSpace(text) == "" {
			continue
		}
		carried := object{{"role", role}, {"text", cutTo(placeholders(text), 10_000)}}
		answers := len(messages) > 0 && messages[len(messages)-1].(object).text("role") == "user"
		if made := calls.take(); len(made) > 0 && role == "assistant" && answers {
			carried = append(carried, toolCalls(made))
		} else if len(made) > 0 {
			t.leave(fmt.Sprintf("message %d", i+1), "calls of tools that are not the agent's on the way to an answer")
		}
		messages = append(messages, carried)
	}
	if made := calls.take(); len(made) > 0 {
		t.leave("the conversation so far", "calls of tools behind the last message")
	}
	if len(messages) > 200 {
		t.leave("the conversation so far", "of its %d messages the last 200 are left", len(messages))
		messages = messages[len(messages)-200:]
	}
	return messages
}

func toolCalls(made list) member { return member{"toolCalls", made[:min(len(made), 20)]} }

// pastCalls are calls that no answer has followed yet, and their ids.
type pastCalls struct {
	made list
	ids  []string
}

// note adds the calls of a message, and the results that it has of earlier ones.
func (p *pastCalls) note(message object, role string) {
	for _, one := range message.list("tool_calls") {
		call, _ := one.(object)
		name, arguments := call.text("name")+call.text("tool_name"), call.object("arguments")
		if decoded, err := decodeJSON([]byte(call.text("params_as_json"))); err == nil {
			arguments, _ = decoded.(object)
		}
		p.made = append(p.made, object{{"technicalName", cutTo(name, 64)}, {"arguments", append(object{}, arguments...)}, {"result", ""}})
		p.ids = append(p.ids, call.text("id")+call.text("request_id"))
	}
	results := message.list("tool_results")
	if role == "tool" {
		results = append(results, message)
	}
	for _, one := range results {
		result, _ := one.(object)
		at := slices.Index(p.ids, result.text("id")+result.text("request_id"))
		if at < 0 {
			continue
		}
		call, text := p.made[at].(object).without("result"), cutTo(result.text("content")+result.text("result_value"), 10_000)
		of := "result"
		for _, flag := range []string{"error", "is_error"} {
			if failed, _ := result.get(flag); failed == true {
				of = "error"
			}
		}
		p.made[at] = append(call, member{of, text})
	}
}

// take returns the calls, which are then none.
func (p *pastCalls) take() list {
	made := p.made
	p.made, p.ids = nil, nil
	return made
}
