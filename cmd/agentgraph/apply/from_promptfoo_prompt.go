package apply

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/model"
)

// spoken lists variables that usually hold the user's words.
var spoken = []string{"question", "query", "input", "message", "user_input", "userInput", "user_message", "prompt",
	"text"}

// ask imports the input of the agent: messages, or the scenario of a simulated user.
func (t *promptfooTest) ask() {
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
		t.approximate("the prompt", "its last message is from the agent, so the contact speaks next")
	}
	t.with("conversationContext", messagesOf(t.carried, messages, "content"))
	t.with("maxTurns", int64(1))
}

// message returns the messages for the agent: the prompt with its variables filled in.
func (t *promptfooTest) message() list {
	if len(t.p.prompts) == 0 {
		t.leaveFrame("no prompt can be read")
		return t.spoken("no prompt can be read")
	}
	prompt := t.p.prompts[0]
	options := t.test.object("options")
	if _, isChat := messagesIn(prompt.text); isChat || strings.Contains(prompt.text, "{%") {
		t.leaveFrame("its prompt is a chat")
	}
	if messages, isChat := messagesIn(prompt.text); isChat {
		return t.chat(messages, true)
	}
	if strings.Contains(prompt.text, "{%") {
		return t.looped(prompt)
	}
	text, isFilled := t.text("the prompt", options.text("prefix")+prompt.text+options.text("suffix"))
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

// leaveFrame reports that the prefix and suffix of a prompt are left out.
func (t *promptfooTest) leaveFrame(why string) {
	for _, name := range []string{"prefix", "suffix"} {
		if t.test.object("options").text(name) != "" {
			t.leave("options."+name, "%s", why)
		}
	}
}

// singleBraces matches our placeholders, which promptfoo takes literally.
var singleBraces = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_.]*)\}`)

// text fills a template, and reports what it cannot fill. It puts spaces inside single braces that a run would replace.
func (t *promptfooTest) text(what, template string) (string, bool) {
	fillable := t.texts.rows
	if !strings.HasSuffix(what, "the prompt") || t.turn > 0 {
		// Only rows are filled into the messages that a test starts with.
		fillable = slices.Concat(t.texts.rows, t.texts.bag)
	}
	text, missing, err := t.texts.fill(template, func(text string) string {
		return singleBraces.ReplaceAllStringFunc(text, func(found string) string {
			name := found[1 : len(found)-1]
			if _, isFilled := reachAll(fillable, name); !isFilled {
				return found
			}
			t.approximate(what, "%s is written { %s }, because agentgraph would fill it in", found, name)
			return "{ " + name + " }"
		})
	})
	if err != nil {
		t.leave(what, "%v", err)
		return "", false
	}
	return text, t.misses(what, missing)
}

// misses reports variables without a value. It returns false if one of them needs the output of another test.
func (t *promptfooTest) misses(what string, missing []string) bool {
	for _, name := range missing {
		if slices.Contains(t.p.outputs, name) {
			t.leave(what, "{{%s}} is the output of another test", name)
			return false
		}
	}
	if len(missing) > 0 {
		t.approximate(what, "no variable fills {{%s}}, so the text is empty there", strings.Join(missing, "}}, {{"))
	}
	return true
}

// spoken returns a message with the variable that usually contains what the user says.
func (t *promptfooTest) spoken(why string) list {
	all := slices.Concat(t.texts.rows, t.texts.bag)
	for _, m := range all {
		if slices.Contains(spoken, m.name) || len(all) == 1 {
			t.approximate("the prompt", "%s, so the message to the agent is the variable %s", why, m.name)
			if text, isFilled := t.text("the prompt", "{{"+m.name+"}}"); isFilled {
				return list{object{{"role", "user"}, {"content", text}}}
			}
		}
	}
	t.drop("%s, and no variable has a known name for the user's message, such as question", why)
	return nil
}

var lastVariable = regexp.MustCompile(`\{\{-?\s*(\w+)`)

// looped imports a prompt that writes the earlier messages in a loop, followed by a new one.
func (t *promptfooTest) looped(prompt promptfooPrompt) (messages list) {
	loops := loopIn.FindAllStringSubmatch(prompt.text, -1)
	if len(loops) == 0 {
		_, _ = t.text("the prompt", prompt.text) // reports the parts that cannot be evaluated
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
	t.approximate("the prompt", "its template code is not evaluated: the message to the agent is "+
		"{{%s}}", last[len(last)-1][1])
	text, isFilled := t.text("the prompt", "{{"+last[len(last)-1][1]+"}}")
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
	t.in.others(t.name, config, t.at.member("provider"), "instructions", "maxTurns", "initialMessages")
	template := config.text("instructions")
	if template == "" {
		template = "{{instructions}}"
	}
	scenario, isFilled := t.text("instructions", template)
	if t.scenario = strings.TrimSpace(scenario); !isFilled || t.scenario == "" {
		t.drop("its simulated user has no instructions")
		return
	}
	if values, isGiven := t.more.get("variables"); isGiven && template == "{{instructions}}" {
		t.more = t.more.with("variables", values.(object).without("instructions"))
	}
	t.leaveFrame("the agent has its own prompt")
	if len(t.p.prompts) > 0 {
		t.in.report.addNote(notNeeded, t.p.prompts[0].at, "the configuration", "prompts: the agent has its own prompt")
	}
	turns := 10.0
	if value, isGiven := config.get("maxTurns"); isGiven {
		turns, _ = number(value)
	}
	if turns < 1 || turns > model.MaxTurns {
		t.approximate("maxTurns", "it is %v, but a test has 1 to %d turns", turns, model.MaxTurns)
	}
	t.with("maxTurns", int64(max(1, min(model.MaxTurns, turns))))
	beginning, _ := config.get("initialMessages")
	if text, isText := beginning.(string); isText {
		value, problem := t.valueOf(text)
		if problem != "" {
			t.leave("initialMessages", "%s", problem)
		}
		beginning = value
	}
	if messages, isList := beginning.(list); isList && areMessages(messages) {
		t.with("conversationContext", messagesOf(t.carried, t.chat(messages, true), "content"))
	} else if beginning != nil {
		t.leave("initialMessages", "%s is not a list of messages", shown(beginning))
	}
	if len(t.test.list("assert"))+len(t.p.defaults.list("assert")) > 0 {
		t.approximate("assertions", "promptfoo examines the whole conversation, but agentgraph only the agent's messages")
	}
}
