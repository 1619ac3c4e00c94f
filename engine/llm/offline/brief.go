package offline

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
)

// smallTalk are the exchanges that every agent knows.
//
//go:embed smalltalk.txt
var smallTalk string

// brief is what the model reads of an agent's instructions and tools. All turns share it, so it never changes.
type brief struct {
	tools []tool
	// own are the agent's examples, small those of this package, and implied those that its tools imply.
	own, small []*exchange
	implied    []*exchange
	can        map[read.Language]string
	// lexicons have the words of own and small by language, and toolWords those of implied.
	lexicons  [len(phrases)]*lexicon
	toolWords *lexicon
	// language is the language of the instructions.
	language read.Language
	today    time.Time
	// opening is the first paragraph of the instructions.
	opening string
	// passages are the sentences of the instructions that may be quoted, and warnings those about emergencies.
	passages, warnings func() []passage
}

// briefOf reads instructions, without excerpts, and tools.
func (m Model) briefOf(system string, offered []llm.Tool) *brief {
	texts := []string{system}
	for _, t := range offered {
		texts = append(texts, t.Name, t.Description, string(t.Parameters))
	}
	return recall(m.memory, "brief", func() *brief { return readBrief(system, offered) }, texts...)
}

func readBrief(system string, offered []llm.Tool) *brief {
	instructions, examples := cutExamples(system)
	own, small := readScript(examples, false), readScript(smallTalk, true)
	b := &brief{tools: readTools(offered), can: own.can, today: read.Today(instructions)}
	b.opening, _, _ = strings.Cut(strings.TrimSpace(instructions), "\n\n")
	b.language, _ = read.Detect(instructions)
	b.know()
	b.own = slices.DeleteFunc(own.exchanges, func(e *exchange) bool { return !b.mayCall(e, offered) })
	b.small = slices.DeleteFunc(small.exchanges, func(e *exchange) bool { return !b.mayCall(e, offered) })
	for language := range b.lexicons {
		spoken := func(e *exchange) bool { return e.language == read.Language(language) }
		b.lexicons[language] = newLexicon(filter(slices.Concat(b.own, b.small), spoken))
	}
	for _, t := range b.tools {
		if !slices.ContainsFunc(b.own, func(e *exchange) bool { return calls(e, t.name) }) {
			b.implied = append(b.implied, t.implies())
		}
	}
	b.toolWords = newLexicon(b.implied)
	b.passages = sync.OnceValue(func() []passage { return passagesOf(instructions, false) })
	b.warnings = sync.OnceValue(func() []passage { return passagesOf(instructions, true) })
	return b
}

func filter[T any](all []T, is func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !is(one) })
}

// calls reports whether an exchange or a reply to it calls the tool.
func calls(e *exchange, name string) bool {
	return slices.ContainsFunc(e.calls, func(c exampleCall) bool { return c.name == name }) ||
		slices.ContainsFunc(e.replies, func(r *exchange) bool { return calls(r, name) })
}

// mayCall reports whether all tools of an exchange are offered. Without the tool that ends the conversation, an
// agent still says goodbye.
func (b *brief) mayCall(e *exchange, offered []llm.Tool) bool {
	return !slices.ContainsFunc(e.calls, func(c exampleCall) bool {
		isOffered := slices.ContainsFunc(offered, func(t llm.Tool) bool { return t.Name == c.name })
		return !isOffered && c.name != llm.EndConversation
	})
}

func (b *brief) tool(name string) (tool, bool) {
	if i := slices.IndexFunc(b.tools, func(t tool) bool { return t.name == name }); i >= 0 {
		return b.tools[i], true
	}
	return tool{}, false
}

// hasExamples reports whether the instructions have examples of the agent.
func (b *brief) hasExamples() bool { return len(b.own) > 0 }

// ability says what the agent can do, in one sentence with suggestions.
func (b *brief) ability(speak *phrasebook) string {
	if can, ok := b.can[speak.language]; ok {
		return can
	}
	var titles []string
	for _, t := range b.tools[:min(len(b.tools), maxMenu)] {
		titles = append(titles, "“"+t.title+"”")
	}
	if len(titles) == 0 {
		return speak.canQuote
	}
	return fill(speak.canDo, strings.Join(titles, ", "))
}

// know completes each property with what depends on the other tools.
func (b *brief) know() {
	for _, t := range b.tools {
		for i := range t.properties {
			p := &t.properties[i]
			p.producers = b.producersOf(t, *p)
			p.language = t.language()
		}
	}
}

// producersOf returns the tools whose results hold the property's value: those that its description names, or, for a
// property that is an identifier, the tool's description.
func (b *brief) producersOf(t tool, p property) []string {
	last := ""
	if len(p.title) > 0 {
		last = p.title[len(p.title)-1]
	}
	isOwnID := last == "id" || last == "ids"
	var found []string
	for _, other := range b.tools {
		ofDescription := isOwnID && mentions(t.description, other.name)
		if other.name != t.name && (ofDescription || mentions(p.description, other.name)) {
			found = append(found, other.name)
		}
	}
	if len(found) > 0 || !isOwnID {
		return found
	}
	// An identifier comes from the tool that also provides it for another tool's property of that name.
	for _, other := range b.tools {
		twin, ok := other.property(singular(p.name))
		for _, named := range b.tools {
			if ok && other.name != t.name && mentions(twin.description, named.name) {
				found = append(found, named.name)
			}
		}
	}
	return found
}

// implies returns the exchange for a tool without an example: a message about its name or its description calls it,
// after the tools whose results it needs.
func (t tool) implies() *exchange {
	e := &exchange{opener: keyUser, asks: map[string]string{}}
	e.head = e
	for _, text := range []string{t.title, read.FirstSentence(t.description)} {
		content := slices.DeleteFunc(read.Concepts(text), func(word string) bool {
			return read.IsWeak(word) || read.IsEmpty(word)
		})
		if len(content) > 0 {
			e.variants = append(e.variants, variant{text: strings.Join(content, " ")})
		}
	}
	e.calls = []exampleCall{{name: t.name}}
	for _, p := range t.properties {
		for _, producer := range p.producers {
			if !slices.ContainsFunc(e.calls, func(c exampleCall) bool { return c.name == producer }) {
				e.calls = append([]exampleCall{{name: producer}}, e.calls...)
			}
		}
	}
	return e
}
