package offline

import (
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/engine/slot"
)

// smallTalk are the exchanges that every agent knows.
//
//go:embed smalltalk.txt
var smallTalk string

// brief holds an agent's instructions and tools after parsing. All turns share it, so it never changes.
type brief struct {
	tools []slot.Tool
	*repertoire
	// toolExamples are made from the agent's tools. toolWords has their words.
	toolExamples []*exchange
	toolWords    *lexicon
	// language is the language of the instructions.
	language read.Language
	today    time.Time
	// opening is the first paragraph of the instructions.
	opening string
	// bytes estimates the memory that the brief takes.
	bytes int
	// passages are the sentences of the instructions that may be quoted. warnings are the sentences about emergencies.
	passages, warnings func() []passage
}

// repertoire holds examples after parsing. All agents with the same examples and tool names share it, so it never
// changes. The instructions of each chat may differ, for example in the contact's name.
type repertoire struct {
	// agentExamples are the agent's examples. smallTalkExamples are the small talk of this package.
	agentExamples, smallTalkExamples []*exchange
	abilities                        map[read.Language]string
	// lexicons have the words of all examples, by language.
	lexicons [len(phrases)]*lexicon
	// bytes estimates the memory that the repertoire takes.
	bytes int
}

// briefOf parses instructions, without excerpts, and tools. It caches the result if the model has a memory.
func (m Model) briefOf(system string, offered []llm.Tool) *brief {
	asked, err := json.Marshal([]any{system, offered})
	if m.memory == nil || err != nil { // a schema is not JSON
		return m.readBrief(system, offered)
	}
	known, _ := m.memory.briefs.Load(sha256.Sum256(asked), func([sha256.Size]byte) (*brief, error) {
		b := m.readBrief(system, offered)
		b.bytes = bytesPerBrief + bytesPerByte*len(asked)
		return b, nil
	})
	return known
}

// repertoireOf parses examples. It caches the result if the model has a memory.
func (m Model) repertoireOf(examples string, offered []llm.Tool) *repertoire {
	if m.memory == nil {
		return readRepertoire(examples, offered)
	}
	names := make([]string, len(offered))
	for i, t := range offered {
		names[i] = t.Name
	}
	key := sha256.Sum256([]byte(strings.Join(names, "\n") + "\n\n" + examples))
	known, _ := m.memory.repertoires.Load(key, func([sha256.Size]byte) (*repertoire, error) {
		return readRepertoire(examples, offered), nil
	})
	return known
}

func readRepertoire(examples string, offered []llm.Tool) *repertoire {
	own, can := readScript(examples, false)
	small, _ := readScript(smallTalk, true)
	mustNotCall := func(e *exchange) bool { return !mayCall(e, offered) }
	r := &repertoire{agentExamples: slices.DeleteFunc(own, mustNotCall), abilities: can,
		smallTalkExamples: slices.DeleteFunc(small, mustNotCall), bytes: bytesPerRepertoire + bytesPerExample*len(examples)}
	for language := range r.lexicons {
		spoken := func(e *exchange) bool { return e.language == read.Language(language) }
		r.lexicons[language] = newLexicon(filter(slices.Concat(r.agentExamples, r.smallTalkExamples), spoken))
	}
	return r
}

func (m Model) readBrief(system string, offered []llm.Tool) *brief {
	instructions, examples := cutExamples(system)
	b := &brief{tools: slot.ReadTools(offered), repertoire: m.repertoireOf(examples, offered),
		today: read.Today(instructions)}
	b.opening, _, _ = strings.Cut(strings.TrimSpace(instructions), "\n\n")
	b.language, _ = read.Detect(instructions)
	b.linkProducers()
	for _, t := range b.tools {
		if !slices.ContainsFunc(b.agentExamples, func(e *exchange) bool { return calls(e, t.Name) }) {
			b.toolExamples = append(b.toolExamples, impliedBy(t))
		}
	}
	b.toolWords = newLexicon(b.toolExamples)
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

// mayCall reports whether the request offers all tools of an exchange. The tool that ends the conversation may be
// missing, because an agent can say goodbye without it.
func mayCall(e *exchange, offered []llm.Tool) bool {
	return !slices.ContainsFunc(e.calls, func(c exampleCall) bool {
		isOffered := slices.ContainsFunc(offered, func(t llm.Tool) bool { return t.Name == c.name })
		return !isOffered && c.name != llm.EndConversation
	})
}

func (b *brief) tool(name string) (slot.Tool, bool) {
	if i := slices.IndexFunc(b.tools, func(t slot.Tool) bool { return t.Name == name }); i >= 0 {
		return b.tools[i], true
	}
	return slot.Tool{}, false
}

// hasExamples reports whether the agent's instructions contain examples.
func (b *brief) hasExamples() bool { return len(b.agentExamples) > 0 }

// ability returns a sentence about what the agent can do, with suggestions.
func (b *brief) ability(phrases *phrasebook) string {
	if can, ok := b.abilities[phrases.language]; ok {
		return can
	}
	var titles []string
	for _, t := range b.tools[:min(len(b.tools), maxMenu)] {
		titles = append(titles, "“"+t.Title+"”")
	}
	if len(titles) == 0 {
		return phrases.canQuote
	}
	return fill(phrases.canDo, strings.Join(titles, ", "))
}

// linkProducers sets each property's language and the tools that produce its value.
func (b *brief) linkProducers() {
	for _, t := range b.tools {
		for i := range t.Properties {
			p := &t.Properties[i]
			p.Producers = b.producersOf(t, *p)
			p.Language = t.Language()
		}
	}
}

// producersOf returns the tools whose results contain the property's value. The property's description names them. For
// an identifier, the description of its tool may name them too.
func (b *brief) producersOf(t slot.Tool, p slot.Property) []string {
	last := ""
	if len(p.Title) > 0 {
		last = p.Title[len(p.Title)-1]
	}
	isOwnID := last == "id" || last == "ids"
	var found []string
	for _, other := range b.tools {
		ofDescription := isOwnID && slot.Mentions(t.Description, other.Name)
		if other.Name != t.Name && (ofDescription || slot.Mentions(p.Description, other.Name)) {
			found = append(found, other.Name)
		}
	}
	if len(found) > 0 || !isOwnID {
		return found
	}
	// Another tool may have a property of the same name, whose description names the producer.
	for _, other := range b.tools {
		twin, ok := other.Property(singular(p.Name))
		for _, named := range b.tools {
			if ok && other.Name != t.Name && slot.Mentions(twin.Description, named.Name) {
				found = append(found, named.Name)
			}
		}
	}
	return found
}

// impliedBy returns an exchange for a tool without an example. Its variants are the tool's name and description. It
// calls the tools whose results the tool needs, then the tool.
func impliedBy(t slot.Tool) *exchange {
	e := &exchange{opener: keyUser, asks: map[string]string{}}
	e.head = e
	for _, text := range []string{t.Title, read.FirstSentence(t.Description)} {
		content := slices.DeleteFunc(read.Concepts(text), func(word string) bool {
			return read.IsWeak(word) || read.IsEmpty(word)
		})
		if len(content) > 0 {
			e.variants = append(e.variants, variant{text: strings.Join(content, " ")})
		}
	}
	e.calls = []exampleCall{{name: t.Name}}
	for _, p := range t.Properties {
		for _, producer := range p.Producers {
			if !slices.ContainsFunc(e.calls, func(c exampleCall) bool { return c.name == producer }) {
				e.calls = append([]exampleCall{{name: producer}}, e.calls...)
			}
		}
	}
	return e
}
