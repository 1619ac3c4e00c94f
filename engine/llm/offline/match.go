package offline

import (
	"math"
	"strings"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/engine/read"
)

const (
	// These are the lowest scores, from 0 to 1, at which an example is used. At nearScore, it answers the message. At
	// fairScore, it precedes small talk and documents. At sureScore, it may interrupt a question. At likelyScore, it is
	// offered if no other example has nearScore, and changes nothing before the contact agrees. At exactScore, one of its
	// variants precedes everything.
	nearScore, fairScore, sureScore, likelyScore, exactScore = 0.38, 0.48, 0.7, 0.2, 0.9
	// likelyReply replaces likelyScore for a message that may answer the agent's question. alarming replaces nearScore for
	// an emergency that is the nearest example.
	likelyReply, alarming = 0.36, 0.27
	// wordShare is the share of the nearest variant in an example's score. The classifier has the rest. An example's
	// score is at least the variant's score minus variantLoss.
	wordShare, variantLoss = 0.4, 0.15
	// The scores of a sentence of the message are multiplied by sentenceShare, and the scores of a clause by clauseShare.
	sentenceShare, clauseShare = 0.97, 0.86
	// formCredit is the credit for another form of a word. smallShare is the share of a small word's weight that counts.
	formCredit, smallShare = 0.9, 0.3
	// A part of a message is compared if it has leastPart words and leastShare of the message's weight.
	leastPart, leastShare = 2, 0.17
	// unknownShare is an unknown word's weight, as a share of the average weight.
	unknownShare = 0.6
)

// variant is one way to say something. words has its distinct words, as their numbers in the lexicon.
type variant struct {
	text  string
	words []int
}

// lexicon has the words of all variants in one language.
type lexicon struct {
	number  map[string]int
	words   []string
	weights []float64
	// average is the mean weight of its words that are not small.
	average    float64
	classifier *classifier
}

// wordsOf returns the distinct words of a message in a normal form: folded, without apostrophes and abbreviations. All
// words except small ones are replaced by the first of their synonyms, without its ending.
func wordsOf(text string) []string {
	var words []string
	seen := map[string]bool{}
	for _, written := range read.Words(spelled(text)) {
		whole, ok := abbreviated[written]
		if !ok {
			whole = written
		}
		for word := range strings.SplitSeq(whole, "_") {
			if !read.IsSmall(word) {
				word = stem(read.ConceptOf(word))
			}
			if !seen[word] {
				seen[word] = true
				words = append(words, word)
			}
		}
	}
	return words
}

// spelled removes apostrophes from English contractions, as many people type them, and separates French elisions.
func spelled(text string) string {
	text = strings.ReplaceAll(strings.ToLower(text), "’", "'")
	for at := strings.IndexByte(text, '\''); at >= 0; at = strings.IndexByte(text, '\'') {
		before := text[strings.LastIndexAny(text[:at], " \t\n(,.-")+1 : at]
		by := ""
		if elided[before] {
			by = " "
		}
		text = text[:at] + by + text[at+1:]
	}
	return emojis.Replace(text)
}

var (
	elided      = read.Set(`l d j n s t m c qu jusqu lorsqu puisqu quelqu`)
	abbreviated = pairs(`u you r are ur your pls please plz please thx thanks ty thanks wat what wot what tmrw tomorrow
		tmr tomorrow tom tomorrow appt appointment bc because cuz because idk dunno gonna going wanna want stp please
		svp please im i_am ive i_have id i_would ill i_will its it_is thats that_is whats what_is hows how_is wheres where_is
		theres there_is whos who_is dont do_not doesnt does_not didnt did_not cant can_not cannot can_not couldnt could_not
		wont will_not wouldnt would_not isnt is_not arent are_not wasnt was_not hasnt has_not havent have_not youre you_are
		theyre they_are weve we_have youve you_have hes he_is shes she_is lets let_us
		mon monday tue tuesday wed wednesday thu thursday fri friday sat saturday sun sunday
		yr year yrs year hr hour hrs hour wk week wks week mth month mths month b4 before tonite tonight ppl people
		msg message w with nah no yeh yes ya yes slt salut cmt comment pr pour bcp beaucoup pk pourquoi mtn maintenant
		tjs toujours vs vous tt tout bjr bonjour pb probleme qd quand rdv rendez`)
	emojis = strings.NewReplacer("👍", " ok ", "👌", " ok ", "🙂", " ok ", "😊", " ok ", "😀", " ok ", "✅", " ok ",
		"🙏", " thanks ", "❤️", " thanks ", "🎉", " thanks ", "😡", " angry ", "🤬", " angry ", "😠", " angry ",
		"👎", " angry ", "😢", " sad ", "😭", " sad ", "👋", " hello ")
)

