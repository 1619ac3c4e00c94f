package offline

import (
	"regexp"
	"slices"
	"strings"
)

// threshold is the least score with which a tool is called.
const threshold = 1.0

// Weights of a word by where a tool has it.
const (
	inName, inWeakName, inDescription, inInstructions, inEnum, inCaveat, inHeading, inProperty = 2, 0.5, 1, 1, 1, 0.4, 0.5, 0.5
)

// weak are verbs that begin the names of tools of every kind, and small change of descriptions: alone they do not
// tell a tool from another. empty words tell nothing at all.
var (
	weak  = set(`open find get list send check make create set run add show update fetch search issue ask new request record`)
	empty = set(`call use offer say answer wait returns return returned caller visitor customer contact passenger person people
		needed until first last right before after again question would other name number day time full text delegate agent
		problem thing way please moi faut appelle avant apres autre toute toutes personne client cliente demande propose
		kind any normal way works work doesn isn won`)
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
		} else if !empty[word] {
			w.of, w.weight = append(w.of, word), append(w.weight, weight)
		}
	}
}

// weightOf is the weight of the words that are forms of the word, the highest of them.
func (w *words) weightOf(word string) float64 {
	highest := 0.0
	for i, other := range w.of {
		if alike(word, other) {
			highest = max(highest, w.weight[i])
		}
	}
	return highest
}

// aboutOf collects what a tool is about: its name, its description, what its arguments can be, and the
// lines of the instructions that name it.
func aboutOf(t tool, instructions string) words {
	var about words
	for _, word := range meanings(nameWords(t.name)) {
		weight := float64(inName)
		if weak[word] {
			weight = inWeakName
		}
		about.add(weight, contentOf([]string{word}))
	}
	lead := firstSentence(t.description)
	about.add(inDescription, concepts(lead))
	about.add(inCaveat, concepts(strings.TrimPrefix(strings.Join(strings.Fields(t.description), " "), lead)))
	if t.delegate {
		about.add(inDescription, concepts(t.description))
		return about
	}
	for _, p := range t.properties {
		about.add(inProperty, concepts(strings.Join(p.title, " ")))
		for _, choice := range p.choices() {
			parts := nameWords(choice)
			about.add(inEnum/float64(len(parts)), concepts(strings.Join(parts, " ")))
		}
	}
	heading := ""
	for line := range strings.Lines(instructions) {
		if strings.HasPrefix(line, "#") {
			heading = line
		}
		if regexp.MustCompile(`\b` + regexp.QuoteMeta(t.name) + `\b`).MatchString(line) {
			about.add(inInstructions, concepts(strings.ReplaceAll(line, t.name, " ")))
			about.add(inHeading, concepts(heading))
		}
	}
	return about
}

// choose returns the index of the tool that fits the words best, with its score; -1 when none reaches
// the threshold. A shared word counts its weight, in the proportion that this is of its
// weight in all tools; of equal scores the earlier tool wins.
func choose(tools []tool, instructions string, subject []string) (int, float64) {
	all := make([]words, len(tools))
	for i, t := range tools {
		all[i] = aboutOf(t, instructions)
	}
	scores := make([]float64, len(tools))
	for _, word := range subject {
		if empty[word] {
			continue
		}
		sum := 0.0
		weights := make([]float64, len(tools))
		for i := range tools {
			weights[i] = all[i].weightOf(word)
			if weak[word] {
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
	best := -1
	for i, score := range scores {
		if score >= threshold && (best < 0 || score > scores[best]) {
			best = i
		}
	}
	if best < 0 {
		return -1, 0
	}
	return best, scores[best]
}

// choices are the texts of an enum, of the property or of its items.
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
