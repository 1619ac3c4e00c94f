package offline

import (
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/read"
)

// examplesMark is the heading of the examples in instructions.
var examplesMark = lazyregexp.New(`(?im)^#+[ \t]*(examples|exemples)[ \t]*$`)

// exchange is an example: the messages of a contact, and the reaction of the agent.
type exchange struct {
	opener   string
	language read.Language
	// variants are the ways to say the contact's message. The variant "*" stands for any message.
	variants []variant
	calls    []exampleCall
	// asks are the questions for missing arguments, by name. lead precedes the first question that is asked.
	asks map[string]string
	lead string
	// order has the names in asks, in the order of asking.
	order []string
	// offer is the question before the first call, if the example's score is too low to be sure.
	offer string
	// confirm is the question before the last call, if the contact must agree first.
	confirm string
	// answers are templates. The agent says the first one that can be filled.
	answers []string
	// replies are the exchanges that may follow this one, in any order.
	replies []*exchange
	// class is the exchange's number in the classifier.
	class int
	// head is the first exchange of the block. It is the exchange itself if it begins a subject.
	head *exchange
	// isBuiltIn is set for small talk of this package.
	isBuiltIn bool
}

// These are the keys of lines in examples. An exchange begins with User, First or Urgent. First matches only the
// contact's first message. After Urgent, the conversation stays in the block.
const (
	keyUser, keyFirst, keyUrgent          = "User", "First", "Urgent"
	keyCall, keyAsk, keyOffer, keyConfirm = "Call", "Ask", "Offer", "Confirm"
	keyAgent, keyCan                      = "Agent", "Can"
)

// exampleCall is a call in an example, with its fixed arguments.
type exampleCall struct {
	name string
	// arguments maps argument names to texts. "<message>" stands for the contact's words.
	arguments map[string]string
}

// cutExamples separates instructions from their examples, which may be "". The examples end with the next heading.
func cutExamples(system string) (instructions, examples string) {
	at := examplesMark().FindStringIndex(system)
	if at == nil {
		return system, ""
	}
	rest := system[at[1]:]
	end := strings.Index(rest, "\n#")
	if end < 0 {
		end = len(rest)
	}
	return system[:at[0]] + rest[end:], rest[:end]
}

// readScript reads examples in the form that docs/reference/offline-model.md describes. It skips lines that it does not
// understand. It also returns the sentences about what the agent can do, by language.
func readScript(text string, isBuiltIn bool) (exchanges []*exchange, can map[read.Language]string) {
	can = map[read.Language]string{}
	for _, block := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		var head, current *exchange
		last := ""
		for line := range strings.Lines(block) {
			key, value := cutKey(strings.TrimSpace(line))
			switch key {
			case keyUser, keyFirst, keyUrgent:
				current = &exchange{opener: key, asks: map[string]string{}, isBuiltIn: isBuiltIn}
				for text := range strings.SplitSeq(value, "|") {
					current.variants = append(current.variants, variant{text: strings.TrimSpace(text)})
				}
				if head == nil {
					head = current
					exchanges = append(exchanges, head)
				} else {
					head.replies = append(head.replies, current)
				}
				current.head = head
			case keyCan:
				language, _ := read.Detect(value)
				can[language] = value
			case "":
				if current != nil && last == keyAgent && value != "" {
					current.answers[len(current.answers)-1] += "\n" + value
				}
				continue
			default:
				if current != nil {
					current.setKey(key, value)
				}
			}
			last = key
		}
		if head != nil {
			head.setLanguage(block)
		}
	}
	return exchanges, can
}

// setLanguage sets the language of an exchange and its replies to the block's language.
func (e *exchange) setLanguage(block string) {
	e.language, _ = read.Detect(block)
	for _, reply := range e.replies {
		reply.language = e.language
	}
}

// cutKey cuts the key off a line. The key is "" if the line has none.
func cutKey(line string) (key, value string) {
	key, value, ok := strings.Cut(line, ":")
	if ok {
		switch key {
		case keyUser, keyFirst, keyUrgent, keyCall, keyAsk, keyOffer, keyConfirm, keyAgent, keyCan:
			return key, strings.TrimSpace(value)
		}
	}
	return "", line
}

func (e *exchange) setKey(key, value string) {
	switch key {
	case keyCall:
		name, rest, _ := strings.Cut(value, " ")
		e.calls = append(e.calls, exampleCall{name, readArguments(rest)})
	case keyAsk:
		if name, question, ok := strings.Cut(value, "="); ok {
			question = strings.TrimSpace(question)
			first, _, _ := strings.Cut(question, "?")
			if last, _ := read.LastQuestion(first + "?"); len(e.asks) == 0 {
				e.lead = strings.TrimSpace(strings.TrimSuffix(first+"?", last))
			}
			e.asks[strings.TrimSpace(name)] = question
			e.order = append(e.order, strings.TrimSpace(name))
		}
	case keyOffer:
		e.offer = value
	case keyConfirm:
		e.confirm = value
	case keyAgent:
		e.answers = append(e.answers, value)
	}
}

// argumentPattern matches name=value and name="value with spaces".
var argumentPattern = lazyregexp.New(`(\w+)=(?:"([^"]*)"|(\S+))`)

func readArguments(text string) map[string]string {
	with := map[string]string{}
	for _, m := range argumentPattern().FindAllStringSubmatch(text, -1) {
		// An unfilled placeholder is not a value.
		if value := m[2] + m[3]; !unfilled().MatchString(value) {
			with[m[1]] = value
		}
	}
	return with
}

// unfilled matches a placeholder of the instructions that has no value.
var unfilled = lazyregexp.New(`\{[A-Za-z_][\w.]*\}`)
