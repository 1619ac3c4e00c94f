package slot

import (
	"slices"
	"strings"

	"github.com/agentgraph/agentgraph/engine/read"
)

// traits describe a property's value, as far as its name and description reveal it.
type traits struct {
	// IsMail, IsPhone and IsPostcode tell what its text is. If several are set, it may be any of them.
	IsMail, IsPhone, IsPostcode bool
	// IsCode is set for a number or reference in somebody's records.
	IsCode bool
	// IsBirth is set for a birthday.
	IsBirth bool
	// Holder is the part of a person's name that it wants: "full", "first" or "last". It is empty if the value is
	// not a person's name.
	Holder string
	// Example is the example code in the description, or "". shape is the example's shape.
	Example, shape string
	// named has the significant words of the name. labels has the words that a value may follow.
	named, labels []string
}

func traitsOf(p Property) traits {
	words := read.Words(read.FirstSentence(p.Description))
	name := read.Fold(p.Name)
	has := func(part string) bool { return strings.Contains(name, part) || slices.Contains(words, part) }
	t := traits{
		IsMail: has("mail"),
		IsPhone: p.Format == "phone" || has("phone") || has("telephone") || has("mobile") ||
			strings.Contains(read.Fold(p.Description), "international form"),
		IsPostcode: has("postcode") || has("postal") || has("zip"),
		IsBirth:    read.IsBirth(p.Title),
		Holder:     NamePartOf(strings.Join(p.Title, " ") + " " + strings.Join(words, " ")),
		named:      read.Meanings(read.Content(p.Title)),
	}
	if m := example().FindStringSubmatch(p.Description); m != nil {
		t.Example, t.shape = m[1], read.ShapeOf(m[1])
	}
	if p.Kind != "string" && p.Kind != "" {
		t.Holder = ""
	}
	last := ""
	if len(p.Title) > 0 {
		last = p.Title[len(p.Title)-1]
	}
	t.IsCode = (p.Kind == "string" || p.Kind == "") &&
		(t.Example != "" || slices.Contains([]string{"id", "ids", "number", "reference", "code", "numero"}, last))
	for _, word := range p.Title {
		if len(word) >= 3 && word != "name" && word != "number" && !read.IsEmpty(word) {
			t.labels = append(t.labels, word)
		}
	}
	return t
}

// NamePartOf returns the part of a person's name that the words of a property ask for, as in Holder.
func NamePartOf(words string) string {
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
