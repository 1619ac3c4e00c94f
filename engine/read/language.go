package read

import "strings"

// Language is a language that the package reads.
type Language int

// These are the languages.
const (
	English Language = iota
	French
)

// These words show the language of a text but not its subject. Only the words in shared belong to both
// languages. They have no accents, like all folded words.
var (
	englishWords = Set(`the an and or but is are was were be been am do does did have has had i you he she
		it we they my your his her our their its this that these those of to for with from in at by
		what which who when where why how can could would will should shall may must not no yes if then there here
		please about after before any some so just want need like know tell give get let hello hi hey good morning
		afternoon evening thanks thank bye goodbye up out all also only even than too very us him them re ve ll don`)
	frenchWords = Set(`le la les un une des du de et ou mais est sont etait etre ai avons avez ont je
		tu il elle nous vous ils elles mon ma mes ton tes son sa ses notre nos votre vos leur leurs ce cet cette ces
		au aux pour avec dans par sur sous chez sans que qui quoi quel quelle quels quelles quand comment
		pourquoi combien peux peut pouvez puis voudrais veux voulez dois faut pas ne non oui si alors y en
		svp plait merci bonjour bonsoir salut revoir c d j l n qu suis etes aimerais sais savoir dites
		donner avoir fait faire plus tres bien aussi`)
	shared = Set(`a as on me m s t ok okay hm`)
)

// IsEnglish reports whether a folded word is a small word of English.
func IsEnglish(word string) bool { return englishWords[word] || shared[word] }

// IsFrench reports whether a folded word is a small word of French.
func IsFrench(word string) bool { return frenchWords[word] || shared[word] }

// Detect returns the language with more words in the text. If the text has an accented French letter, that counts as
// one more French word. It returns false on a tie, and for a name alone.
func Detect(text string) (Language, bool) {
	if IsName(text) {
		return English, false
	}
	var inEnglish, inFrench int
	for _, word := range Words(text) {
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
		return French, true
	}
	return English, inEnglish > inFrench
}
