package apply

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/model"
)

// spoken lists variables that usually hold the user's words.
var spoken = []string{"question", "query", "input", "message", "user_input", "userInput", "user_message", "prompt",
	"text"}

// importInput imports the input of the agent: messages, or the scenario of a simulated user.
func (t *promptfooTest) importInput() {
	if provider, _ := t.test.get("provider"); isSimulatedUser(provider) {
		t.simulate(provider)
		return
	}
	t.scenario = "You have asked all you wanted to know."
	messages := t.message()
	if len(messages) == 0 {
		t.drop("it says nothing to the agent")
		return
	}
	if last := messages[len(messages)-1].(object); last.text("role") == "assistant" {
		t.noteApproximated("the prompt", "its last message is from the agent, so the contact speaks next")
	}
	t.setMember("conversationContext", importMessages(t.importedTest, messages, "content"))
	t.setMember("maxTurns", int64(1))
}

// message returns the messages for the agent: the prompt with its variables filled in.
func (t *promptfooTest) message() list {
	if len(t.p.prompts) == 0 {
		t.reportFrame("no prompt can be read")
		return t.messageFromVariable("no prompt can be read")
	}
	prompt := t.p.prompts[0]
	options := t.test.object("options")
	if _, isChat := messagesIn(prompt.text); isChat || strings.Contains(prompt.text, "{%") {
		t.reportFrame("its prompt is a chat")
	}
	if messages, isChat := messagesIn(prompt.text); isChat {
		return t.chat(messages, true)
	}
	if strings.Contains(prompt.text, "{%") {
		return t.loopMessages(prompt)
	}
	text, isFilled := t.fillTemplate("the prompt", options.text("prefix")+prompt.text+options.text("suffix"))
	if !isFilled {
		t.drop("the variables of its prompt cannot be filled in")
		return nil
	}
	if messages, isChat := messagesIn(text); isChat {
		return t.chat(messages, false)
	}
	if strings.HasPrefix(text, "[") && strings.Contains(text, `"role"`) {
		t.drop("the chat of its prompt cannot be read")
		return nil
	}
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return list{object{{"role", "user"}, {"content", text}}}
}

// reportFrame reports that the prefix and suffix of a prompt are left out.
func (t *promptfooTest) reportFrame(why string) {
	for _, name := range []string{"prefix", "suffix"} {
		if t.test.object("options").text(name) != "" {
			t.noteLeftOut("options."+name, "%s", why)
		}
	}
}

