package offline

import (
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/read"
)

// traits are what a property's name and description tell.
type traits struct {
	// isMail, isPhone and isPostcode tell what its text is. If several are set, it may be any of them.
	isMail, isPhone, isPostcode bool
	// isCode: it is a number or reference in somebody's records.
	isCode bool
	// isBirth: it is a birthday.
	isBirth bool
	// holder is the part of a person's name that it wants, "full", "first" or "last", and "" if it is no person's name.
	holder string
	// example is the code that the description gives as one, if hasExample. shape is the example's shape.
	hasExample     bool
	example, shape string
	// named are the significant words of the name, and labels those that a value may follow.
	named, labels []string
}

func traitsOf(p property) traits {
	words := read.Words(read.FirstSentence(p.description))
	name := read.Fold(p.name)
	has := func(part string) bool { return strings.Contains(name, part) || slices.Contains(words, part) }
	t := traits{
		isMail: has("mail"),
		isPhone: p.format == "phone" || has("phone") || has("telephone") || has("mobile") ||
			strings.Contains(read.Fold(p.description), "international form"),
		isPostcode: has("postcode") || has("postal") || has("zip"),
		isBirth:    read.IsBirth(p.title),
		holder:     holderOf(strings.Join(p.title, " ") + " " + strings.Join(words, " ")),
		named:      read.Meanings(read.Content(p.title)),
	}
	if m := example().FindStringSubmatch(p.description); m != nil {
		t.hasExample, t.example, t.shape = true, m[1], read.ShapeOf(m[1])
	}
	if p.kind != "string" && p.kind != "" {
		t.holder = ""
	}
	last := ""
	if len(p.title) > 0 {
		last = p.title[len(p.title)-1]
	}
	t.isCode = (p.kind == "string" || p.kind == "") &&
		(t.hasExample || slices.Contains([]string{"id", "ids", "number", "reference", "code", "numero"}, last))
	for _, word := range p.title {
		if len(word) >= 3 && word != "name" && word != "number" && !read.IsEmpty(word) {
			t.labels = append(t.labels, word)
		}
	}
	return t
}

func holderOf(words string) string {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(words, part) })
	}
	switch {
	case has("friend", "neighbour", "doctor", "medecin", "club", "plan", "product", "file", "medicine", "company"):
		return ""
	case has("last name", "surname", "family name", "nom de famille"):
		return "last"
	case has("first name", "prenom"):
		return "first"
	case has("full name", "patient name", "customer name", "contact name", "caller name", "nom complet", "name for",
		"your name"), words == "name", words == "nom":
		return "full"
	}
	return ""
}
