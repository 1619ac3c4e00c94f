package slot

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/engine/lazyregexp"
	"github.com/agentgraph/agentgraph/engine/read"
)

var (
	quoted = lazyregexp.New(`[“"«]\s*([^”"»]+?)\s*[”"»]`)
	// example matches what follows "for example" in a description. Its shape counts as the shape of all values.
	example = lazyregexp.New(`(?i)(?:for example|e\.g\.|such as|par exemple)\s+([A-Z0-9-]*\d[A-Z0-9-]*)`)
)

// anyDay is a day for finding out whether a text names one at all.
var anyDay = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// freeText are properties whose values are the contact's own words.
var freeText = read.Set(`reason message request description question query summary note statement comment details`)

// IsFreeText reports whether the contact's message itself is the value.
func (p Property) IsFreeText() bool {
	return p.isUnformed() && freeText[p.Name]
}

// IsText reports whether the value is text without a recognizable form.
func (p Property) IsText() bool {
	return p.IsFreeText() || p.isUnformed() && !p.IsCode && !p.IsMail && !p.IsPhone && !p.IsPostcode && p.Holder == ""
}

// isUnformed reports whether the schema requires nothing but text.
func (p Property) isUnformed() bool {
	return (p.Kind == "string" || p.Kind == "") && len(p.Enum) == 0 && p.Pattern == nil && p.Fixed == nil && p.Format == ""
}

// IsReusable reports whether the value stays valid when the contact turns to another matter, as a name, a birthday or
// the number of an order does. Other values must be said again in each matter.
func (p Property) IsReusable() bool {
	if p.Kind != "string" && p.Kind != "" || len(p.Enum) > 0 || p.IsText() {
		return false
	}
	return !slices.Contains([]string{"date", "date-time", "time"}, p.Format) || p.IsBirth
}

// ValueIn looks for the property's value in a text of the contact. If the contact was asked for it, the text counts as
// the answer. Otherwise the text must also show that it is about this property.
func (p Property) ValueIn(text string, asked bool, today time.Time) (any, bool) {
	if len(p.Enum) > 0 || p.Item != nil && len(p.Item.Enum) > 0 || p.Format == "date" ||
		p.Format == "date-time" || p.Format == "time" {
		text = read.Affirmed(text) // "Friday, not Monday" chooses no Monday
	}
	switch {
	case p.Kind == "array":
		return p.items(text, asked, today)
	case len(p.Enum) > 0:
		return p.choice(text, asked)
	case p.Kind == "boolean":
		return p.parseBoolean(text, asked)
	case p.Kind == "integer", p.Kind == "number":
		return p.number(text, asked)
	}
	value, ok := p.text(text, asked, today)
	if !ok || p.Pattern != nil && !p.Pattern.MatchString(value) {
		return nil, false
	}
	return p.Cut(value), true
}

// Cut keeps a text within the schema's length.
func (p Property) Cut(text string) string {
	if p.longest > 0 && utf8.RuneCountInString(text) > p.longest {
		return strings.TrimSpace(string([]rune(text)[:p.longest]))
	}
	return text
}

func (p Property) text(text string, asked bool, today time.Time) (string, bool) {
	switch {
	case p.IsFreeText():
		return p.words(text, asked)
	case p.Format == "date":
		return p.date(text, asked, today)
	case p.Format == "date-time":
		day, hasDay := read.Date(text, today)
		hour, hasHour := read.Time(text)
		return day.Add(hour).Format(time.RFC3339), hasDay && hasHour
	case p.Format == "time":
		hour, ok := read.Time(text)
		return time.Time{}.Add(hour).Format("15:04:05Z"), ok
	case p.Format == "uri":
		found := read.WebAddress(text)
		return found, found != ""
	case p.Format == "email" || p.IsMail:
		if found := read.Email(text); found != "" || !p.IsPhone {
			return found, found != ""
		}
		return read.Phone(text)
	case p.Pattern != nil:
		return p.matching(text, asked)
	case p.IsPhone:
		return read.Phone(text)
	case p.IsPostcode:
		for _, found := range read.Postcodes(text) {
			if asked || p.isNearLabel(text, found) {
				return strings.ToUpper(found), true
			}
		}
		return "", false
	case p.Holder != "":
		_, isDay := read.Date(text, anyDay)
		if _, isIntroduced := read.Introduction(text); isDay && asked && !isIntroduced {
			return "", false
		}
		return p.person(text, asked)
	case p.IsCode:
		return p.code(text, asked)
	}
	return p.words(text, asked)
}

// date reads a day. Birthdays count only for properties that want one.
func (p Property) date(text string, asked bool, today time.Time) (string, bool) {
	if !asked && read.TellsBirth(read.Words(text)) && len(read.Items(text)) > 1 {
		// If a sentence tells a birthday and another day, its parts are read one by one.
		for _, part := range read.Items(text) {
			if day, ok := p.date(part, asked, today); ok {
				return day, true
			}
		}
		return "", false
	}
	day, ok := read.Date(text, today)
	birth := p.IsBirth
	past := !today.IsZero() && day.Year() < today.Year()-1
	if !ok || birth && !past && !asked || !asked && birth != (read.TellsBirth(read.Words(text)) || past) {
		return "", false
	}
	return day.Format(time.DateOnly), true
}

// person takes a name after an introduction, or any short run of words as an answer.
func (p Property) person(text string, asked bool) (string, bool) {
	var names []string
	if name, ok := read.Introduction(text); ok {
		names = strings.Fields(name)
		if p.Holder == "last" && len(names) == 1 && !asked {
			return "", false
		}
	} else if asked {
		text = strings.Trim(read.Answer(text), " .,!")
		text, _, _ = strings.Cut(text, ",")
		if names = strings.Fields(text); len(names) > 6 || read.HasDigits(text) || !read.MaybeName(text) {
			return "", false
		}
	}
	if len(names) == 0 {
		return "", false
	}
	switch p.Holder {
	case "first":
		return names[0], true
	case "last":
		return names[len(names)-1], true
	}
	return strings.Join(names, " "), true
}

// words takes text of no particular form: the whole text if it is an answer. Otherwise it takes the text after the
// property's name, or in quotation marks.
func (p Property) words(text string, asked bool) (string, bool) {
	if asked {
		text = strings.Trim(read.Answer(text), " .!")
		said := read.Words(text)
		isBare := len(said) == 1 && read.YesOrNo(said) != 0 || read.HasThanks(said) && len(read.Content(said)) == 0
		return text, text != "" && !isBare
	}
	for _, word := range p.labels {
		if value, ok := read.Labelled(text, word); ok {
			return value, true
		}
	}
	if m := quoted().FindStringSubmatch(text); m != nil && p.isNearLabel(text, m[0]) {
		return m[1], true
	}
	return "", false
}
