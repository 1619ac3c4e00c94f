package model

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

const (
	// endingDigits is the number of digits that Postgres searches for.
	endingDigits = 6
	// minNational is the minimum number of digits to find a number without its country code or national prefix.
	minNational = 7
	// minBare is the minimum number of digits that are certain without the national prefix, in countries that have one.
	minBare = 9
	// maxPrefix bounds the signs that are read before a national number.
	maxPrefix = 100
)

// ErasureSearch finds the spellings of a phone number in texts.
type ErasureSearch struct {
	// Number is the number in E.164 form.
	Number string
	// Ending is a regular expression of Postgres for the last digits. It matches each text that contains the number, and
	// few others.
	Ending string
	nines  string
	// national matches the digits without the country code. The others match the signs before them, up to their start:
	// international has an international prefix and the country code, local has what is dialed within the country.
	national, international, local *regexp.Regexp
	// isBareDoubtful means that the national digits alone may be another number.
	isBareDoubtful bool
}

// Search returns BAD_INPUT for a text that is not a phone number with a country code.
func (in EraseContactInput) Search() (search ErasureSearch, err error) {
	var faults Fields
	if search.Number = faults.phoneNumber("phoneNumber", in.PhoneNumber, nil); len(faults) > 0 {
		return ErasureSearch{}, faults.Err()
	}
	parsed, err := phonenumbers.Parse(search.Number, phonenumbers.UNKNOWN_REGION)
	if err != nil {
		return ErasureSearch{}, err
	}
	const gap = `[^0-9x,]{0,8}`
	spaced := func(digits string) string { return strings.Join(strings.Split(digits, ""), gap) }
	national := phonenumbers.GetNationalSignificantNumber(parsed)
	code := spaced(strconv.Itoa(int(parsed.GetCountryCode()))) + gap + "(?:0" + gap + ")?"
	local, optional := code, ""
	dialed := phonenumbers.NormalizeDigitsOnly(phonenumbers.Format(parsed, phonenumbers.NATIONAL))
	trunk, _ := strings.CutSuffix(dialed, national)
	hasTrunk := trunk != "" && trunk != dialed
	if hasTrunk {
		local += "|" + spaced(trunk) + gap
	}
	if len(national) >= minNational {
		optional = "?"
	}
	search.national = regexp.MustCompile(spaced(national))
	search.international = regexp.MustCompile(`(?:\+|[^0-9](?:00|011))` + gap + code + "$")
	search.local = regexp.MustCompile(`[^0-9]((?:` + local + ")" + optional + ")$")
	search.isBareDoubtful = hasTrunk && len(national) < minBare
	search.nines = strings.Repeat("9", len(national))
	search.Ending = endingOf(national[max(0, len(national)-endingDigits):])
	return search, nil
}

// endingOf returns a regular expression for digits and anything that foldText may read between them.
func endingOf(digits string) string {
	const escape, entity = `\\+u[0-9a-fA-F]{4}`, `(?:&|\\+u0026)#?[[:alnum:]]+;`
	const gap = `(?:[^[:alnum:]]|\u30fc|` + escape + `|` + entity + `|\\+[nrt]|%[0-9a-fA-F]{2}|` +
		`(?:<|\\+u003[cC])[^<>]*(?:>|\\+u003[eE]))*`
	spelled := make([]string, len(digits))
	for i, digit := range digits {
		n := digit - '0'
		spelled[i] = fmt.Sprintf(`(?:[%c%c%c%c]|%s|%s)`, digit, '\u0660'+n, '\u06f0'+n, '\uff10'+n, escape, entity)
	}
	return strings.Join(spelled, gap)
}

// Contains reports whether Mask would change the text.
func (s ErasureSearch) Contains(text string) bool {
	return slices.ContainsFunc(s.matches(text), func(m match) bool { return !m.isDoubtful })
}

// MayContain reports whether the text contains the number, or digits that may be another number.
func (s ErasureSearch) MayContain(text string) bool { return len(s.matches(text)) > 0 }

// nameEnd matches the end of the name of a JSON object's member.
var nameEnd = regexp.MustCompile(`^"\s*:`)

