package offline

import (
	"slices"
	"strings"
	"unicode"
)

type language int

const (
	english language = iota
	french
)

// Words that say which language a text is in and nothing about its subject. No word is in both
// lists but those of shared, and accents are left out as fold leaves them out.
var (
	englishWords = set(`the an and or but is are was were be been am do does did have has had i you he she
		it we they my your his her our their its this that these those of to for with from in at by
		what which who when where why how can could would will should shall may must not no yes if then there here
		please about any some so just want need like know tell give get let hello hi hey good morning
		afternoon evening thanks thank bye goodbye up out all also only than too very us him them re ve ll don t`)
	frenchWords = set(`le la les un une des du de et ou mais est sont etait etre ai avons avez ont je
		tu il elle nous vous ils elles mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs ce cet cette ces
		au aux pour avec dans par sur sous chez sans que qui quoi quel quelle quels quelles quand comment
		pourquoi combien peux peut pouvez puis voudrais veux voulez dois faut pas ne non oui si alors y en
		svp plait merci bonjour bonsoir salut revoir c d j l n qu suis etes aimerais savoir dites
		donner avoir fait faire plus tres bien aussi`)
	shared = set(`a as on me m s ok okay hm`)

	greetings = set(`hello hi hey bonjour bonsoir salut coucou`)
	thanks    = set(`thanks thank merci`)
	// fillers may stand beside a greeting or thanks without making a subject.
	fillers = set(`there madame monsieur mr mrs ms sir madam everyone much lot beaucoup infiniment great
		perfect parfait super allo well help aide speaking indeed info day today aujourd hui jour`)
)

// goodbyes end a conversation. Each is a run of folded words.
var goodbyes = [][]string{
	{"bye"}, {"goodbye"}, {"good", "bye"}, {"that", "is", "all"}, {"that", "s", "all"}, {"thats", "all"}, {"that", "s", "it"}, {"that", "is", "it"},
	{"that", "will", "be", "all"}, {"nothing", "else"}, {"see", "you"}, {"have", "a", "nice", "day"}, {"have", "a", "good", "day"},
	{"au", "revoir"}, {"c", "est", "tout"}, {"ce", "sera", "tout"}, {"rien", "d", "autre"}, {"a", "bientot"},
	{"bonne", "journee"}, {"bonne", "soiree"}, {"adieu"},
}

// humans are words for somebody of flesh and blood; those of anybody may mean others too, and count only beside a
// word of reaching, as do all of them in a long message.
var (
	humans   = set(`human humain humaine operator operateur operatrice conseiller conseillere adviser advisor representative`)
	anybody  = set(`agent someone somebody person people colleague manager supervisor staff quelqu personne collegue responsable`)
	reaching = set(`speak talk transfer connect through reach parler transferer transferez passer passez joindre discuter`)
	// optOuts end a conversation for good when they are all of it.
	optOuts = []string{"stop", "unsubscribe", "stop sms", "stop please", "please stop", "stop it", "stop writing", "stop messaging me", "not interested", "no thanks not interested", "i am not interested",
		"i m not interested", "pas interesse", "pas interessee", "je ne suis pas interesse", "je ne suis pas interessee", "desabonner", "arretez", "arret"}
	// refusals do so wherever they stand.
	refusals = []string{"don t call me", "do not call me", "not interested any more", "not interested anymore", "no longer interested", "plus interesse", "plus interessee", "leave me alone", "remove me", "take me off",
		"don t text me", "do not text me", "don t message me", "do not write to me", "stop texting me", "laissez moi tranquille",
		"don t call me again", "do not call me again", "don t contact me", "do not contact me", "stop calling me",
		"don t write to me", "ne m appelez plus", "ne me rappelez plus", "ne m ecrivez plus", "ne me contactez plus"}
)

// maxHumanWords is the length beyond which a word for a human alone asks for none.
const maxHumanWords = 5

// maxGoodbyeWords is the length beyond which a message is about more than leaving.
const maxGoodbyeWords = 12

func set(words string) map[string]bool {
	members := map[string]bool{}
	for _, word := range strings.Fields(words) {
		members[word] = true
	}
	return members
}

// wordsOf splits a text into folded words: runs of letters and digits.
func wordsOf(text string) []string {
	return strings.FieldsFunc(fold(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// detect counts the words of each language and reports whether one has more.
func detect(text string) (language, bool) {
	var inEnglish, inFrench int
	for _, word := range wordsOf(text) {
		if englishWords[word] {
			inEnglish++
		}
		if frenchWords[word] {
			inFrench++
		}
	}
	if strings.ContainsAny(text, "éèêàçùôîÉÈÊÀÇ") {
		inFrench++
	}
	if inFrench > inEnglish {
		return french, true
	}
	return english, inEnglish > inFrench
}

// isGoodbye reports whether the contact takes leave: a short message that asks nothing.
func isGoodbye(message string, said []string) bool {
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

// isOptOut reports whether the contact wants no more messages.
func isOptOut(said []string) bool {
	whole := " " + strings.Join(said, " ") + " "
	if slices.ContainsFunc(refusals, func(refusal string) bool { return strings.Contains(whole, " "+refusal+" ") }) {
		return true
	}
	return slices.Contains(optOuts, strings.Join(said, " "))
}

// wantsHuman reports whether the contact asks for a human.
func wantsHuman(said []string) bool {
	has := func(words map[string]bool) bool {
		return slices.ContainsFunc(said, func(word string) bool { return words[word] || words[strings.TrimSuffix(word, "s")] })
	}
	return has(reaching) && (has(humans) || has(anybody)) || has(humans) && len(said) <= maxHumanWords
}

// cutGreeting reports whether the message opens with a greeting, and returns the rest of it.
func cutGreeting(said []string) (bool, []string) {
	switch {
	case len(said) > 0 && greetings[said[0]]:
		return true, said[1:]
	case len(said) > 1 && said[0] == "good" && slices.Contains([]string{"morning", "afternoon", "evening", "day"}, said[1]):
		return true, said[2:]
	}
	return false, said
}

func hasThanks(said []string) bool {
	return slices.ContainsFunc(said, func(word string) bool { return thanks[word] })
}

// contentOf keeps, once each, the words that a message is about: three letters or more, and not
// of the small words of either language.
func contentOf(said []string) []string {
	var content []string
	for _, word := range said {
		small := englishWords[word] || frenchWords[word] || shared[word] || fillers[word]
		if len(word) >= 3 && !small && !slices.Contains(content, word) {
			content = append(content, word)
		}
	}
	return content
}
