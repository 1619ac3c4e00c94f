package offline

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/read"
)

// maxQuoted bounds the sentences of the instructions that one reply quotes.
const maxQuoted = 2

var (

	// toModel matches the beginning of a sentence that tells the model how to behave. It is no news for a contact.
	toModel = lazyregexp.New(
		`(?i)^(you (are|take|answer)|you're|(passengers|callers|visitors|customers|people|most people) |act as|your (role|task|job|goal)|always|never|do not|don't|` +
			`(be|keep|reply|speak|greet|wait|make sure|then|if it remains|no pressure|` + orders +
			`)[ ,]|(tu|vous) (es|êtes|réponds|répondez)|(ton|votre) (rôle|but|objectif)|` +
			`toujours|jamais|ne |n['’]|(soi[st]|soyez|rest(e|ez)|demand(e|ez)|répond(s|ez)|parl(e|ez)|utilis(e|ez)|appel(le|ez)|dis|dites|attend(s|ez)) )`)
	// toModelOutright matches the beginning of what is no news in knowledge either. There, "Never" may well be meant
	// for the contact.
	toModelOutright = lazyregexp.New(`(?i)^(you are in a|answer with nothing|use the tool)`)
	// condition matches the beginning of a sentence that says when the next one holds, or a label before it.
	condition = lazyregexp.New(`(?i)^(if|when|si|quand|lorsque) |^[\pL' -]{3,40}: `)
	// danger matches headings of what takes precedence over everything else.
	danger = lazyregexp.New(`(?i)\b(emergenc(y|ies)|safety|danger|urgences?|sécurité)\b`)
	// referring matches the beginning of a sentence that refers to the one before it.
	referring = lazyregexp.New(`(?i)^(it|they|this|that|these|elle|elles|il|ils|cela|c['’]est) `)
	// knowledgeMark is the line after which the instructions hold what was retrieved for the conversation.
	knowledgeMark = lazyregexp.New(`(?im)^[#*\s]*(knowledge|connaissances?)\s*:?[*\s]*:?[ \t]*$`)
	// toolReference matches what a description says of another tool.
	toolReference = lazyregexp.New(
		`(?i),?\s*(as )?(that )?((was |were )?(returned|given|found)|donnée?s?|renvoyée?s?|fournie?s?) (by|par) \w+_\w+|\s+(that|which) \w+_\w+ (returned|gave)`)
	// toolName matches a tool's technical name. Sentences with one are for the model too.
	toolName = lazyregexp.New(`[a-z0-9]_[a-z0-9]`)
)

// passage is a sentence that may be quoted, and what it is about: its own words and those of the heading above it.
type passage struct {
	text    string
	content []string
	// warns: the sentence stands under a heading such as "Safety".
	warns bool
}

// warning returns the sentences of the instructions about emergencies and safety that share words with the subject.
func (c *conversation) warning(subject []string) []string {
	return closest(c.warnings(), subject, leastShared(subject))
}

// leastShared is how many words of a subject a sentence of the instructions must have: two, or half of them.
func leastShared(subject []string) int { return min(2, (len(subject)+1)/2) }

// quotable returns the sentences of the agent's knowledge, or else of its instructions, that share words with the
// subject, and whether they are knowledge.
func (c *conversation) quotable(subject []string) ([]string, bool) {
	if found := closest(c.knowledge(), subject, 1); len(found) > 0 {
		return found, true
	}
	return closest(c.orders(), subject, leastShared(subject)), false
}

// cutKnowledge separates instructions from the knowledge under its heading, which may be "".
func cutKnowledge(system string) (instructions, knowledge string) {
	if at := knowledgeMark().FindStringIndex(system); at != nil {
		return system[:at[0]], system[at[1]:]
	}
	return system, ""
}

