package offline

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

var (
	emailAddress = regexp.MustCompile(`[\pL\pN._%+-]+@[\pL\pN-]+(?:\.[\pL\pN-]+)+`)
	phoneNumber  = regexp.MustCompile(`\+?\(?\d[\d ().-]{6,18}\d`)
	webAddress   = regexp.MustCompile(`https?://[^\s<>"]+`)
	postcode     = regexp.MustCompile(`(?i)\b[a-z]{1,2}\d[a-z\d]? ?\d[a-z]{2}\b|\b\d{4,5}\b`)
	quoted       = regexp.MustCompile(`[“"«]\s*([^”"»]+?)\s*[”"»]`)
	// example is what follows "for example" in a description; its shape is taken for the shape of all.
	example = regexp.MustCompile(`(?i)(?:for example|e\.g\.|such as|par exemple)\s+([A-Z0-9-]*\d[A-Z0-9-]*)`)
	// opener is what people say before the answer proper.
	opener = regexp.MustCompile(`(?i)^(?:(?:yes|sure|ok|okay|well|oui|bien sûr|alors)[,. ]+)?(?:it is|it['’]s|its|that is|that['’]s|this is|` +
		`i am called|i am|i['’]m|it was|because|c['’]est|il s['’]agit de|je m['’]appelle|je suis|parce que|` +
		`(?:my|the|mon|ma|mes|le|la|les) (?:[\pL-]+ ){1,3}(?:is|are|est|sont)(?: le)?)\s+`)
	introduced = regexp.MustCompile(`(?i:\bmy (?:full )?name is|\bname:|\bname['’]s|\bi am called|\bje m['’]appelle|\bmon nom est|\bnom :|\bi am|\bi['’]m|\bthis is|\bau nom de|\bje suis|\bfor patient|\bin the name of) (\p{Lu}[\pL'’.-]+(?: (?:(?:van|von|de|da|du|la|le|der) )*\p{Lu}[\pL'’.-]+)*)`)
	// contactNamed finds in the instructions whom the agent speaks with.
	contactNamed = regexp.MustCompile(`(?:[Cc]alling|[Ss]peaking (?:with|to)|[Ww]riting (?:with|to)|[Ww]rote to|[Hh]eld by|(?:[Cc]ontact|[Cc]aller|[Cc]ustomer|[Vv]isitor|[Pp]assenger|[Pp]atient) is|s['’]appelle|[Tt]u parles (?:à|avec)) (\p{Lu}[\pL'’-]+(?: \p{Lu}[\pL'’-]+)*)`)
	numeral      = regexp.MustCompile(`\d+(?:[.,]\d+)?`)
)

// anyDay is a day from which to tell whether a text names one at all.
var anyDay = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// particles are small words that names have too.
var particles = set(`de da du d la le l will may her ray don mark`)

// freeText are properties for which the contact's own words are the value.
var freeText = set(`reason message request description question query summary note statement comment details`)

// isFreeText reports whether the contact's message itself is the value.
func (p property) isFreeText() bool {
	return p.isUnformed() && freeText[p.name]
}

// isText reports whether the property is text of no form that could be recognised.
func (p property) isText() bool {
	return p.isFreeText() || p.isUnformed() && !p.isCode && !p.isMail && !p.isPhone && !p.isPostcode && p.holder == ""
}

// isUnformed reports whether the schema asks for nothing but text.
func (p property) isUnformed() bool {
	return (p.kind == "string" || p.kind == "") && len(p.enum) == 0 && p.pattern == nil && p.fixed == nil && p.format == ""
}

// lasts reports whether the value is the contact's in every matter, such as a name, a birthday or an order's
// number; what does not must be said anew.
func (p property) lasts() bool {
	if p.kind != "string" && p.kind != "" || len(p.enum) > 0 || p.isText() {
		return false
	}
	return !slices.Contains([]string{"date", "date-time", "time"}, p.format) || p.isBirth
}

// in looks for the property's value in a text of the contact. When it is what the contact was asked
// for, the text is taken for the answer; else the text must say plainly that it is meant.
func (p property) in(text string, asked bool, today time.Time) (any, bool) {
	switch {
	case p.kind == "array":
		return p.items(text, asked, today)
	case len(p.enum) > 0:
		return p.choice(text, asked)
	case p.kind == "boolean":
		return p.truth(text, asked)
	case p.kind == "integer", p.kind == "number":
		return p.number(text, asked)
	}
	value, ok := p.text(text, asked, today)
	if !ok || p.pattern != nil && !p.pattern.MatchString(value) {
		return nil, false
	}
	return p.cut(value), true
}

