package offline

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/read"
)

const (
	// minSubjectWords is the number of subject words that a message needs before a document is quoted instead of a
	// matching example.
	minSubjectWords = 3
	// maxQuoted bounds the sentences that one reply quotes.
	maxQuoted = 3
	// A quoted sentence has at least the share leastQuoted of the message's subject words. It has at least leastWords of
	// them, or one if the message has fewer than three.
	leastQuoted, leastWords = 0.5, 2
)

var (
	// forModel matches sentences that tell the model how to behave. They are not quoted.
	forModel = lazyregexp.New(`(?i)^(you|your|act|always|never|do not|don't|be|keep|reply|speak|greet|wait|make|then|if it|stop|end|` +
		`listen|say|ask|tell|use|call|offer|suggest|answer|give|leave|thank|hand|open|read|repeat|send|take|transfer|schedule|` +
		`explain|prefer|spell|let|find|begin|check|confirm|freeze|dispute|close|book|tu|vous|ton|votre|toujours|jamais|ne|` +
		`sois|soyez|demande|demandez|réponds|répondez|parle|utilise|appelle|dis|dites|attends|expliquer|ouvre|propose|donne|` +
		`laisse|indique|reconnais|vouvoie|récapitule|retrouve)\b|[a-z0-9]_[a-z0-9]|\{[A-Za-z_][\w.]*\}|` +
		`\b(emoji|sentences|jargon|the (caller|visitor|contact|customer|lead|passenger|user))\b`)
	// orders matches sentences with an order to the model anywhere.
	orders = lazyregexp.New(`(?i)\b(offer|answers?|ask|say|tell|suggest|explain|give|hand|open|propose|demande|ouvre)\b`)
	// manner matches headings of sections about how the model works.
	manner = lazyregexp.New(`(?i)^#+\s*(how you|how to (speak|write|answer)|tone|ton\b|style|form\b|format|aim|goals?\b|role|never|` +
		`sources|method|verify|ta mission|course of|first things|limit|privacy|stop|aufgabe)`)
	// danger matches headings of sections about emergencies.
	danger = lazyregexp.New(`(?i)\b(emergenc(y|ies)|safety|danger|urgences?|sécurité)\b`)
	// tellTo matches an instruction to tell the contact to do something.
	tellTo = lazyregexp.New(`(?i)\btell (?:them|him|her|the \w+) to ([^.;:]+)`)
	// andThen matches a further instruction for the model itself.
	andThen = lazyregexp.New(`(?i),? and (open|hand|end|transfer|call|close|pass|record|wait|ask)\b.*`)
	// clauseEnd matches the end of a clause.
	clauseEnd = lazyregexp.New(`[,;:.!?\n–()]+\s+|\s+(?:but|and|so|because|mais|et|donc|car)\s+`)
)

// passage is a sentence that may be quoted, with its subject words and the subject words of the heading above it.
type passage struct {
	text    string
	content []string
	// number is the citation number of its excerpt, 0 if it has none.
	number int
	// owner is the number of its excerpt in the instructions, from 1, or 0 for a sentence outside of excerpts.
	owner int
}

// passagesOf returns the sentences of instructions that may be quoted, each with an end mark. With isWarning, it
// returns the sentences under headings such as "Emergencies", rewritten as advice to the contact.
func passagesOf(text string, isWarning bool) []passage {
	var passages []passage
	var heading []string
	skips, before := isWarning, ""
	for _, sentence := range read.Sentences(text) {
		sentence = strings.TrimSpace(sentence)
		if strings.HasPrefix(sentence, "#") {
			heading, before = read.Concepts(sentence), ""
			skips = isWarning && !danger().MatchString(sentence) || manner().MatchString(sentence)
			continue
		}
		sentence, _ = read.CutListMark(sentence)
		if sentence == "" || skips || strings.HasSuffix(sentence, ":") {
			continue
		}
		content := read.Concepts(before + " " + sentence)
		if isWarning {
			before = sentence
			if m := tellTo().FindStringSubmatch(sentence); m != nil {
				order := "Please " + strings.ReplaceAll(andThen().ReplaceAllString(m[1], ""), ", not to ", ", do not ")
				passages = append(passages, passage{text: read.Ended(order), content: content})
			}
			continue
		}
		if !forModel().MatchString(sentence) {
			passages = append(passages, passage{text: read.Ended(sentence), content: append(content, heading...)})
		}
	}
	return passages
}

// warning returns the instructions' advice for an emergency that the message mentions, or "".
func (c *conversation) warning() string {
	if c.hasExamples() {
		return ""
	}
	found := c.rankPassages(c.warnings(), read.Concepts(c.lastMessage))
	if len(found) == 0 {
		return ""
	}
	return found[0].text
}

