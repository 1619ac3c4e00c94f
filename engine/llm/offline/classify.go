package offline

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
)

const (
	// These are the weights of a word of a tag's name and of its definition.
	nameWeight, definitionWeight = 2.0, 1.0
	// leastScore is the lowest score at which a tag matches.
	leastScore = 2.0
)

// Classifier returns the model that gives a conversation the tag whose name and definition share the most words with
// it, by the scores in docs/reference/offline-model.md. It gives no tag if none matches, or if two match equally well.
func Classifier() llm.Model {
	p := ruleModel{name: "classifier"}
	p.answer = func(req llm.Request) (llm.Answer, error) {
		var asked struct {
			Tags         []tag
			Conversation []struct{ Text string }
		}
		if len(req.Messages) == 0 || json.Unmarshal([]byte(req.Messages[0].Text), &asked) != nil {
			return llm.Answer{}, p.refuse("it only classifies tests")
		}
		var said []string
		for _, m := range asked.Conversation {
			said = append(said, subjectWords(m.Text)...)
		}
		text, err := json.Marshal(chosenTag(asked.Tags, said))
		return llm.Answer{Text: string(text)}, err
	}
	return p
}

type tag struct{ Name, Definition string }

type classification struct {
	Rationale string  `json:"rationale"`
	Tag       *string `json:"tag"`
}

func chosenTag(tags []tag, said []string) classification {
	words := make([]map[string]float64, len(tags))
	having := map[string]float64{}
	for i, t := range tags {
		words[i] = t.words()
		for word := range words[i] {
			having[word]++
		}
	}
	best, second, chosen := 0.0, 0.0, -1
	var shared []string
	for i, t := range tags {
		score := 0.0
		var found []string
		for _, word := range subjectWords(strings.Join(read.NameWords(t.Name), " ") + " " + t.Definition) {
			if weight := words[i][word]; hasWord(said, word) {
				score += weight / having[word]
				found = append(found, word)
			}
		}
		if score > best {
			best, second, chosen, shared = score, best, i, found
		} else {
			second = max(second, score)
		}
	}
	switch {
	case best < leastScore:
		return classification{Rationale: "No tag shares enough words with the conversation."}
	case best == second:
		return classification{Rationale: "Two tags share as many words with the conversation, so none is chosen."}
	}
	return classification{
		Rationale: fmt.Sprintf("The conversation shares the words %s with the tag %q.", strings.Join(shared, ", "),
			tags[chosen].Name),
		Tag: &tags[chosen].Name,
	}
}

func (t tag) words() map[string]float64 {
	weights := map[string]float64{}
	for _, word := range subjectWords(t.Definition) {
		weights[word] = definitionWeight
	}
	for _, word := range subjectWords(strings.Join(read.NameWords(t.Name), " ")) {
		weights[word] = nameWeight
	}
	return weights
}
