package read

import "slices"

var (
	greetings = Set(`hello hi hey bonjour bonsoir salut coucou`)
	thanks    = Set(`thanks thank thx cheers merci`)
)

// CutGreeting returns the message without a greeting at its beginning.
func CutGreeting(said []string) []string {
	switch {
	case len(said) > 0 && greetings[said[0]]:
		return said[1:]
	case len(said) > 1 && said[0] == "good" && slices.Contains([]string{"morning", "afternoon", "evening", "day"},
		said[1]):
		return said[2:]
	}
	return said
}

// HasThanks reports whether one of the words expresses thanks.
func HasThanks(said []string) bool {
	return slices.ContainsFunc(said, func(word string) bool { return thanks[word] })
}
