package offline

import (
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/read"
)

// asksForFacts reports whether the message asks how things are, and wants nothing done.
func (c *conversation) asksForFacts() bool {
	return c.inquires() && !read.IsPersonal(c.plainly())
}

// isInDocuments reports whether a message asks what one may or must do, and an excerpt answers that.
func (c *conversation) isInDocuments(subject []string) bool {
	text := c.plainly()
	return read.AsksLeave(text) && !read.IsPersonal(text) && len(c.excerpt(subject).sentences) > 0
}

// inquires reports whether the message is a question about how things are.
func (c *conversation) inquires() bool {
	return read.IsInquiry(c.plainly())
}

// subject is what the first message of a matter is about, and the least score for a tool.
type subject struct {
	words []string
	least float64
}

// readSubject reads what the matter is about. A bare number stands for what the agent offered under it.
func (c *conversation) readSubject() subject {
	at := min(c.began(), c.beganDelegation())
	text, least := ownLines(c, at), threshold
	if offered := c.offeredUnder(at); offered != "" {
		text, least = offered, threshold/2
	}
	text, _ = read.Wishes(text)
	_, said := read.CutGreeting(read.Words(text))
	return subject{slices.DeleteFunc(read.Concepts(strings.Join(said, " ")), read.IsEmpty), least}
}

// goal returns the tool that the matter is about: the one that its first message fits, if the question that was just
// answered leads there, else the one that the question was for.
func (c *conversation) goal() (tool, bool) {
	asked, pending := c.askedBefore(c.turn)
	pending = pending && c.isAnswer(asked, c.said())
	if best := c.fit(); best.ok && (!pending || c.leadsTo(best.tool, asked.tool, len(c.tools))) {
		return best.tool, true
	}
	if pending {
		return asked.tool, true
	}
	return c.picked()
}

// picked returns the tool that takes an option of the agent's last list, if the contact's message chooses one.
func (c *conversation) picked() (tool, bool) {
	if len(c.words) > maxChoosing {
		return tool{}, false
	}
	for _, t := range c.tools {
		for _, p := range t.properties {
			for _, producer := range p.producers {
				if !c.calledBefore(producer.name) {
					continue
				}
				if _, ok := chosen(p, c.options(p), c.said()); ok {
					return t, true
				}
			}
		}
	}
	return tool{}, false
}

// calledBefore reports whether the agent's last message told what a tool returned.
func (c *conversation) calledBefore(name string) bool {
	before := c.contactBefore(c.turn)
	return slices.ContainsFunc(c.calls, func(made call) bool {
		return made.Name == name && made.at > before && made.at < c.turn
	})
}

// leadsTo reports whether a tool is the other one, or needs what that returns, in at most over steps.
func (c *conversation) leadsTo(t, other tool, over int) bool {
	if t.name == other.name {
		return true
	}
	if over == 0 {
		return false
	}
	for _, p := range t.properties {
		for _, producer := range p.producers {
			if c.leadsTo(*producer, other, over-1) {
				return true
			}
		}
	}
	return false
}