// stem removes the ending of a word if at least leastStem bytes remain.
func stem(word string) string {
	for _, ending := range endings {
		if cut, ok := strings.CutSuffix(word, ending); ok && len(cut) >= leastStem {
			return cut
		}
	}
	return word
}

const leastStem = 4

var endings = strings.Fields(`ements ement ings ing ees ee ies es ed ely ly er ez ent al s e`)

func pairs(text string) map[string]string {
	byFirst, words := map[string]string{}, strings.Fields(text)
	for i := 0; i+1 < len(words); i += 2 {
		byFirst[words[i]] = words[i+1]
	}
	return byFirst
}

// newLexicon numbers and weighs the words of exchanges in one language, and of their replies.
func newLexicon(exchanges []*exchange) *lexicon {
	l := &lexicon{number: map[string]int{}}
	var all []*exchange
	var holders []int
	variants := 0
	for _, e := range exchanges {
		all = append(append(all, e), e.replies...)
	}
	for _, e := range all {
		for i := range e.variants {
			v := &e.variants[i]
			variants++
			for _, word := range wordsOf(v.text) {
				n, known := l.number[word]
				if !known {
					n = len(l.words)
					l.number[word], l.words, holders = n, append(l.words, word), append(holders, 0)
				}
				holders[n]++
				v.words = append(v.words, n)
			}
		}
	}
	l.classifier = newClassifier(all)
	contents, sum := 0, 0.0
	for n, word := range l.words {
		weight := lettersWeight(word) * math.Log(1+(float64(variants-holders[n])+0.5)/(float64(holders[n])+0.5))
		l.weights = append(l.weights, weight)
		if !read.IsSmall(word) {
			contents, sum = contents+1, sum+weight
		}
	}
	l.average = sum / float64(max(contents, 1))
	return l
}

// lettersWeight weighs a word by its length, because long words distinguish texts.
func lettersWeight(word string) float64 {
	weight := math.Log2(1 + float64(utf8.RuneCountInString(word)))
	if fillers[word] {
		return weight * smallShare / 10
	}
	if read.IsSmall(word) && !revealing[word] {
		return weight * smallShare
	}
	return weight
}

// fillers are words with almost no meaning.
var fillers = read.Set(`lol haha hehe tbh mate bro dude btw please kindly just really actual honest basical um uh well so hi hello hey
	ok okay hiya yeah yep svp bonjour alor donc euh merci thanks thank still now today way`)

// revealing are small words that matter for the meaning of a question.
var revealing = read.Set(`what when where who why how not no which quand combien comment pourquoi qui quel quelle pas`)

// hearing is a message in terms of a lexicon.
type hearing struct {
	// credits has, for each word of the lexicon, how well the message matches it, from 0 to 1.
	credits []float64
	// weight is the sum of the weights of the message's words.
	weight float64
	// odds has the odds of each class. allOdds is otherClasses plus the odds of the exchanges that begin a subject.
	odds    []float64
	allOdds float64
}

// hear finds the words of a message in the lexicon. Other forms of a word and misspellings count less.
func (l *lexicon) hear(words []string) hearing {
	h := hearing{credits: make([]float64, len(l.words)), odds: l.classifier.odds(words), allOdds: otherClasses}
	for class, e := range l.classifier.classes {
		if e.head == e {
			h.allOdds += h.odds[class]
		}
	}
	for _, word := range words {
		if n, ok := l.number[word]; ok {
			h.credits[n] = 1
			h.weight += l.weights[n]
			continue
		}
		if best := l.forms(word, h.credits); best > 0 {
			h.weight += best
			continue
		}
		switch {
		case read.HasDigits(word):
		case read.IsSmall(word):
			h.weight += l.average * smallShare / 2
		default:
			h.weight += l.average * unknownShare
		}
	}
	return h
}

