package model

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// leastNational is how many digits a number has that is found without its country code or the prefix of national calls.
const leastNational = 7

// EraseContactInput names a contact, whose traces are to be erased, by the phone number.
type EraseContactInput struct {
	// PhoneNumber is in E.164 form.
	PhoneNumber string
	// IsDryRun counts what would be erased, and erases nothing.
	IsDryRun bool
}

// Number returns the number in E.164 form, and a regular expression that finds it in texts, in all spellings that are parsed as this
// number: with its country code or as in its country, whatever separates the digits. BAD_INPUT when it is no phone number with its
// country code.
func (in EraseContactInput) Number() (number, pattern string, err error) {
	var faults Fields
	if number = faults.phoneNumber("phoneNumber", in.PhoneNumber, nil); len(faults) > 0 {
		return "", "", faults.Err()
	}
	parsed, err := phonenumbers.Parse(number, phonenumbers.UNKNOWN_REGION)
	if err != nil {
		return "", "", err
	}
	// JSON may have escaped the space that does not break.
	const separator = `(?:[\s().\-/` + "\u00a0" + `]|\\u00a0){0,3}`
	spaced := func(digits string) string {
		return strings.Join(strings.Split(digits, ""), separator)
	}
	national := phonenumbers.GetNationalSignificantNumber(parsed)
	code := strconv.Itoa(int(parsed.GetCountryCode()))
	prefix := `(?:\+|00|011)?` + separator + spaced(code) + separator + `(?:\(0\)` + separator + `)?`
	if dialed := digitsOf(phonenumbers.Format(parsed, phonenumbers.NATIONAL)); strings.HasSuffix(dialed, national) && dialed != national {
		prefix += "|" + spaced(strings.TrimSuffix(dialed, national)) + separator
	}
	optional := ""
	if len(national) >= leastNational {
		optional = "?"
	}
	return number, code + national + `|(?<![0-9])(?:` + prefix + `)` + optional + spaced(national) + `(?![0-9])`, nil
}

var noDigits = regexp.MustCompile(`[^0-9]+`)

func digitsOf(text string) string { return noDigits.ReplaceAllString(text, "") }

// Erasure is how much of a contact was erased.
type Erasure struct {
	Items int64 `json:"campaignItems"`
	// OtherItems are the items of other contacts in whose data the number was replaced.
	OtherItems int64 `json:"otherCampaignItems"`
	Chats      int64 `json:"simulationChats"`
	// Runs are those in whose texts the number was replaced.
	Runs int64 `json:"agentTestRuns"`
	// Left are the tables that still have the number, which nothing but their owner may change.
	Left []ErasureLeft `json:"left"`
}

// ErasureLeft is how many rows of a table still have an erased number.
type ErasureLeft struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}
