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

// ErasureSearch finds a phone number in texts. Its fields are regular expressions of Postgres.
type ErasureSearch struct {
	// Number is the number in E.164 form.
	Number string
	// Pattern matches all spellings that parse as this number: international or national, with any separators. It does
	// not match digits after another country's code, or a national spelling that other digits precede, as in an IBAN.
	Pattern string
	// Possible also matches a national spelling that other digits precede.
	Possible string
	// Ending matches the last digits alone. Every text that matches Possible matches it. Postgres searches for it
	// hundreds of times faster, because it has no constraints on the characters around the match.
	Ending string
	// Nines replace the number. They are not longer than any match, so no text grows beyond its limit.
	Nines string
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
	spaced := func(digits string) string {
		spelled := make([]string, len(digits))
		for i, digit := range digits {
			spelled[i] = spellings(digit)
		}
		return strings.Join(spelled, separator+`{0,3}`)
	}
	national := phonenumbers.GetNationalSignificantNumber(parsed)
	code := spaced(strconv.Itoa(int(parsed.GetCountryCode()))) + separators + `(?:` + spaced("0") + separators + `)?`
	international := `(?:` + plus + `|` + spaced("00") + `|` + spaced("011") + `)` + separators + code
	local := code
	if dialed := digitsOf(phonenumbers.Format(parsed, phonenumbers.NATIONAL)); strings.HasSuffix(dialed, national) &&
		dialed != national {
		local += "|" + spaced(strings.TrimSuffix(dialed, national)) + separators
	}
	optional := ""
	if len(national) >= minNational {
		optional = "?"
	}
	pattern := func(local string) string {
		return openParenthesis + notAfterDigit + `(?:` + international + `|` + local + `)` + spaced(national) +
			notBeforeDigit
	}
	local = notAfterCode + `(?:` + local + `)` + optional
	search.Pattern, search.Possible = pattern(notInGroups+local), pattern(local)
	search.Ending = spaced(national[max(0, len(national)-endingDigits):])
	search.Nines = strings.Repeat("9", len(national))
	return search, nil
}

// invisible are characters that programs put around numbers which are copied, such as marks of the direction of text.
// spaces, hyphens and punctuation are the characters that phonenumbers ignores between digits, and others that people
// write there, for a character class. The hyphen is first, so it does not form a range. Commas, semicolons and colons
// separate values. punctuationEscapes matches the last digits of the JSON escapes of all of them.
const (
	invisible   = "\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
	spaces      = " \u00a0\u2000-\u200a\u202f\u205f\u3000"
	hyphens     = "\\-.\u2010-\u2015\u2212\uff0d"
	punctuation = hyphens + spaces + invisible + "/~'_\u00b7\u2018\u2019\u2022\u2219\u30fb\u30fc\uff0e\uff0f" +
		"\uff08\uff09\uff3b\uff3d\u2053\u223c\uff5e"
	punctuationEscapes = "00[aA][0dD]|00[bB]7|002[789dDeEfF]|0020|005[fF]|200[0-9a-fA-F]|201[0-589]|202[2a-fA-F]|" +
		"205[3fF]|206[06-9]|2212|2219|223[cC]|3000|30[fF][bBcC]|061[cC]|[fF][eE][fF][fF]|[fF][fF]0[d-fD-F89]|[fF][fF]3[bBdD]|" +
		"[fF][fF]5[eE]"
	// separator matches one separator. HTML writes a space that does not break a line as an entity, and URLs write
	// spaces as %20.
	separator = `(?:[\s()\[\]` + punctuation + `]|\\[nrt]|\\+/|\\+u(?:` + punctuationEscapes + `)|` +
		`(?:&|\\+u0026)(?:nbsp|#160|#[xX][aA]0);|%20)`
	separators = separator + `{0,8}`
	plus       = `(?:[+` + "\uff0b" + `]|\\+u(?:002[bB]|[fF][fF]0[bB]))`
)

// digits are all digits that phonenumbers parses, and digitEscapes the last digits of their JSON escapes.
const (
	digits       = "0-9\u0660-\u0669\u06f0-\u06f9\uff10-\uff19"
	digitEscapes = "003[0-9]|066[0-9]|06[fF][0-9]|[fF][fF]1[0-9]"
)

// A match must not be part of a longer number. JSON escapes and %20 end with digits too, which do not count.
const (
	notAfterDigit  = `(?:(?<![` + digits + `])|(?<=\\u[0-9a-fA-F]{4})(?<!\\u(?:` + digitEscapes + `))|(?<=%20))`
	anyDigit       = `(?:[` + digits + `]|\\+u(?:` + digitEscapes + `))`
	notBeforeDigit = `(?![` + digits + `]|\\+u(?:` + digitEscapes + `))`
	// notAfterCode refuses what follows the code of a country: + or 00 with up to five digits, which are too few for a
	// number.
	notAfterCode = `(?<!(?:` + plus + `|(?:^|[^` + digits + `.,:])00)` + separators + anyDigit + `(?:` + separator +
		`{0,3}` + anyDigit + `){0,4}` + separators + `)`
	// notInGroups refuses a group of digits that follows another one.
	notInGroups = `(?<!` + anyDigit + `[` + hyphens + spaces + `])`
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

// Erasure is the result of erasing a contact: how many rows were deleted, or had the number replaced.
type Erasure struct {
	// Items and Chats were deleted. In all other rows the number was replaced. OtherItems belong to other contacts.
	Items          int64 `json:"campaignItems"`
	OtherItems     int64 `json:"otherCampaignItems"`
	Chats          int64 `json:"simulationChats"`
	Runs           int64 `json:"agentTestRuns"`
	Snapshots      int64 `json:"agentTestSnapshots"`
	Executions     int64 `json:"agentTestExecutions"`
	Labels         int64 `json:"criterionLabels"`
	PromptVersions int64 `json:"promptVersions"`
	// IDs has the first MaxErasedIDs ids of each kind. Snapshots have none.
	IDs map[string][]string `json:"ids"`
	// Left lists the tables that still contain the number. The erasure does not change them.
	Left []ErasureLeft `json:"left"`
}

// MaxErasedIDs bounds the ids that an Erasure names of each kind.
const MaxErasedIDs = 100

// Add counts rows, and keeps their first ids under the name.
func (e *Erasure) Add(name string, count *int64, ids ...string) {
	*count += int64(len(ids))
	if more := ids[:min(len(ids), MaxErasedIDs-len(e.IDs[name]))]; len(more) > 0 {
		if e.IDs == nil {
			e.IDs = map[string][]string{}
		}
		e.IDs[name] = append(e.IDs[name], more...)
	}
}

// ErasureLeft is the number of rows of a table that still contain an erased number.
type ErasureLeft struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}
