package offline

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/read"
)

// maxSmall bounds an answer to the agent's own question, in words.
const maxSmall = 8

var (
	// openQuestion matches the beginning of a question that yes and no do not answer.
	openQuestion = lazyregexp.New(
		`(?i)^(?:(?:and|so|et|alors),? )?(?:(?:on|at|for|in|à|pour) )?(what|which|when|how|who|why|where|could you|qu|quand|comment|combien|pourquoi|où|pouvez-vous)`)
	// alternatives matches a question that offers several things.
	alternatives = lazyregexp.New(`(?i) (or|ou) `)
	// suits matches a message whose first option a yes chooses.
	suits = lazyregexp.New(`(?i)(?:^|[^\pL\d])1[.):]? (?:if|si) `)
	// offeredIf matches what precedes the meaning of an option: "1 if that suits you".
	offeredIf = lazyregexp.New(`(?i)^(if|when|for|to|si|pour|quand) `)
	// occasion matches why the agent got in touch, according to its instructions.
	occasion = lazyregexp.New(`(?i)\b(?:because|parce que) ([^.]+)\.`)
)

// offeredUnder returns what the agent offered under the number that a message consists of. A yes may stand for the
// first. It returns "" if the agent offered nothing.
func (c *conversation) offeredUnder(at int) string {
	number := strings.Trim(c.req.Messages[at].Text, " .)!")
	if said := read.Words(number); len(said) == 1 && read.IsYes(said[0]) && suits().MatchString(c.agentBefore(at)) {
		number = "1"
	}
	if len(number) != 1 || !read.HasDigits(number) {
		return ""
	}
	offered := regexp.MustCompile(`(?:^|[^\pL\d])` + number + `[.):]?\s+([^,.;\n]+)`)
	all := offered.FindAllStringSubmatch(c.agentBefore(at), -1)
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1][1] // an earlier number may be a day: "on 3 March. Reply 1 for ..."
}

// isChoice reports whether a tool takes what the message chooses by number.
func (c *conversation) isChoice() bool {
	if c.offeredUnder(c.turn) == "" {
		return false
	}
	_, ok := c.goal()
	return ok
}

// small continues after a yes, a no or a number, if that answers a question of the agent's instructions that is about
// no tool. It returns nil for any other message.
func (c *conversation) small(plainly bool) *reply {
	if offered := c.offeredUnder(c.turn); offered != "" && plainly {
		return new(say(fill(c.speak.noted, offeredIf().ReplaceAllString(offered, "")), c.speak.anythingElse))
	}
	said, answer := c.words, read.YesOrNo(c.words)
	if answer == 0 || len(said) > maxSmall || strings.Contains(c.said(), "?") {
		return nil
	}
	question, rest := read.LastQuestion(c.agentBefore(c.turn))
	if question == "" || isClosing(question) {
		return nil
	}
	// Beside the yes there may be a name, and words of the question. Anything more is a matter of its own.
	asked := read.Concepts(question)
	more := slices.DeleteFunc(read.Concepts(read.WithoutIntroduction(c.said())),
		func(word string) bool { return read.IsYes(word) || read.IsNo(word) || read.HasAlike(asked, word) })
	if plainly && len(more) > 0 {
		return nil
	}
	if openQuestion().MatchString(question) {
		lead := c.speak.good
		if answer == -1 {
			lead = c.speak.toNo
		}
		return new(say(lead, c.speak.offer+c.speak.menu(c.tools)))
	}
	if answer == 1 && alternatives().MatchString(question) {
		return new(say(c.speak.good, question))
	}
	word := c.speak.toYes
	if answer == -1 {
		word, rest = c.speak.toNo, ""
	}
	if rest == "" {
		rest = c.speak.offer
		if m := occasion().FindStringSubmatch(c.opening); m != nil && answer == 1 && c.brief.language() == c.speak.language &&
			c.contactBefore(c.turn) < 0 {
			rest = fill(c.speak.occasion, m[1]) + " " + rest
		}
	}
	return new(say(word, rest))
}

// isClosing reports whether a question is the model's own, about nothing in particular.
func isClosing(question string) bool {
	for _, book := range &phrases {
		for _, closing := range []string{book.more, book.welcome, book.anythingElse, book.offer, book.advice} {
			if strings.HasSuffix(closing, question) {
				return true
			}
		}
	}
	return false
}

func opening(system string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(system), "\n\n")
	return first
}
