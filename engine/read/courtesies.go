package read

import (
	"slices"
	"strings"
)

var (
	greetings = Set(`hello hi hey bonjour bonsoir salut coucou`)
	thanks    = Set(`thanks thank thx cheers merci`)
)

// goodbyes end a conversation. Each is a run of folded words.
var goodbyes = [][]string{
	{"bye"}, {"goodbye"}, {"good", "bye"}, {"that", "is", "all"}, {"that", "s", "all"}, {"thats", "all"},
	{"that", "s", "it"}, {"that", "is", "it"},
	{"that", "will", "be", "all"}, {"nothing", "else"}, {"see", "you"}, {"have", "a", "nice", "day"},
	{"have", "a", "good", "day"},
	{"au", "revoir"}, {"c", "est", "tout"}, {"ce", "sera", "tout"}, {"rien", "d", "autre"}, {"a", "bientot"},
	{"bonne", "journee"}, {"bonne", "soiree"}, {"adieu"},
}

// humans are words for a human. Words of anybody have other meanings, too, so they count only with a word of reaching.
// In a message of more than maxHumanWords, that applies to humans, too.
var (
	humans   = Set(`human humain humaine operator operateur operatrice conseiller conseillere adviser advisor representative`)
	anybody  = Set(`agent someone somebody person people colleague manager supervisor staff quelqu personne collegue responsable`)
	reaching = Set(`speak talk transfer connect through reach parler transferer transferez passer passez joindre discuter`)
	// optOuts opt out of further messages if they are the whole message.
	optOuts = []string{"stop", "unsubscribe", "stop sms", "stop please", "please stop", "stop it", "stop writing",
		"stop messaging me", "not interested", "no thanks not interested", "i am not interested",
		"i m not interested", "pas interesse", "pas interessee", "je ne suis pas interesse", "je ne suis pas interessee",
		"desabonner", "arretez", "arret"}
	// refusals opt out anywhere in a message.
	refusals = []string{"don t call me", "do not call me", "not interested any more", "not interested anymore",
		"no longer interested", "plus interesse", "plus interessee", "leave me alone", "remove me", "take me off",
		"don t text me", "do not text me", "don t message me", "do not write to me", "stop texting me",
		"laissez moi tranquille",
		"don t call me again", "do not call me again", "don t contact me", "do not contact me", "stop calling me",
		"don t write to me", "ne m appelez plus", "ne me rappelez plus", "ne m ecrivez plus", "ne me contactez plus"}
)

// maxHumanWords is the length of a message up to which a word of humans needs no word of reaching.
const maxHumanWords = 5

// maxGoodbyeWords bounds a message that only says goodbye.
const maxGoodbyeWords = 12

// IsGoodbye reports whether the contact says goodbye, in a short message without a question.
func IsGoodbye(message string, said []string) bool {
	if len(said) > maxGoodbyeWords || strings.Contains(message, "?") {
		return false
	}
	return slices.ContainsFunc(goodbyes, func(goodbye []string) bool {
		for start := range len(said) - len(goodbye) + 1 {
			if slices.Equal(said[start:start+len(goodbye)], goodbye) {
				return true
			}
		}
		return false
	})
}

// IsOptOut reports whether the contact wants no more messages.
func IsOptOut(said []string) bool {
	whole := " " + strings.Join(said, " ") + " "
	if slices.ContainsFunc(refusals, func(refusal string) bool { return strings.Contains(whole, " "+refusal+" ") }) {
		return true
	}
	return slices.Contains(optOuts, strings.Join(said, " "))
}

// WantsHuman reports whether the contact asks for a human.
func WantsHuman(said []string) bool {
	has := func(words map[string]bool) bool {
		return slices.ContainsFunc(said, func(word string) bool {
			return words[word] || words[strings.TrimSuffix(word, "s")]
		})
	}
	return has(reaching) && (has(humans) || has(anybody)) || has(humans) && len(said) <= maxHumanWords
}

// CutGreeting reports whether the message opens with a greeting, and returns the rest of it.
func CutGreeting(said []string) (bool, []string) {
	switch {
	case len(said) > 0 && greetings[said[0]]:
		return true, said[1:]
	case len(said) > 1 && said[0] == "good" && slices.Contains([]string{"morning", "afternoon", "evening", "day"},
		said[1]):
		return true, said[2:]
	}
	return false, said
}

// HasThanks reports whether one of the words is a thanks.
func HasThanks(said []string) bool {
	return slices.ContainsFunc(said, func(word string) bool { return thanks[word] })
}