// forms gives credit to other forms of an unknown word, or else to words that it may misspell. It returns the highest
// weight among them, or 0.
func (l *lexicon) forms(word string, credits []float64) (best float64) {
	most := read.MaxTypos(word)
	if _, isNumber := read.Number(word); isNumber || read.HasDigits(word) || read.IsSmall(word) {
		return 0
	}
	for _, nearest := range []bool{false, true} {
		for n, known := range l.words {
			credit := 0.0
			if !nearest && isForm(word, known) {
				credit = formCredit
			} else if nearest && most > 0 && !read.IsSmall(known) {
				if d := read.Distance(word, known, most); d <= most {
					credit = 1 - float64(d)/float64(utf8.RuneCountInString(word))
				}
			}
			if credit > 0 {
				credits[n] = max(credits[n], credit)
				best = max(best, l.weights[n])
			}
		}
		if best > 0 {
			break
		}
	}
	return best
}

// isForm reports whether two words are forms of the same word. Short words never are, because their endings matter.
func isForm(one, other string) bool {
	shorter := min(len(one), len(other))
	begins := strings.HasPrefix(one, other) || strings.HasPrefix(other, one)
	return read.AreForms(one, other) && (shorter > leastForm || begins && shorter == leastForm)
}

// leastForm is the shortest length, in bytes, at which one word may be a form of a word that begins with it.
const leastForm = 5

// score returns how well a variant matches the message, from 0 to 1. A word of the variant that the message lacks
// costs more than an extra word of the message.
func (l *lexicon) score(e *exchange, v variant, h hearing) float64 {
	var held, all float64
	for _, n := range v.words {
		all += l.weights[n]
		held += l.weights[n] * h.credits[n]
	}
	if all == 0 || h.weight == 0 {
		return 0
	}
	extra := 0.58
	if e.isBuiltIn {
		extra = 0.8 // a message with other words is rarely small talk
	}
	return held / all * (1 - extra + extra*min(1, held/h.weight))
}

// probability returns how probable it is that the message belongs to an exchange, from 0 to 1. It competes with all
// exchanges that begin a subject and, if it is a reply, with the other replies.
func (h hearing) probability(e *exchange) float64 {
	all := h.allOdds
	if e.head != e {
		for _, reply := range e.head.replies {
			all += h.odds[reply.class]
		}
	}
	return h.odds[e.class] / all
}

// partOfMessage is a message, or a sentence or clause of it. Its scores are multiplied by share.
type partOfMessage struct {
	hearing
	share float64
}

// parts returns the message, its sentences and its clauses.
func (l *lexicon) parts(text string) []partOfMessage {
	whole := wordsOf(text)
	parts := []partOfMessage{{l.hear(whole), 1}}
	add := func(texts []string, share float64) {
		if len(texts) < 2 {
			return
		}
		for _, t := range texts {
			words := wordsOf(t)
			if heard := l.hear(words); len(words) >= leastPart && heard.weight > leastShare*parts[0].weight {
				parts = append(parts, partOfMessage{heard, share})
			}
		}
	}
	add(read.Sentences(text), sentenceShare)
	add(clauseEnd().Split(text, -1), clauseShare)
	return parts
}

// match is an exchange with its score for a message. variantText is the nearest variant.
type match struct {
	*exchange
	// variantScore is the score of the nearest variant alone.
	score, variantScore float64
	variantText         string
}

// nearest returns the exchange with the highest score for the message. Among equals, the earlier one wins.
func (l *lexicon) nearest(exchanges []*exchange, parts []partOfMessage) match {
	var best match
	for _, e := range exchanges {
		for _, p := range parts {
			said, as := 0.0, ""
			for _, v := range e.variants {
				if score := l.score(e, v, p.hearing); score > said {
					said, as = score, v.text
				}
			}
			score := max(wordShare*said+(1-wordShare)*p.probability(e), said-variantLoss) * p.share
			if score > best.score+1e-9 {
				best = match{e, score, said, as}
			}
		}
	}
	return best
}