// singleBraces matches our placeholders, which promptfoo takes literally.
var singleBraces = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_.]*)\}`)

// fillTemplate fills a template, and reports what it cannot fill. It puts spaces inside single braces that a run would
// replace.
func (t *promptfooTest) fillTemplate(what, template string) (string, bool) {
	fillable := t.texts.rows
	if !strings.HasSuffix(what, "the prompt") || t.turn > 0 {
		// In the messages that a test starts with, agentgraph fills only the placeholders of row values.
		fillable = slices.Concat(t.texts.rows, t.texts.bag)
	}
	text, missing, err := t.texts.fill(template, func(text string) string {
		return singleBraces.ReplaceAllStringFunc(text, func(found string) string {
			name := found[1 : len(found)-1]
			if _, isFilled := valueAtPath(fillable, name); !isFilled {
				return found
			}
			t.noteApproximated(what, "%s is written { %s }, because agentgraph would fill it in", found, name)
			return "{ " + name + " }"
		})
	})
	if err != nil {
		t.noteLeftOut(what, "%v", err)
		return "", false
	}
	return text, t.reportMissing(what, missing)
}

// reportMissing reports variables without a value. It returns false if one of them needs the output of another test.
func (t *promptfooTest) reportMissing(what string, missing []string) bool {
	for _, name := range missing {
		if slices.Contains(t.p.outputs, name) {
			t.noteLeftOut(what, "{{%s}} is the output of another test", name)
			return false
		}
	}
	if len(missing) > 0 {
		t.noteApproximated(what, "no variable fills {{%s}}, so the text is empty there", strings.Join(missing, "}}, {{"))
	}
	return true
}

// messageFromVariable returns a message with the variable that usually contains what the user says.
func (t *promptfooTest) messageFromVariable(why string) list {
	all := slices.Concat(t.texts.rows, t.texts.bag)
	for _, m := range all {
		if slices.Contains(spoken, m.name) || len(all) == 1 {
			t.noteApproximated("the prompt", "%s, so the message to the agent is the variable %s", why, m.name)
			if text, isFilled := t.fillTemplate("the prompt", "{{"+m.name+"}}"); isFilled {
				return list{object{{"role", "user"}, {"content", text}}}
			}
		}
	}
	t.drop("%s, and no variable has a known name for the user's message, such as question", why)
	return nil
}

var lastVariable = regexp.MustCompile(`\{\{-?\s*(\w+)`)

// loopMessages imports a prompt that writes the earlier messages in a loop, followed by a new one.
func (t *promptfooTest) loopMessages(prompt promptfooPrompt) (messages list) {
	loops := loopIn.FindAllStringSubmatch(prompt.text, -1)
	if len(loops) == 0 {
		_, _ = t.fillTemplate("the prompt", prompt.text) // reports the parts that cannot be evaluated
		t.drop("the variables of its prompt cannot be filled in")
		return nil
	}
	for _, loop := range loops {
		value, _ := t.texts.bag.get(loop[1])
		history, isList := value.(list)
		switch {
		case loop[1] == "_conversation" || strings.HasPrefix(loop[1], "message") && !isList:
		case isList && areMessages(history):
			messages = append(messages, t.chat(history, true)...)
		default:
			t.drop("its prompt has a loop over %s, which agentgraph does not evaluate", loop[1])
			return nil
		}
	}
	end := strings.LastIndex(prompt.text, "endfor")
	last := lastVariable.FindAllStringSubmatch(prompt.text[max(0, end):], -1)
	if len(last) == 0 {
		return messages
	}
	t.noteApproximated("the prompt", "its template code is not evaluated: the message to the agent is "+
		"{{%s}}", last[len(last)-1][1])
	text, isFilled := t.fillTemplate("the prompt", "{{"+last[len(last)-1][1]+"}}")
	if !isFilled || text == "" {
		return nil
	}
	return append(messages, object{{"role", "user"}, {"content", text}})
}

func isSimulatedUser(provider any) bool {
	if name, isText := provider.(string); isText {
		return name == simulatedUser
	}
	o, _ := provider.(object)
	return o.text("id") == simulatedUser
}

// simulate imports the instructions of a simulated user.
func (t *promptfooTest) simulate(provider any) {
	whole, _ := provider.(object)
	config := whole.object("config")
	t.importer.reportUnknown(t.name, config, t.at.member("provider"), "instructions", "maxTurns", "initialMessages")
	template := config.text("instructions")
	if template == "" {
		template = "{{instructions}}"
	}
	scenario, isFilled := t.fillTemplate("instructions", template)
	if t.scenario = strings.TrimSpace(scenario); !isFilled || t.scenario == "" {
		t.drop("its simulated user has no instructions")
		return
	}
	if values, isGiven := t.more.get("variables"); isGiven && template == "{{instructions}}" {
		t.more = t.more.with("variables", values.(object).without("instructions"))
	}
	t.reportFrame("the agent has its own prompt")
	if len(t.p.prompts) > 0 {
		t.importer.report.addNote(notNeeded, t.p.prompts[0].at, "the configuration", "prompts: the agent has its own prompt")
	}
	turns := 10.0
	if value, isGiven := config.get("maxTurns"); isGiven {
		turns, _ = number(value)
	}
	if turns < 1 || turns > model.MaxTurns {
		t.noteApproximated("maxTurns", "it is %v, but a test has 1 to %d turns", turns, model.MaxTurns)
	}
	t.setMember("maxTurns", int64(max(1, min(model.MaxTurns, turns))))
	beginning, _ := config.get("initialMessages")
	if text, isText := beginning.(string); isText {
		value, problem := t.readVariable(text)
		if problem != "" {
			t.noteLeftOut("initialMessages", "%s", problem)
		}
		beginning = value
	}
	if messages, isList := beginning.(list); isList && areMessages(messages) {
		t.setMember("conversationContext", importMessages(t.importedTest, t.chat(messages, true), "content"))
	} else if beginning != nil {
		t.noteLeftOut("initialMessages", "%s is not a list of messages", asText(beginning))
	}
	if len(t.test.list("assert"))+len(t.p.defaults.list("assert")) > 0 {
		t.noteApproximated("assertions",
			"promptfoo examines the whole conversation, but agentgraph only the agent's messages")
	}
}

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
