package offline

import (
	"regexp"
	"slices"
	"strings"
)

// maxQuoted is how many sentences of the instructions one reply quotes.
const maxQuoted = 2

var (
	// sentenceEnd is a full stop, question or exclamation mark before a space, or a line's end.
	sentenceEnd = regexp.MustCompile(`([.!?])\s+|\s*\n+\s*`)
	// listMark is what begins a heading or an item: "# ", "- ", "* ", "1. ", "2) ".
	listMark = regexp.MustCompile(`^(#+|[-*•]|\d+[.)])\s+`)
	// toModel begins a sentence that tells the model how to behave; it is no news for a contact.
	toModel = regexp.MustCompile(`(?i)^(you are|you're|act as|your (role|task|job|goal)|always|never|do not|don't|` +
		`(be|keep|ask|answer|reply|speak|say|tell|use|call|greet|repeat|wait|make sure) |(tu|vous) (es|êtes)|(ton|votre) (rôle|but|objectif)|` +
		`toujours|jamais|ne |n['’]|(soi[st]|soyez|rest(e|ez)|demand(e|ez)|répond(s|ez)|parl(e|ez)|utilis(e|ez)|appel(le|ez)|dis|dites|attend(s|ez)) )`)
	// toolName is a word in the manner of a tool's technical name: such a sentence is for the model too.
	toolName = regexp.MustCompile(`[a-z0-9]_[a-z0-9]`)
)

// relevant returns the sentences of the instructions that share words with the subject, in the
// order in which they stand: at most two, and the second only if it scores at least half of the first.
//
// A shared word counts 1/n, where n is the number of sentences that have it: a word that is
// everywhere tells little. Of equal scores the earlier sentence wins.
func relevant(instructions string, subject []string) []string {
	sentences := sentencesOf(instructions)
	contents := make([][]string, len(sentences))
	for i, sentence := range sentences {
		contents[i] = contentOf(wordsOf(sentence))
	}
	scores := make([]float64, len(sentences))
	for _, word := range subject {
		var having []int
		for i, content := range contents {
			if slices.ContainsFunc(content, func(other string) bool { return alike(word, other) }) {
				having = append(having, i)
			}
		}
		for _, i := range having {
			scores[i] += 1 / float64(len(having))
		}
	}

	var chosen []int
	for range maxQuoted {
		best := -1
		for i, score := range scores {
			if score > 0 && !slices.Contains(chosen, i) && (best < 0 || score > scores[best]) {
				best = i
			}
		}
		if best < 0 || len(chosen) > 0 && scores[best] < scores[chosen[0]]/2 {
			break
		}
		chosen = append(chosen, best)
	}
	slices.Sort(chosen)
	var quoted []string
	for _, i := range chosen {
		quoted = append(quoted, sentences[i])
	}
	return quoted
}

// sentencesOf splits instructions into what may be said to a contact, each with an end mark.
func sentencesOf(instructions string) []string {
	var sentences []string
	for _, sentence := range strings.Split(sentenceEnd.ReplaceAllString(instructions, "$1\n"), "\n") {
		heading := strings.HasPrefix(sentence, "#")
		sentence = strings.TrimSpace(listMark.ReplaceAllString(strings.TrimSpace(sentence), ""))
		if sentence == "" || heading || strings.HasSuffix(sentence, ":") || toModel.MatchString(sentence) || toolName.MatchString(sentence) {
			continue
		}
		if !strings.ContainsAny(sentence[len(sentence)-1:], ".!?") {
			sentence += "."
		}
		sentences = append(sentences, sentence)
	}
	return sentences
}

// alike reports whether two words are forms of one: they begin with the same four letters or more,
// which leave at most one letter of the shorter. So "delivery" and "deliveries" are alike.
func alike(one, other string) bool {
	if one == other {
		return true
	}
	common := 0
	for common < min(len(one), len(other)) && one[common] == other[common] {
		common++
	}
	return common >= 4 && min(len(one), len(other))-common <= 1
}