// closest returns at most two passages that share words with the subject, in their original order. The best one must
// share at least as many words as least says, and the second must score at least half as much. If scores are equal, the
// earlier passage wins.
func closest(passages []passage, subject []string, least int) []string {
	scores, shared := sharing(passages, subject)
	var chosen []int
	for range maxQuoted {
		best := -1
		for i, score := range scores {
			if score > 0 && !slices.Contains(chosen, i) && (best < 0 || score > scores[best]) {
				best = i
			}
		}
		if best < 0 || len(chosen) == 0 && shared[best] < least || len(chosen) > 0 && scores[best] < scores[chosen[0]]/2 {
			break
		}
		chosen = append(chosen, best)
	}
	slices.Sort(chosen)
	var quoted []string
	for _, i := range chosen {
		quoted = append(quoted, passages[i].text)
	}
	return quoted
}

// sharing returns, for each passage, the sum over the words that it shares with the subject, and their number. A shared
// word counts 1/n, where n is the number of passages that have it, because a frequent word tells little.
func sharing(passages []passage, subject []string) (scores []float64, shared []int) {
	scores, shared = make([]float64, len(passages)), make([]int, len(passages))
	for _, word := range subject {
		var having []int
		for i, passage := range passages {
			if read.HasAlike(passage.content, word) {
				having = append(having, i)
			}
		}
		for _, i := range having {
			scores[i] += 1 / float64(len(having))
			shared[i]++
		}
	}
	return scores, shared
}

// section is what was cut out of a part of a text, and the last sentence of that part.
type section struct {
	passages []passage
	last     string
}

// passagesOf splits a text into what may be said to a contact, each with an end mark. It remembers the text part by
// part, because only the parts of a prompt that name the contact differ between contacts.
func (m Model) passagesOf(text string, unfit *regexp.Regexp) []passage {
	var passages []passage
	last := ""
	for text != "" {
		// A heading begins a new part, which may still refer to the sentence before.
		part := text
		if at := strings.Index(text, "\n#"); at >= 0 {
			part = text[:at+1]
		}
		text = text[len(part):]
		cut := recall(m.memory, "section", func() section { return cutSection(part, last, unfit) }, unfit.String(), last,
			part)
		passages, last = append(passages, cut.passages...), cut.last
	}
	return passages
}

// cutSection splits one part, which follows the sentence previous. It leaves out sentences that begin with unfit, which
// are more in instructions than in knowledge. It keeps what instructions tell the model to say, in the words for the
// contact, which is also about the condition before it.
func cutSection(text, previous string, unfit *regexp.Regexp) section {
	isKnowledge := unfit == toModelOutright()
	var passages []passage
	var heading []string
	before := ""
	warns, skips := false, false
	for _, sentence := range read.Sentences(text) {
		sentence = strings.TrimSpace(sentence)
		if strings.HasPrefix(sentence, "#") {
			heading, warns, before = read.Concepts(sentence), danger().MatchString(sentence), ""
			skips = !isKnowledge && mannerHeading().MatchString(sentence)
			continue
		}
		sentence, isItem := read.CutListMark(sentence)
		if isItem {
			before = ""
		}
		if sentence == "" || skips || strings.HasSuffix(sentence, ":") {
			continue
		}
		if !strings.ContainsAny(sentence[len(sentence)-1:], ".!?") {
			sentence += "."
		}
		about := before + " " + sentence
		if referring().MatchString(sentence) {
			about += " " + previous
		}
		previous = sentence
		content := append(read.Concepts(about), heading...)
		if !isKnowledge {
			if condition().MatchString(sentence) {
				before = sentence
			}
			if said, ok := forContact(sentence); ok && !hidden().MatchString(said) {
				passages = append(passages, passage{said, content, warns})
				continue
			}
			sentence = withoutOrders(sentence)
			if isForModel(sentence) {
				continue
			}
		}
		if _, rest, ok := strings.Cut(sentence, "; "); ok && unfit.MatchString(sentence) {
			sentence = read.UpperFirst(rest)
		}
		if sentence == "" || toolName().MatchString(sentence) || unfit.MatchString(sentence) {
			continue
		}
		passages = append(passages, passage{sentence, content, warns})
	}
	return section{passages, previous}
}
