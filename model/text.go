package model

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// text records a fault if a text is too short or too long, in characters, or if Postgres cannot store it.
func (f *Fields) text(path, value string, least, most int) {
	switch n := utf8.RuneCountInString(value); {
	case strings.ContainsRune(value, 0):
		f.Add(path, "must not contain the character U+0000")
	case !utf8.ValidString(value):
		f.Add(path, "must be valid UTF-8")
	case n < least && n == 0:
		f.Add(path, "must not be empty")
	case n < least || n > most:
		f.Add(path, "must have %d to %d characters, not %d", least, most, n)
	}
}

// name does the same as text, for names. They must have a visible character.
func (f *Fields) name(path, value string, most int) {
	f.text(path, value, 1, most)
	f.visible(path, &value)
}

// visible records a fault if a given text is not empty and has no visible character.
func (f *Fields) visible(path string, value *string) {
	if value != nil && *value != "" && !strings.ContainsFunc(*value, isVisible) {
		f.Add(path, "must not be blank")
	}
}

// isVisible reports whether a character is visible. Some letters and symbols are blank by design.
func isVisible(r rune) bool {
	return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !strings.ContainsRune("\u115F\u1160\u2800\u3164\uFFA0\u034F", r)
}

// optional does the same as text, for a value that may be absent or empty.
func (f *Fields) optional(path string, value *string, most int) {
	if value != nil {
		f.text(path, *value, 0, most)
	}
}

// number records a fault if an optional number is not finite or out of bounds.
func (f *Fields) number(path string, value *float64, least, most float64) {
	if value != nil && (math.IsNaN(*value) || *value < least || *value > most) {
		f.Add(path, "must be a number between %v and %v", least, most)
	}
}

// count records a fault if an optional integer is out of bounds.
func (f *Fields) count(path string, value *int32, least, most int32) {
	if value != nil && (*value < least || *value > most) {
		f.Add(path, "must be between %d and %d", least, most)
	}
}

// oneOfTwo records a fault unless exactly one of a field and another one is given.
func (f *Fields) oneOfTwo(path, other string, isGiven, isOtherGiven bool) {
	switch {
	case isGiven && isOtherGiven:
		f.Add(path, "cannot be combined with %s: give exactly one of them", other)
	case !isGiven && !isOtherGiven:
		f.Add(path, "must be given unless %s is: give exactly one of them", other)
	}
}

// Filter records a fault if an id that narrows a list is empty. To list everything, omit the id.
func (f *Fields) Filter(path string, id *string) {
	if id != nil && *id == "" {
		f.Add(path, "must not be empty: leave it out to list all")
	}
}

// IsControl reports whether a character is a control character, or one that overrides the direction of the text around
// it. A terminal would interpret both.
func IsControl(r rune) bool {
	return unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// Quote returns a text in double quotes. It escapes quotation marks, backslashes, invalid bytes and the characters of
// IsControl. Unlike strconv.Quote, it keeps joiners and blanks of other scripts.
func Quote(text string) string {
	var quoted strings.Builder
	quoted.WriteByte('"')
	for at := 0; at < len(text); {
		r, width := utf8.DecodeRuneInString(text[at:])
		part := text[at : at+width]
		if r == '"' || r == '\\' || IsControl(r) || r == utf8.RuneError && width == 1 {
			part = strings.Trim(strconv.Quote(part), `"`)
		}
		if r == '"' {
			part = `\"`
		}
		quoted.WriteString(part)
		at += width
	}
	quoted.WriteByte('"')
	return quoted.String()
}

var technicalName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// technicalName records a fault if a name is not valid as a function name for language models, or is the name of a
// built-in tool.
func (f *Fields) technicalName(path, value string) {
	if !technicalName.MatchString(value) {
		f.Add(path, "must have 1 to 64 lower-case letters, digits and _, and begin with a letter")
	} else if value == "end_conversation" || value == "transfer_call" {
		f.Add(path, "must not be %s, because every agent has a built-in tool of this name", value)
	}
}

// newTechnicalName is like technicalName, but also refuses the name of searches. Older versions stored it.
func (f *Fields) newTechnicalName(path, value string) {
	f.technicalName(path, value)
	if value == "knowledge_base" {
		f.Add(path, "must not be %s, because searches of the knowledge base are recorded under this name", value)
	}
}

// list records a fault if a list is too long, and reports whether its entries should be checked.
func (f *Fields) list(path string, length, most int) bool {
	if length > most {
		f.Add(path, "must have at most %d entries, not %d", most, length)
	}
	return length <= most
}
