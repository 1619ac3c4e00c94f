package evaluation

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/read"
)

// These words help wantsSaid to recognize criteria about what the agent says, in English, French and German.
var (
	// Base forms of verbs count only after a word such as "must".
	verbsPresent = read.Set(
		`says tells mentions states informs explains announces quotes reads dit mentionne indique annonce
		explique précise informe sagt nennt erwähnt erklärt informiert`)
	verbsBase = read.Set(`say tell mention state inform explain announce quote dire mentionner indiquer annoncer sagen
		nennen erwähnen`)
	verbsPast = read.Set(`said told mentioned stated informed explained announced quoted informé mentionné annoncé gesagt
		informiert erwähnt`)

	obliging  = read.Set("must should shall will can may needs need has have to doit devrait muss soll sollte")
	passive   = read.Set("is are was were be been being gets est sont wird werden wurde")
	negations = read.Set(`not never no cannot doesn't don't didn't isn't wasn't without ne n pas jamais nicht nie kein
		keine keinen`)
	nothings = read.Set(`nothing nobody no none not never neither nowhere rien pas jamais personne nichts niemand nicht
		nie kein keine keinen`)
	conditions = read.Set(`if when whenever once after before until unless where as si quand lorsque après wenn falls
		nachdem sobald`)

	agentWords   = read.Set("agent assistant assistante bot it reception answer reply response antwort réponse")
	contactWords = read.Set(`contact customer caller user client guest patient visitor person he she they cliente
		appelant utilisateur kunde kundin anrufer anruferin kontakt gast`)
	skippable = read.Set(`the a an its their to him her them anyone anybody contact customer caller user client le la au
		dem den der`)
)

// clauseEnd matches the end of a clause, and wordPattern a word.
var (
	clauseEnd   = regexp.MustCompile(`[.;,:()]|\b(?:and|but|then|et|mais|puis|und|aber|dann)\b`)
	wordPattern = regexp.MustCompile(`[\pL\d]+(?:'t\b)?`)
)

// wantsSaid reports whether a criterion holds only if the agent says something. Evidence for such a criterion must be
// from a message, because the contact does not see tool results. wantsSaid goes by the verbs of the criterion and their
// subjects.
func wantsSaid(criterion string) bool {
	subject, isCondition := "", false
	text := strings.ToLower(strings.ReplaceAll(criterion, "’", "'"))
	for text != "" {
		end, next := len(text), len(text)
		if at := clauseEnd.FindStringIndex(text); at != nil {
			end, next = at[0], at[1]
		}
		words := wordPattern.FindAllString(text[:end], -1)
		if len(words) > 0 {
			isCondition = conditions[words[0]] || isCondition && subject != ""
			subject = cmp.Or(subjectOf(words), subject)
			if saysSomething(words, subject) {
				return true
			}
		}
		if isCondition && strings.HasPrefix(text[end:], ",") {
			subject, isCondition = "", false
		}
		text = text[next:]
	}
	return false
}

// subjectOf returns the subject of a clause according to its first words: "the agent", "if the caller".
func subjectOf(words []string) string {
	lead := 2
	if conditions[words[0]] {
		lead = 3
	}
	for _, w := range words[:min(lead, len(words))] {
		if agentWords[w] || contactWords[w] {
			return w
		}
	}
	return ""
}

// saysSomething reports whether the agent says something in a clause. The subject is "" if the clause has none.
func saysSomething(words []string, subject string) bool {
	for i, w := range words {
		before := words[max(0, i-3):i]
		has := func(set map[string]bool) bool {
			return slices.ContainsFunc(before, func(w string) bool { return set[w] })
		}
		isVerb := verbsPresent[w] || verbsPast[w] || verbsBase[w] && has(obliging)
		isPassive := verbsPast[w] && has(passive)
		switch {
		case isPassive && agentWords[subject] && (w == "told" || w == "informed"): // the agent is the listener
			continue
		case isPassive:
		case contactWords[subject], contactActs(before), !isVerb:
			continue
		}
		if !has(negations) && !isNothing(words[i+1:]) {
			return true
		}
	}
	return false
}

// contactActs reports whether the words before a verb make the contact its subject, as in "asks the caller to tell".
func contactActs(before []string) bool {
	last := len(before) - 1
	if last > 0 && before[last] == "to" {
		last--
	}
	return last >= 0 && contactWords[before[last]]
}

// isNothing reports whether the words after a verb negate it, as in "says nothing".
func isNothing(words []string) bool {
	for _, w := range words {
		if !skippable[w] {
			return nothings[w]
		}
	}
	return false
}
