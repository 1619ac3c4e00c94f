package read

import (
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

// IsNo reports whether a folded word means no.
func IsNo(word string) bool { return no[word] }

// WantsRepeat reports whether the contact asks to repeat something.
func WantsRepeat(text string) bool {
	return slices.ContainsFunc(Words(text), func(word string) bool {
		return slices.Contains([]string{"again", "retry", "try", "repeat", "recheck", "refresh", "reessayer", "reessayez",
			"encore", "repeter", "repetez", "recommencez"}, word)
	})
}

// turnedDown matches something that the contact does not want, up to the end of the clause.
var turnedDown = lazyregexp.New(
	`\b(?:(?:do not|don't|does not|doesn't|did not|didn't|no longer|won't|will not|never) (?:really |even )?(?:want|need|wish|intend|plan|like)(?:ed)?|would rather not|i'd rather not|not going to|never ?mind|forget (?:about )?it|laissez tomber|tant pis|oubliez cela|` +
		`(?:not|no longer) interested|` +
		`(?:ne |n')?(?:veux|voudrais|souhaite|desire|ai) (?:pas|plus|aucun)(?: (?:envie|besoin))?|pas besoin)\b[^,.;!?]*?(?: but | mais |[,.;!?]|$)`)

// weekdayNames are the days that a contact may exclude.
const weekdayNames = `(?:mon|tues|wednes|thurs|fri|satur|sun)day|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche`

// denials are needed for a match: every text that turns something down has at least one.
var denials = []string{"not", "n't", "no longer", "never", "pas", "plus", "aucun", "mind", "forget", "tomber",
	"tant pis", "oubliez", "rather"}

// excluded matches what a wish leaves out, up to the end of the clause: "not the porch", "do not book it yet".
var excluded = lazyregexp.New(`(?i)\b(?:(?:can't|cannot|can not) do|(?:please |but |and |^)(?:do not|don't|dont) (?:even )?[a-z]+|` +
	`(?:not|except|rather than|instead of|sauf|plut[oô]t que|au lieu de) (?:on |at |to |for |via |with |sur |chez )?` +
	`(?:the|an?|my|our|his|her|this|that|me|today|tomorrow|tonight|now|` + weekdayNames + `)|` +
	`(?:not|pas) (?:via|before|after|avant|apr[eè]s|demain|aujourd'hui|le|la|les|un|une|chez|` + weekdayNames + `))\b` +
	`[^,.;!?]*?(?: but | mais |[,.;!?]|$)`)

// Affirmed returns a text, folded, without what it turns down or leaves out.
func Affirmed(text string) string {
	text, _ = CutRefusals(text)
	return excluded().ReplaceAllString(text, " ")
}

// CutRefusals returns a text, folded, without the parts that turn something down, and whether there are any.
func CutRefusals(text string) (string, bool) {
	text = strings.ReplaceAll(Fold(text), "’", "'")
	if !slices.ContainsFunc(denials, func(denial string) bool { return strings.Contains(text, denial) }) {
		return text, false
	}
	rest := turnedDown().ReplaceAllString(text, " ")
	return rest, rest != text
}

// Declines reports whether a message turns something down and asks for nothing else.
func Declines(text string) bool {
	rest, some := CutRefusals(text)
	return some && len(Content(Words(rest))) == 0
}

// maxOpening is the number of words at the beginning of a text that may be a yes or no.
const maxOpening = 3

var yes = Set(`yes yeah yep sure correct exactly oui ouais ok okay certainly absolutely ahead accord volontiers parfait definitely`)

var no = Set(`no nope non never jamais not pas`)

// SaysYes reports whether a text opens with a yes.
func SaysYes(text string) bool { return YesOrNo(Words(text)) == 1 }

// YesOrNo returns 1 if the words begin with a yes, -1 for a no and 0 for neither.
func YesOrNo(said []string) int {
	for _, word := range said[:min(len(said), maxOpening)] {
		switch {
		case no[word]:
			return -1
		case yes[word]:
			return 1
		}
	}
	return 0
}
