package read

import (
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

// opener matches introductory words before the actual answer.
var opener = lazyregexp.New(
	`(?i)^(?:(?:yes|sure|ok|okay|well|oui|bien sûr|alors)[,. ]+)?(?:it is|it['’]s|its|that is|that['’]s|this is|` +
		`i am called|i am|i['’]m|it was|because|c['’]est|il s['’]agit de|je m['’]appelle|je suis|parce que|` +
		`(?:my|the|mon|ma|mes|le|la|les) (?:[\pL-]+ ){1,3}(?:is|are|est|sont)(?: le)?)\s+`)

// introduced matches a name with its introduction.
var introduced = lazyregexp.New(
	`(?i:\bmy (?:full )?name is|\bname:|\bname['’]s|\bi am called|\bje m['’]appelle|\bmon nom est|\bnom :|\bi am|\bi['’]m|\bthis is|\bau nom de|\bje suis|\bfor patient|\bin the name of) (\p{Lu}[\pL'’.-]+(?: (?:(?:van|von|de|da|du|la|le|der) )*\p{Lu}[\pL'’.-]+)*)`)

// fullName matches capitalized words, with small words of names between them.
var fullName = lazyregexp.New(`^\s*(?:,? ?(?:(?:van|von|den|der|de|da|do|dos|das|du|del|di|la|las|los|le|e|y) )*\p{Lu}[\pL'’.-]*)+` +
	`\s*$`)

// particles are small words that can be part of names.
var particles = Set(`de da du d la le l will may her ray don mark`)

// Answer returns a text without introductory words: "Ana" for "Yes, my name is Ana".
func Answer(text string) string { return opener().ReplaceAllString(strings.TrimSpace(text), "") }

// Introduction returns the name in an introduction: "Ana Silva" for "Hi, my name is Ana Silva.".
func Introduction(text string) (name string, ok bool) {
	m := introduced().FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	return strings.Trim(m[1], ".,"), true
}

// IsName reports whether a text is nothing but a name with its capital letters: "O'Neill-García", "Ana de la Cruz".
func IsName(text string) bool { return fullName().MatchString(text) && MaybeName(text) }

// MaybeName reports whether all words of a text can be part of a name.
func MaybeName(text string) bool {
	return !slices.ContainsFunc(Words(text), func(word string) bool {
		return (englishWords[word] || frenchWords[word] || empty[word] || weak[word]) && !particles[word]
	})
}