// Mask replaces the number by nines. They are not longer than any match, so no text grows beyond its limit. In JSON, it
// numbers the second and later names of members, because two spellings of the number in one object would become the
// same name.
func (s ErasureSearch) Mask(text string) string {
	matches := slices.DeleteFunc(s.matches(text), func(m match) bool { return m.isDoubtful })
	isJSON := len(matches) > 0 && json.Valid([]byte(text))
	var masked strings.Builder
	end, names, closed, isName := 0, 0, -1, false
	for _, m := range matches {
		masked.WriteString(text[end:m.start] + s.nines)
		end = m.end
		if isJSON && closed < end {
			closed = endOfString(text, end)
			isName = nameEnd.MatchString(text[closed:])
		}
		if isName {
			if names++; names > 1 {
				masked.WriteString("-" + strconv.Itoa(names))
			}
		}
	}
	masked.WriteString(text[end:])
	return masked.String()
}

// endOfString returns the index of the quote that ends the JSON string around i, or the length of the text.
func endOfString(text string, i int) int {
	for ; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return min(i, len(text))
}

// match is a place of the number in a text. If it is doubtful, it may be another number.
type match struct {
	start, end int
	isDoubtful bool
}

// matches returns the places of the number in a text, in time linear in its length.
func (s ErasureSearch) matches(text string) (found []match) {
	folded := foldText(text)
	for from := 0; ; {
		at := s.national.FindStringIndex(folded.signs[from:])
		if at == nil {
			return found
		}
		first, end := from+at[0], from+at[1]
		if begin, isDoubtful, ok := s.read(folded.signs, first, end); ok {
			found = append(found, match{folded.starts[begin], folded.starts[end], isDoubtful})
			from = end
		} else {
			from = first + 1
		}
	}
}

var (
	// foreign matches the start of another international number: + or 00 and at most five digits on the same line, which
	// are too few for a whole number. The second + in C++ begins no number.
	foreign = regexp.MustCompile(`(?:[^+]\+|[^0-9.,]00)(?:[^0-9x,\n+]{0,8}[0-9]){0,5}[^0-9x,\n+]{0,8}$`)
	// doubts matches spellings that may be another number, with = before them: a further group of digits as in an IBAN, a
	// decimal number such as a price, or a sum, lines or cells of a table.
	doubts = regexp.MustCompile(`[0-9][ .-]=|[0-9],=[1-9][0-9]*$|=(?:[1-9][0-9]*|0)\.[0-9]+$|=.[^+|\n]*[+|\n]`)
	// nextGroup matches a group of digits after a number.
	nextGroup = regexp.MustCompile(`^[ .-]([0-9]+)`)
)

// read reads the spelling whose national digits are from first to end. It returns where the spelling begins.
func (s ErasureSearch) read(signs string, first, end int) (begin int, isDoubtful, ok bool) {
	before, national := signs[max(0, first-maxPrefix):first], signs[first:end]
	if isDigit(signs[end]) {
		return 0, false, false
	}
	before = before[max(0, strings.LastIndexByte(before, 'x')):]
	if at := s.international.FindStringIndex(before); at != nil {
		if before[at[0]] != '+' {
			at[0]++
		}
		begin, before = first-len(before)+at[0], ""
	} else {
		at := s.local.FindStringSubmatchIndex(before)
		if at == nil {
			return 0, false, false
		}
		begin, before = first-len(before)+at[2], before[:at[2]]
		other := foreign.FindString(before)
		if other != "" && !strings.Contains(other, "|") {
			return 0, false, false
		}
		isDoubtful = other != "" || begin == first && s.isBareDoubtful
	}
	written := signs[begin:end]
	isDoubtful = isDoubtful || strings.Contains(national, "    ") || doubts.MatchString(before+"="+written) ||
		s.isContinued(written, signs[end:])
	if signs[begin-1] == '(' && strings.Count(written, ")") > strings.Count(written, "(") {
		begin--
	}
	return begin, isDoubtful, true
}

// isContinued reports whether the number and the group of digits after it are a longer number, such as an extension.
func (s ErasureSearch) isContinued(written, after string) bool {
	group := nextGroup.FindStringSubmatch(after)
	if group == nil || after[0] == ' ' && !strings.Contains(written, " ") {
		return false
	}
	longer, err := phonenumbers.Parse(s.Number+group[1], phonenumbers.UNKNOWN_REGION)
	return err == nil && phonenumbers.IsValidNumber(longer)
}

func isDigit(sign byte) bool { return '0' <= sign && sign <= '9' }
