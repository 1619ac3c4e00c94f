package offline

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
)

// Judge returns the model that judges criteria of the forms in docs/offline-model.md, and fails on every other one. It
// never guesses.
func Judge() llm.Model {
	p := part{name: "judge"}
	p.answer = func(req llm.Request) (llm.Answer, error) {
		var asked struct {
			Transcript transcript
			Criterion  string
		}
		if len(req.Messages) == 0 || json.Unmarshal([]byte(req.Messages[0].Text), &asked) != nil {
			return llm.Answer{}, p.refuse("it only judges tests")
		}
		for _, f := range forms {
			if found := f.expression.FindStringSubmatch(strings.TrimSpace(asked.Criterion)); found != nil {
				text, err := json.Marshal(f.judge(asked.Transcript, found[1:]))
				return llm.Answer{Text: string(text)}, err
			}
		}
		return llm.Answer{}, p.refuse(fmt.Sprintf(
			"the criterion %q has none of the forms that can be judged without a language model; configure one to judge it", asked.Criterion))
	}
	return p
}

// transcript is a conversation as the judge receives it.
type transcript struct {
	Messages []struct {
		MessageIndex int
		Speaker      string
		IsGiven      bool
		Calls        []madeCall
		Text         string
	}
	Ending struct{ By string }
}

type madeCall struct {
	Name      string
	Arguments json.RawMessage
	Error     *string
}

type verdict struct {
	Evidence  []citation `json:"evidence"`
	Rationale string     `json:"rationale"`
	Passed    bool       `json:"passed"`
}

type citation struct {
	MessageIndex int    `json:"messageIndex"`
	Quote        string `json:"quote"`
}

// form is a kind of criterion that can be decided by looking.
type form struct {
	expression *regexp.Regexp
	judge      func(t transcript, parts []string) verdict
}

const (
	agentSpeaker = "agent"
	// These bound a verdict.
	mostCited = 10
	mostQuote = 1_000
)

var forms = []form{
	{formOf(`says ["“”„«]([^"“”„«»]+)["“”»]`), func(t transcript, parts []string) verdict {
		cited := t.saying(parts[0])
		if len(cited) > 0 {
			return verdict{cited, fmt.Sprintf("The agent said %q.", parts[0]), true}
		}
		if nearest := t.nearest(parts[0]); len(nearest) > 0 {
			return verdict{nearest, fmt.Sprintf("The agent never said %q; the nearest to it is quoted.", parts[0]), false}
		}
		return verdict{cited, fmt.Sprintf("The agent never said %q.", parts[0]), false}
	}},
	{formOf(`never says ["“”„«]([^"“”„«»]+)["“”»]`), func(t transcript, parts []string) verdict {
		cited := t.saying(parts[0])
		if len(cited) == 0 {
			return verdict{[]citation{}, fmt.Sprintf("The agent never said %q.", parts[0]), true}
		}
		return verdict{cited, fmt.Sprintf("The agent said %q.", parts[0]), false}
	}},
	{formOf(`calls ([a-z0-9_]+)`), func(t transcript, parts []string) verdict {
		_, cited := t.calling(parts[0], nil)
		return verdict{cited, count(cited, parts[0]), len(cited) > 0}
	}},
	{formOf(`calls ([a-z0-9_]+) with ([^\s=]+)\s*=\s*(.+?)`), func(t transcript, parts []string) verdict {
		want := strings.TrimSpace(strings.Trim(parts[2], `"“”„«»`))
		all, cited := t.calling(parts[0], func(c madeCall) bool { return c.has(parts[1], want) })
		if len(cited) > 0 {
			return verdict{cited, fmt.Sprintf("The agent called %s with %s = %s.", parts[0], parts[1], want), true}
		}
		return verdict{all, fmt.Sprintf("%s None was with %s = %s.", count(all, parts[0]), parts[1], want), false}
	}},
	{formOf(`does not call ([a-z0-9_]+)`), func(t transcript, parts []string) verdict {
		_, cited := t.calling(parts[0], nil)
		return verdict{cited, count(cited, parts[0]), len(cited) == 0}
	}},
	{formOf(`transfers the call`), func(t transcript, _ []string) verdict {
		all, cited := t.calling(llm.TransferCall, func(c madeCall) bool { return c.Error == nil })
		switch {
		case len(cited) > 0:
			return verdict{cited, "The agent transferred the call.", true}
		case len(all) > 0:
			return verdict{all, "The agent tried to transfer the call, and the transfer failed.", false}
		}
		return verdict{all, "The agent did not transfer the call.", false}
	}},
	{formOf(`ends the conversation`), func(t transcript, _ []string) verdict {
		if t.Ending.By == agentSpeaker {
			return verdict{t.last(), "The agent ended the conversation.", true}
		}
		return verdict{t.last(), "The agent did not end the conversation.", false}
	}},
}

