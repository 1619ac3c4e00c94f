package offline

import (
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/read"
)

// giving matches how descriptions tell what a tool returns. That has nothing to do with returning goods.
var giving = lazyregexp.New(`(?i)(^|\. )returns? |\b(as|were) returned\b`)

// properName matches a run of capitalised words within a sentence.
var properName = lazyregexp.New(`(\pL,? )\p{Lu}\pL+(?: \p{Lu}\pL+)*`)

const (
	// threshold is the least score for calling a tool. Half of it is enough for what the agent offered by number.
	threshold = 0.5
	// delegateThreshold is the least score for delegating.
	delegateThreshold = 0.8
	// ownWork is the share of a sub-agent's score with which one of the agent's own tools is preferred.
	ownWork = 0.7
)

// These are the weights of a word by where a tool has it.
const (
	inName, inDelegateName, inWeakName, inDescription, inInstructions, inEnum, inCaveat, inHeading, inProperty = 2, 1.2,
		0.5, 1, 1, 1, 0.4, 0.5, 0.5
)

// words are what a tool is about, each with its weight.
type words struct {
	of     []string
	weight []float64
}

func (w *words) add(weight float64, more []string) {
	for _, word := range more {
		if i := slices.Index(w.of, word); i >= 0 {
			w.weight[i] = max(w.weight[i], weight)
		} else if !read.IsEmpty(word) {
			w.of, w.weight = append(w.of, word), append(w.weight, weight)
		}
	}
}

// weightOf returns the highest weight among forms of the word.
func (w *words) weightOf(word string) float64 {
	highest := 0.0
	for i, other := range w.of {
		if read.Alike(word, other) {
			highest = max(highest, w.weight[i])
		}
	}
	return highest
}

// aboutTool returns what a tool is about by its name, its description, and the values that its arguments can have.
func aboutTool(t tool) words {
	var about words
	for _, word := range read.Meanings(read.NameWords(t.name)) {
		weight := float64(inName)
		if t.delegate {
			weight = inDelegateName
		}
		if read.IsWeak(word) {
			weight = inWeakName
		}
		about.add(weight, read.Content([]string{word}))
	}
	description := giving().ReplaceAllString(strings.Join(strings.Fields(t.description), " "), "$1")
	if t.delegate {
		// Names of businesses tell who does something, not what.
		description = properName().ReplaceAllString(description, "$1")
	}
	lead := read.FirstSentence(description)
	about.add(inDescription, read.Concepts(lead))
	about.add(inCaveat, read.Concepts(strings.TrimPrefix(description, lead)))
	if t.delegate {
		about.add(inDescription, read.Concepts(description))
		return about
	}
	for _, p := range t.properties {
		about.add(inProperty, read.Concepts(strings.Join(p.title, " ")))
		for _, choice := range p.choices() {
			parts := read.NameWords(choice)
			about.add(inEnum/float64(len(parts)), read.Concepts(strings.Join(parts, " ")))
		}
	}
	return about
}

// fit is the tool that fits words best, with its score.
type fit struct {
	tool  tool
	score float64
	// ok: there is such a tool.
	ok bool
}

// choose returns the tool that fits the words best, if one reaches the least score.
func (c *conversation) choose(subject []string, least float64) fit {
	scores := score(c.about(), subject)
	best, own := -1, -1
	for i, reached := range scores {
		if reached < least || c.tools[i].delegate && reached < delegateThreshold {
			continue
		}
		if best < 0 || reached > scores[best] || reached == scores[best] && c.called(c.tools[best]) && !c.called(c.tools[i]) {
			best = i
		}
		if !c.tools[i].delegate && (own < 0 || reached > scores[own]) {
			own = i
		}
	}
	if best < 0 {
		return fit{}
	}
	// The agent delegates what it can do itself only if that fits clearly better.
	if c.tools[best].delegate && own >= 0 && scores[own] >= ownWork*scores[best] {
		best = own
	}
	return fit{c.tools[best], scores[best], true}
}

// called reports whether a tool was called before this turn.
func (c *conversation) called(t tool) bool {
	return slices.ContainsFunc(c.calls, func(made call) bool { return made.Name == t.name && made.at < c.turn })
}

// score adds up the words that each tool shares with the subject. A shared word counts weight² ÷ the sum of its weights
// in all tools, because a word that every tool has tells little.
func score(tools []words, subject []string) []float64 {
	scores, weights := make([]float64, len(tools)), make([]float64, len(tools))
	for _, word := range subject {
		if read.IsEmpty(word) {
			continue
		}
		sum := 0.0
		for i := range tools {
			weights[i] = tools[i].weightOf(word)
			if read.IsWeak(word) {
				weights[i] = min(weights[i], inWeakName)
			}
			sum += weights[i]
		}
		for i, weight := range weights {
			if weight > 0 {
				scores[i] += weight * weight / sum
			}
		}
	}
	return scores
}

// beyondTools returns the words of the subject that no tool has.
func (c *conversation) beyondTools(subject []string) []string {
	subject = slices.DeleteFunc(subject, read.IsEmpty)
	for i := range c.alone {
		subject = slices.DeleteFunc(subject, func(word string) bool { return c.alone[i].weightOf(word) > 0 })
	}
	return subject
}

// choices returns the texts of an enum, of the property or of its items.
func (p property) choices() []string {
	values := p.enum
	if p.item != nil {
		values = p.item.enum
	}
	var texts []string
	for _, value := range values {
		if text, ok := value.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}
