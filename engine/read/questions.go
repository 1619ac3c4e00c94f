package read

import (
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
)

var (
	// inquiring matches the beginning of a question for information.
	inquiring = lazyregexp.New(
		`^(what|which|when|how|who|why|do you|does|is|are|quel|quelle|quels|quelles|quand|comment|combien|qui|pourquoi|est-ce que vous|avez-vous|y a-t-il|faut-il)\b`)
	// inverted matches a French question by its word order.
	inverted = lazyregexp.New(`\pL-(?:t-)?(?:elles?|ils?|on|ce)\b`)
	// permitted matches the beginning of a question about permission or obligation, for a document or a tool.
	permitted = lazyregexp.New(`^(can i|may i|must i|should i|do i|puis-je|dois-je|peut-on|doit-on|est-ce que je)\b`)
	// personal matches a matter of the contact's own, for a tool.
	personal = lazyregexp.New(
		`\b(my|our|mon|ma|mes|notre|nos|i want|i need|i'd like|i would like|i lost|can you|could you|je veux|je voudrais|j'aimerais|pouvez-vous)\b`)
)

// IsInquiry reports whether a plain text asks for information: with a question word, a word such as "is" or "does", or
// an inverted French verb.
func IsInquiry(text string) bool {
	if _, rest, ok := strings.Cut(text, " "); ok && greetings[strings.Trim(strings.Fields(text)[0], ".,!")] {
		text = rest
	}
	return inquiring().MatchString(text) || strings.Contains(text, "-") && inverted().MatchString(text)
}

// IsPersonal reports whether a plain text is about the speaker's own matter, or wants an action.
func IsPersonal(text string) bool { return personal().MatchString(text) }

// AsksLeave reports whether a plain text asks whether the speaker may or must do something.
func AsksLeave(text string) bool { return permitted().MatchString(text) }
