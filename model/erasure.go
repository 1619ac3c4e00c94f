package model

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// endingDigits is the number of digits that a fast search compares.
const endingDigits = 6

// minNational is the minimum number of digits to find a number without its country code or national prefix.
const minNational = 7

// EraseContactInput names the contact to erase by the phone number.
type EraseContactInput struct {
	// PhoneNumber has + and the country code, in any spelling.
	PhoneNumber string
	// IsDryRun counts the traces without erasing them.
	IsDryRun bool
}

// Number returns the number in E.164 form, and a regular expression that finds it in texts. It matches all spellings
// that parse as this number: international or national, with any separators. It returns BAD_INPUT for a text that is
// not a phone number with a country code.
//
// Every text that matches also matches the expression ending, for the last digits alone. Postgres searches for ending
// hundreds of times faster, because it has no constraints on the characters around the match.
func (in EraseContactInput) Number() (number, pattern, ending string, err error) {
	var faults Fields
	if number = faults.phoneNumber("phoneNumber", in.PhoneNumber, nil); len(faults) > 0 {
		return "", "", "", faults.Err()
	}
	parsed, err := phonenumbers.Parse(number, phonenumbers.UNKNOWN_REGION)
	if err != nil {
		return "", "", "", err
	}
	separator := `(?:[\s()\[\]` + punctuation + `]|\\[nrt]|\\+u(?:` + punctuationEscapes + `)){0,3}`
	spaced := func(digits string) string {
		spelled := make([]string, len(digits))
		for i, digit := range digits {
			spelled[i] = spellings(digit)
		}
		return strings.Join(spelled, separator)
	}
	national := phonenumbers.GetNationalSignificantNumber(parsed)
	code := strconv.Itoa(int(parsed.GetCountryCode()))
	const plus = `[+` + "\uff0b" + `]|\\+u(?:002[bB]|[fF][fF]0[bB])`
	prefix := `(?:` + plus + `|` + spaced("00") + `|` + spaced("011") + `)?` + separator + spaced(code) + separator +
		`(?:` + spaced("0") + separator + `)?`
	if dialed := digitsOf(phonenumbers.Format(parsed, phonenumbers.NATIONAL)); strings.HasSuffix(dialed, national) &&
		dialed != national {
		prefix += "|" + spaced(strings.TrimSuffix(dialed, national)) + separator
	}
	optional := ""
	if len(national) >= minNational {
		optional = "?"
	}
	pattern = openParenthesis + notAfterDigit + `(?:` + prefix + `)` + optional + spaced(national) + notBeforeDigit
	return number, pattern, spaced(national[max(0, len(national)-endingDigits):]), nil
}

// invisible are characters that programs put around numbers which are copied, such as marks of the direction of text.
// punctuation are these characters and the ones that phonenumbers ignores between digits, for a character class. The
// hyphen is first, so it does not form a range. punctuationEscapes matches the last digits of their JSON escapes.
const (
	invisible   = "\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
	punctuation = "\\-./~\u00a0" + invisible + "\u2010-\u2015\u2212\u30fc\uff0d-\uff0f\u3000" +
		"\uff08\uff09\uff3b\uff3d\u2053\u223c\uff5e"
	punctuationEscapes = "00[aA][0dD]|002[89dDeEfF]|0020|201[0-5]|2212|30[fF][cC]|[fF][fF]0[d-fD-F89]|" +
		"061[cC]|200[b-fB-F]|202[a-eA-E]|206[06-9]|[fF][eE][fF][fF]|3000|[fF][fF]3[bBdD]|2053|223[cC]|[fF][fF]5[eE]"
)

// digits are all digits that phonenumbers parses, and digitEscapes the last digits of their JSON escapes.
const (
	digits       = "0-9\u0660-\u0669\u06f0-\u06f9\uff10-\uff19"
	digitEscapes = "003[0-9]|066[0-9]|06[fF][0-9]|[fF][fF]1[0-9]"
)

// A match must not be part of a longer number. JSON escapes end with digits too, which do not count.
const (
	notAfterDigit  = `(?:(?<![` + digits + `])|(?<=\\u[0-9a-fA-F]{4})(?<!\\u(?:` + digitEscapes + `)))`
	notBeforeDigit = `(?![` + digits + `]|\\+u(?:` + digitEscapes + `))`
	// openParenthesis matches a parenthesis that is closed within the number.
	openParenthesis = `(?:\((?=[^()]{1,12}\)[^0-9()]{0,3}[` + digits + `]))?`
)

// spellings matches a digit in every form that phonenumbers parses, escaped or not.
func spellings(digit rune) string {
	n := digit - '0'
	return fmt.Sprintf(`(?:[%c%c%c%c]|\\+u(?:003%[1]c|066%[1]c|06[fF]%[1]c|[fF][fF]1%[1]c))`, digit, '\u0660'+n, '\u06f0'+
		n, '\uff10'+n)
}

var noDigits = regexp.MustCompile(`[^0-9]+`)

func digitsOf(text string) string { return noDigits.ReplaceAllString(text, "") }

// Erasure is the result of erasing a contact.
type Erasure struct {
	Items int64 `json:"campaignItems"`
	// OtherItems is the number of other contacts' items in which the number was replaced.
	OtherItems int64 `json:"otherCampaignItems"`
	Chats      int64 `json:"simulationChats"`
	// Runs is the number of runs in which the number was replaced.
	Runs int64 `json:"agentTestRuns"`
	// Left lists the tables that still contain the number. The erasure does not change them.
	Left []ErasureLeft `json:"left"`
}

// ErasureLeft is the number of rows of a table that still contain an erased number.
type ErasureLeft struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}
