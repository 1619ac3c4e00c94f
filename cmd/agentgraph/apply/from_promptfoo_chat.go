package apply

import (
	"fmt"
	"slices"
	"strings"
)

// chat returns the messages, except of the roles system and developer, because the agent has its own prompt. It drops
// the test and returns nil if a message cannot be read.
func (t *promptfooTest) chat(all list, areTemplates bool) (messages list) {
	for _, one := range all {
		message, problem := plainMessage(one)
		if problem != "" {
			t.drop("%s", problem)
			return nil
		}
		if role := message.text("role"); role == "system" || role == "developer" {
			at, owner := t.at, t.name
			if areTemplates && len(t.p.prompts) > 0 {
				at, owner = t.p.prompts[0].at, "the prompt"
			}
			t.importer.report.addNote(notNeeded, at, owner, "the %s message: the agent has its own prompt", role)
			continue
		}
		if areTemplates {
			text, isFilled := t.fillTemplate("the prompt", message.text("content"))
			if !isFilled {
				t.drop("the variables of its prompt cannot be filled in")
				return nil
			}
			if inner, isChat := messagesIn(text); isChat {
				messages = append(messages, t.chat(inner, false)...)
				continue
			}
			message = t.filled(message.with("content", text))
		}
		messages = append(messages, message)
	}
	return messages
}

// filled fills in the variables in a message's calls.
func (t *promptfooTest) filled(message object) object {
	var fill func(value any) any
	fill = func(value any) any {
		switch v := value.(type) {
		case string:
			text, _ := t.fillTemplate("a call of the prompt", v)
			return text
		case list:
			for i, one := range v {
				v[i] = fill(one)
			}
		case object:
			made := make(object, len(v))
			for i, m := range v {
				made[i] = member{m.name, fill(m.value)}
			}
			return made
		}
		return value
	}
	if calls := message.list("tool_calls"); calls != nil {
		return message.with("tool_calls", fill(slices.Clone(calls)))
	}
	return message
}

// messagesIn returns the messages in a text, if the text is a list of messages in JSON or YAML.
func messagesIn(text string) (list, bool) {
	value, err := decodeJSON([]byte(text))
	if err != nil && strings.Contains(text, "role:") && !strings.Contains(text, "{%") {
		value, err = decoded([]byte(text))
	}
	messages, isList := value.(list)
	return messages, err == nil && isList && areMessages(messages)
}

// areMessages reports whether a list is a chat, in OpenAI's format or with members such as "user: Hello".
func areMessages(all list) bool {
	isMessage := func(one any) bool {
		message, _ := one.(object)
		return message.text("role") != "" || len(message) == 1 && slices.Contains([]string{"user", "assistant", "system"},
			message[0].name)
	}
	return len(all) > 0 && !slices.ContainsFunc(all, func(one any) bool { return !isMessage(one) })
}

// plainMessage returns a message with its role, and with its content as text. problem explains why it cannot be read.
func plainMessage(one any) (message object, problem string) {
	message, _ = one.(object)
	if message.text("role") == "" {
		return object{{"role", message[0].name}, {"content", asText(message[0].value)}}, ""
	}
	content, _ := message.get("content")
	parts, isList := content.(list)
	if !isList {
		if strings.HasPrefix(asText(content), "file://") {
			return nil, fmt.Sprintf("a message is in another file, %s", asText(content))
		}
		return message, ""
	}
	var texts []string
	for _, one := range parts {
		part, _ := one.(object)
		if kind := part.text("type"); kind != "text" && kind != "input_text" {
			return nil, fmt.Sprintf("a message has a part of the type %q", kind)
		}
		texts = append(texts, part.text("text"))
	}
	return message.with("content", strings.Join(texts, "\n")), ""
}
