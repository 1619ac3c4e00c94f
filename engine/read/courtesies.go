package read

import "slices"

var (
	greetings = Set(`hello hi hey bonjour bonsoir salut coucou`)
	thanks    = Set(`thanks thank thx cheers merci`)
)

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

// HasThanks reports whether one of the words expresses thanks.
func HasThanks(said []string) bool {
	return slices.ContainsFunc(said, func(word string) bool { return thanks[word] })
}