// formOf matches a whole criterion, in any case, with or without its subject and its full stop.
func formOf(expression string) *regexp.Regexp {
	return regexp.MustCompile(`(?is)^(?:the agent )?` + expression + `\s*\.?$`)
}

func count(cited []citation, name string) string {
	if len(cited) == 0 {
		return fmt.Sprintf("The agent did not call %s.", name)
	}
	return fmt.Sprintf("The agent called %s.", name)
}

// saying returns the agent's own messages that hold a text, as whole words.
func (t transcript) saying(text string) []citation {
	cited := []citation{}
	for _, m := range t.Messages {
		if m.Speaker != agentSpeaker || m.IsGiven || len(cited) == mostCited {
			continue
		}
		if found := wholeWords(m.Text, text); found != "" {
			cited = append(cited, citation{m.MessageIndex, found})
		}
	}
	return cited
}

// nearest returns the agent's own sentence that shares most words with a text, if it has half of those that count.
func (t transcript) nearest(text string) []citation {
	said := read.Words(text)
	wanted := read.Content(said)
	if len(wanted) == 0 {
		wanted = said
	}
	best, most := []citation{}, max(1, (len(wanted)+1)/2)-1
	for _, m := range t.Messages {
		if m.Speaker != agentSpeaker || m.IsGiven {
			continue
		}
		for _, sentence := range read.Sentences(m.Text) {
			words, shared := read.Words(sentence), 0
			for _, word := range wanted {
				if slices.Contains(words, word) {
					shared++
				}
			}
			if shared > most {
				best, most = []citation{{m.MessageIndex, quotable(sentence)}}, shared
			}
		}
	}
	return best
}

// last returns the message with which the conversation ended.
func (t transcript) last() []citation {
	for _, m := range slices.Backward(t.Messages) {
		if len(read.Words(m.Text)) > 0 {
			return []citation{{m.MessageIndex, quotable(m.Text)}}
		}
	}
	return []citation{}
}

// quotable returns as much of the beginning of a text as may be quoted.
func quotable(text string) string {
	text = strings.TrimSpace(text)
	if runes := []rune(text); len(runes) > mostQuote {
		text = string(runes[:mostQuote])
	}
	return text
}

// calling returns the calls with a name: all of them, and those that fit. Without fits, all fit.
func (t transcript) calling(name string, fits func(madeCall) bool) (all, fitting []citation) {
	all, fitting = []citation{}, []citation{}
	for _, m := range t.Messages {
		if m.IsGiven {
			continue
		}
		for _, call := range m.Calls {
			if !strings.EqualFold(call.Name, name) {
				continue
			}
			quote := call.Name + " " + string(call.Arguments)
			if utf8.RuneCountInString(quote) > mostQuote {
				quote = call.Name
			}
			if len(all) < mostCited {
				all = append(all, citation{m.MessageIndex, quote})
			}
			if len(fitting) < mostCited && (fits == nil || fits(call)) {
				fitting = append(fitting, citation{m.MessageIndex, quote})
			}
		}
	}
	return all, fitting
}

// has reports whether an argument of the call has a value. Dots in its name reach into objects.
func (c madeCall) has(name, want string) bool {
	var arguments map[string]json.RawMessage
	if json.Unmarshal(c.Arguments, &arguments) != nil {
		return false
	}
	outer, inner, dotted := strings.Cut(name, ".")
	for given, value := range arguments {
		if strings.EqualFold(given, name) && strings.EqualFold(valueText(value), want) {
			return true
		}
		if dotted && strings.EqualFold(given, outer) && (madeCall{Arguments: value}).has(inner, want) {
			return true
		}
	}
	return false
}

// valueText returns a string as it is, and any other JSON value as JSON.
func valueText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return strings.TrimSpace(text)
	}
	return string(value)
}

// wholeWords returns the part of a text that has the wanted words, in any case and with any white space between them. It
// returns "" if they are absent, or only part of longer words.
func wholeWords(text, wanted string) string {
	words := strings.Fields(wanted)
	if len(words) == 0 {
		return ""
	}
	marks := strings.NewReplacer("’", "['’‘]", "‘", "['’‘]", "'", "['’‘]")
	for i, word := range words {
		words[i] = marks.Replace(regexp.QuoteMeta(word))
	}
	expression := regexp.MustCompile(`(?i)` + strings.Join(words, `[\s\p{Z}]+`))
	for from := 0; from <= len(text); {
		at := expression.FindStringIndex(text[from:])
		if at == nil {
			return ""
		}
		start, end := from+at[0], from+at[1]
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		first, width := utf8.DecodeRuneInString(text[start:])
		last, _ := utf8.DecodeLastRuneInString(text[:end])
		after, _ := utf8.DecodeRuneInString(text[end:])
		within := inWord(before) && inWord(first) || inWord(last) && inWord(after)
		if !within {
			return text[start:end]
		}
		from = start + width
	}
	return ""
}

func inWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