// cut keeps a text within the schema's length.
func (p property) cut(text string) string {
	if p.longest > 0 && utf8.RuneCountInString(text) > p.longest {
		return strings.TrimSpace(string([]rune(text)[:p.longest]))
	}
	return text
}

func (p property) text(text string, asked bool, today time.Time) (string, bool) {
	switch {
	case p.isFreeText():
		return p.words(text, asked)
	case p.format == "date":
		return p.date(text, asked, today)
	case p.format == "date-time":
		day, hasDay := dateIn(text, today)
		hour, hasHour := timeIn(text)
		return day.Add(hour).Format(time.RFC3339), hasDay && hasHour
	case p.format == "time":
		hour, ok := timeIn(text)
		return time.Time{}.Add(hour).Format("15:04:05Z"), ok
	case p.format == "uri":
		found := webAddress.FindString(text)
		return found, found != ""
	case p.format == "email" || p.isMail:
		if found := emailAddress.FindString(text); found != "" || !p.isPhone {
			return found, found != ""
		}
		return phoneIn(text)
	case p.pattern != nil:
		return p.matching(text, asked)
	case p.isPhone:
		return phoneIn(text)
	case p.isPostcode:
		for _, found := range postcode.FindAllString(text, -1) {
			if asked || p.near(text, found) {
				return strings.ToUpper(found), true
			}
		}
		return "", false
	case p.holder != "":
		if _, isDay := dateIn(text, anyDay); isDay && asked && introduced.FindString(text) == "" {
			return "", false
		}
		return p.person(text, asked)
	case p.isCode:
		return p.code(text, asked)
	}
	return p.words(text, asked)
}

// date leaves birthdays to properties that want one.
func (p property) date(text string, asked bool, today time.Time) (string, bool) {
	day, ok := dateIn(text, today)
	birth := p.isBirth
	past := !today.IsZero() && day.Year() < today.Year()-1
	if !ok || birth && !past && !asked || !asked && birth != (isBirth(wordsOf(text)) || past) {
		return "", false
	}
	return day.Format(time.DateOnly), true
}

func phoneIn(text string) (string, bool) {
	for _, found := range phoneNumber.FindAllString(isoDate.ReplaceAllString(text, " "), -1) {
		digits := strings.Map(func(r rune) rune {
			if unicode.IsDigit(r) || r == '+' {
				return r
			}
			return -1
		}, found)
		if len(digits) >= 8 {
			return digits, true
		}
	}
	return "", false
}

// person takes a name that is introduced as one, and as an answer any short run of words.
func (p property) person(text string, asked bool) (string, bool) {
	var names []string
	if m := introduced.FindStringSubmatch(text); m != nil {
		names = strings.Fields(strings.Trim(m[1], ".,"))
		if p.holder == "last" && len(names) == 1 && !asked {
			return "", false
		}
	} else if asked {
		text = strings.Trim(opener.ReplaceAllString(strings.TrimSpace(text), ""), " .,!")
		text, _, _ = strings.Cut(text, ",")
		if names = strings.Fields(text); len(names) > 6 || numeral.MatchString(text) || !maybeName(text) {
			return "", false
		}
	}
	if len(names) == 0 {
		return "", false
	}
	switch p.holder {
	case "first":
		return names[0], true
	case "last":
		return names[len(names)-1], true
	}
	return strings.Join(names, " "), true
}

// maybeName reports whether none of the words is one that no name has.
func maybeName(text string) bool {
	return !slices.ContainsFunc(wordsOf(text), func(word string) bool {
		return (englishWords[word] || frenchWords[word] || empty[word] || weak[word]) && !particles[word]
	})
}

// words takes text of no particular form: what stands in quotation marks or after the property's name, and
// as an answer the text itself.
func (p property) words(text string, asked bool) (string, bool) {
	if asked {
		text = strings.Trim(opener.ReplaceAllString(strings.TrimSpace(text), ""), " .!")
		isBareYesOrNo := len(wordsOf(text)) == 1 && firstOf(text) != 0
		return text, text != "" && !isBareYesOrNo
	}
	if value, ok := p.labelled(text); ok {
		return value, true
	}
	if m := quoted.FindStringSubmatch(text); m != nil && p.near(text, m[0]) {
		return m[1], true
	}
	return "", false
}
