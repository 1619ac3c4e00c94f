package offline

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
)

// toolset is what the rules know of tools that are offered together, apart from the instructions.
type toolset struct {
	// key is the hash of the texts that it was read from.
	key   string
	tools []tool
	// alone is what each tool is about, without the instructions.
	alone []words
	// questions are all questions about the tools, by their text. Tools may share one.
	questions map[string][]*question
}

// brief is an agent's instructions and tools, as the rules read them. All
// turns share it, so it never changes. Parts that few rules need are read once, when one does.
type brief struct {
	*toolset
	// language is the language of the instructions.
	language func() read.Language
	today    time.Time
	// opening is the first paragraph of the instructions.
	opening string
	// contact is the contact's name in the opening. It may be empty.
	contact func() string
	// about is what each tool is about, by its name and by the instructions.
	about func() []words
	// warnings, knowledge and orders are the sentences of the instructions that may be quoted: those about emergencies
	// and safety, those under a heading of knowledge, and those outside of it.
	warnings, knowledge, orders func() []passage

	system string
	// told caches what the instructions tell of a property, by its place.
	told sync.Map
}

// toolsetOf reads the tools that may be called for a contact, with the questions about them in each language.
func (m Model) toolsetOf(offered []llm.Tool) *toolset {
	var texts []string
	for _, t := range offered {
		texts = append(texts, t.Name, t.Description, string(t.Parameters))
	}
	key, bytes := keyOf("tools", texts)
	return recallBy(m.memory, key, bytes, func() *toolset {
		s := &toolset{key: string(key[:]), tools: readTools(offered)}
		s.know()
		for _, t := range s.tools {
			s.alone = append(s.alone, aboutTool(t))
		}
		s.questions = everyQuestion(s.tools)
		return s
	})
}

// briefOf reads instructions, without excerpts, and tools.
func (m Model) briefOf(system string, offered []llm.Tool) *brief {
	tools := m.toolsetOf(offered)
	return recall(m.memory, "brief", func() *brief { return m.readBrief(system, tools) }, system, tools.key)
}

func (m Model) readBrief(system string, tools *toolset) *brief {
	b := &brief{toolset: tools, today: read.Today(system), opening: opening(system), system: system}
	b.language = sync.OnceValue(func() read.Language {
		spoken, _ := read.Detect(system)
		return spoken
	})
	b.contact = sync.OnceValue(func() string {
		if m := contactNamed().FindStringSubmatch(b.opening); m != nil {
			return m[1]
		}
		return ""
	})
	b.about = sync.OnceValue(b.readAbout)
	b.warnings = sync.OnceValue(func() []passage {
		return slices.DeleteFunc(m.passagesOf(system, toModel()), func(p passage) bool { return !p.warns })
	})
	parts := sync.OnceValues(func() (string, string) { return cutKnowledge(system) })
	b.knowledge = sync.OnceValue(func() []passage {
		_, knowledge := parts()
		return m.passagesOf(knowledge, toModelOutright())
	})
	b.orders = sync.OnceValue(func() []passage {
		instructions, _ := parts()
		return m.passagesOf(instructions, toModel())
	})
	return b
}

// readAbout collects what each tool is about, by its name and by the lines of the instructions that name it.
func (b *brief) readAbout() []words {
	every := make([]words, len(b.tools))
	for i, t := range b.tools {
		every[i] = b.alone[i]
		if t.delegate || !mentions(b.system, t.name) {
			continue
		}
		about := words{slices.Clone(every[i].of), slices.Clone(every[i].weight)}
		heading := ""
		for line := range strings.Lines(b.system) {
			if strings.HasPrefix(line, "#") {
				heading = line
			}
			if mentions(line, t.name) {
				about.add(inInstructions, read.Concepts(strings.ReplaceAll(line, t.name, " ")))
				about.add(inHeading, read.Concepts(heading))
			}
		}
		every[i] = about
	}
	return every
}

// everyQuestion returns everything that the model may ask about the tools, by text.
func everyQuestion(tools []tool) map[string][]*question {
	every := map[string][]*question{}
	add := func(text string, asked question) {
		every[lastQuestion(text)] = append(every[lastQuestion(text)], &asked)
	}
	for i := range phrases {
		book := &phrases[i]
		for j := range tools {
			t := tools[j]
			if t.confirm {
				add(book.sure, question{tool: t, confirm: true})
			}
			if t.callsBack() {
				add(book.callBack, question{tool: t, confirm: true})
			}
			for _, p := range t.properties {
				add(p.asked[i], question{tool: t, property: p})
				if len(p.producers) > 0 {
					add(book.which, question{tool: t, property: p})
					add(book.oneOf, question{tool: t, property: p})
				}
			}
		}
	}
	return every
}

// know completes each property with its questions, and with what depends on the other tools.
func (s *toolset) know() {
	place := 0
	for _, t := range s.tools {
		for i := range t.properties {
			p := &t.properties[i]
			place++
			p.place, p.producers = place, s.producersOf(t, *p)
			p.label, p.language = labelOf(*p), t.language()
			for i := range phrases {
				p.asked[i] = phrases[i].phrase(*p)
			}
		}
	}
}

// producersOf returns the tools whose results hold the property's value: those that its description names, or, for a
// property that is an identifier, the tool's description.
func (s *toolset) producersOf(t tool, p property) []*tool {
	last := ""
	if len(p.title) > 0 {
		last = p.title[len(p.title)-1]
	}
	isOwnID := last == "id" || last == "ids"
	var found []*tool
	for i, other := range s.tools {
		ofDescription := isOwnID && mentions(t.description, other.name)
		if other.name != t.name && (ofDescription || mentions(p.description, other.name)) {
			found = append(found, &s.tools[i])
		}
	}
	if len(found) > 0 || !isOwnID {
		return found
	}
	// An identifier comes from the tool that also provides it for another tool's property of that name.
	for _, other := range s.tools {
		twin, ok := other.property(singular(p.name))
		for i, named := range s.tools {
			if ok && other.name != t.name && mentions(twin.description, named.name) {
				found = append(found, &s.tools[i])
			}
		}
	}
	return found
}
