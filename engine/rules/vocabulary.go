package rules

import (
	"embed"
	"strings"
	"sync"
)

// class is the role of a word in a criterion.
type class int

const (
	unknown class = iota
	// filler words change nothing: articles, "must", "tool".
	filler
	agentWord
	contactWord
	// callVerb, sayVerb, transferVerb and endVerb are what a speaker does. useVerb is a tool call, or a word that is said.
	// callNoun is a tool call if there is no other verb.
	callVerb
	useVerb
	// startVerb is a tool call. Unlike useVerb, it never means that something is said: a text "starts with" another.
	startVerb
	sayVerb
	transferVerb
	endVerb
	callNoun
	// talk is a conversation or a message, and human is a person to whom an agent transfers.
	talk
	human
	messageNoun
	// wordNoun is a part of a message.
	wordNoun
	toolNoun
	be
	by
	not
	// ne needs another word to negate: "ne … pas".
	ne
	nor
	// ordered words say that things must happen in the order in which the criterion names them.
	ordered
	nothing
	anything
	and
	// but joins like and, except that it does not carry on a negation: "not X but Y".
	but
	or
	// both words join two things: if the part is negated, one of them may happen.
	both
	without
	before
	after
	then
	first
	last
	with
	is
	exactly
	atLeast
	atMost
	moreThan
	fewerThan
	once
	twice
	timesNoun
	// hedge words make a criterion conditional or vague.
	hedge
	// The other classes are not for words of a language.
	quotation
	nameToken
	valueToken
	markToken
)

// lexicon has the classes of words and phrases of a language, and its words for the numbers from one to ten.
type lexicon struct {
	words   map[string]class
	numbers map[string]int
}

// classNames name the classes in the tables of languages.
var classNames = map[string]class{
	"filler": filler, "agent": agentWord, "contact": contactWord, "call": callVerb, "use": useVerb, "start": startVerb, "say": sayVerb,
	"transfer": transferVerb, "end": endVerb, "callnoun": callNoun, "talk": talk, "human": human, "message": messageNoun, "word": wordNoun,
	"tool": toolNoun, "be": be, "by": by, "not": not, "ne": ne, "nor": nor, "ordered": ordered, "nothing": nothing, "anything": anything, "and": and, "but": but, "or": or,
	"both":    both,
	"without": without, "before": before, "after": after, "then": then, "first": first, "last": last, "with": with,
	"is": is, "exactly": exactly, "atleast": atLeast, "atmost": atMost, "more": moreThan, "fewer": fewerThan,
	"once": once, "twice": twice, "times": timesNoun, "hedge": hedge,
}

// tables has a file for each language. Each line is a class with its words and phrases.
//
//go:embed words/*.txt
var tables embed.FS

// languages returns the languages, which it reads once.
var languages = sync.OnceValue(func() (all []*lexicon) {
	files, _ := tables.ReadDir("words")
	for _, file := range files {
		table, _ := tables.ReadFile("words/" + file.Name())
		all = append(all, newLexicon(string(table)))
	}
	return all
})

func newLexicon(table string) *lexicon {
	l := &lexicon{map[string]class{"→": then, "->": then}, map[string]int{}}
	for line := range strings.Lines(table) {
		className, phrases, _ := strings.Cut(strings.TrimSpace(line), ": ")
		for i, phrase := range strings.Split(phrases, ", ") {
			if className != "numbers" {
				l.words[phrase] = classNames[className]
				continue
			}
			for number := range strings.SplitSeq(phrase, "/") {
				l.numbers[number] = i + 1
			}
		}
	}
	return l
}

// longestPhrase is the number of words of the longest phrase in the tables.
const longestPhrase = 4