// quotation quotes a document of the knowledge base. It returns nil if no document is about the message, or if an
// example is a better answer.
func (c *conversation) quotation(best match) *reply {
	least := fairScore
	if best.exchange != nil && len(best.calls) == 0 {
		least = sureScore
	}
	if best.score >= least {
		return nil
	}
	var passages []passage
	for i, e := range c.excerpts {
		passages = append(passages, sentencesOf(e, i)...)
	}
	subject := read.Concepts(c.lastMessage)
	if best.exchange != nil && len(subject) < minSubjectWords {
		return nil
	}
	found := c.rankPassages(passages, subject)
	if len(found) == 0 {
		return nil
	}
	text := quote(c.phrases.known, found)
	if found[0].number > 0 {
		text += " [" + strconv.Itoa(found[0].number) + "]"
	}
	return textReply(text, c.phrases.anythingElse)
}

// quoteInstructions returns a quotation of the instructions about the message's subject, or "".
func (c *conversation) quoteInstructions() string {
	subject, passages := read.Concepts(c.lastMessage), c.passages()
	if c.hasExamples() {
		if len(subject) < leastWords {
			return ""
		}
		// The opening describes the model's role.
		passages = filter(passages, func(p passage) bool {
			return !strings.Contains(c.opening, strings.Trim(p.text, ".")) && !orders().MatchString(p.text)
		})
	}
	found := c.rankPassages(passages, subject)
	if len(found) == 0 {
		return ""
	}
	return textReply(quote(c.phrases.found, found), c.phrases.anythingElse).text
}

func quote(phrase string, found []passage) string {
	var texts []string
	for _, p := range found {
		texts = append(texts, p.text)
	}
	return fill(phrase, strings.Join(texts, " "))
}

// rankPassages returns the passage that shares the most words with the subject, if it shares enough, and other passages
// of the same excerpt that share nearly as many. It returns at most maxQuoted, in their order. Words in many passages
// count less.
func (c *conversation) rankPassages(passages []passage, subject []string) []passage {
	subject = slices.DeleteFunc(subject, read.IsEmpty)
	scores, shared := make([]float64, len(passages)), make([]int, len(passages))
	var all float64
	for _, word := range subject {
		var having []int
		for i, p := range passages {
			if read.ContainsForm(p.content, word) {
				having = append(having, i)
			}
		}
		weight := lettersWeight(word) / float64(1+len(having))
		all += weight
		for _, i := range having {
			scores[i] += weight
			shared[i]++
		}
	}
	best := -1
	for i := range passages {
		isEnough := shared[i] >= min(leastWords, (len(subject)+1)/2) &&
			float64(shared[i]) >= leastQuoted*float64(len(subject))
		if language, ok := read.Detect(passages[i].text); isEnough && (!ok || language == c.phrases.language) &&
			(best < 0 || scores[i] > scores[best]) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	var found []passage
	for i, p := range passages {
		if p.owner == passages[best].owner && scores[i] >= scores[best]*0.75 && shared[i] > 0 && len(found) < maxQuoted {
			found = append(found, p)
		}
	}
	if !slices.ContainsFunc(found, func(p passage) bool { return p.text == passages[best].text }) {
		found = []passage{passages[best]}
	}
	return found
}

// sentencesOf splits an excerpt into passages. The subject of a sentence includes the words of its headings. The
// subject of an answer includes the words of its question.
func sentencesOf(e llm.Excerpt, owner int) []passage {
	var passages []passage
	above := read.Concepts(e.Document)
	var asked []string
	text := e.Text
	if question, answer, ok := strings.Cut(text, "\n"); ok && strings.HasSuffix(e.Document, ".csv") {
		asked, text = read.Concepts(question), answer
	}
	lines := read.Sentences(text)
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		sentence, isItem := read.CutListMark(trimmed)
		isHeading := strings.HasPrefix(line, "#") ||
			i == 0 && len(lines) > 1 && !isItem && strings.TrimRight(trimmed, ".!?;:") == trimmed
		switch {
		case sentence == "" || strings.HasSuffix(sentence, ":"):
		case isHeading:
			above = append(above, read.Concepts(sentence)...)
		case strings.HasSuffix(sentence, "?"):
			asked = read.Concepts(sentence)
		default:
			passages = append(passages, passage{text: read.Ended(sentence), number: e.Number, owner: owner + 1,
				content: slices.Concat(read.Concepts(sentence), asked, above)})
		}
	}
	return passages
}
