package model

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/nyaruka/phonenumbers"
	"github.com/uptrace/bun"
)

// Bounds of items.
const (
	MaxCampaignItems  = 1_000
	maxItemFaults     = 1_000
	maxPhoneNumber    = 40
	maxReason         = 1_000
	minLease          = 5
	maxLease          = 3_600
	maxSummary        = 10_000
	maxResultMessages = 500
	maxResultMessage  = 10_000
)

// CampaignItem is one contact of a campaign.
type CampaignItem struct {
	bun.BaseModel `bun:"table:campaign_items,alias:campaign_item"`
	Owned

	ID            string `bun:",pk"`
	CampaignID    string
	PhoneNumber   string
	DataBag       JSONObject `bun:"type:json"`
	RunningStatus CampaignItemStatus
	AttemptCount  int32
	// IsPickedUp is set if the contact has answered the current call.
	IsPickedUp bool
	IsArchived bool
	Result     *CampaignItemResult `bun:"type:json"`
	Error      *string
	// DueAt is the time from which a dialer may claim the item: its creation, its next attempt, or the end of its claim.
	DueAt time.Time
	// ClaimID is the claim of the current attempt, until the attempt is over.
	ClaimID *string
	// EventCount is the number of the item's last event.
	EventCount int32
	// Version is higher than the version of every earlier change of the campaign's items.
	Version      int32
	CreatedAt    time.Time
	ProcessedAt  *time.Time
	LastCallDate *time.Time
	NextTryDate  *time.Time
}

// CampaignItemEvent is an event of an item. Events of one item are numbered from 1.
type CampaignItemEvent struct {
	bun.BaseModel `bun:"table:campaign_item_events,alias:campaign_item_event"`
	Owned

	ItemID      string `bun:",pk"`
	Number      int32  `bun:",pk"`
	Type        CampaignItemEventType
	Date        time.Time
	Description string
}

// ID identifies the event across all items.
func (e *CampaignItemEvent) ID() string { return e.ItemID + "." + strconv.Itoa(int(e.Number)) }

// Cursor returns the position of this object in a list of items.
func (i *CampaignItem) Cursor() Cursor { return Cursor{i.CreatedAt, i.ID} }

// ClaimedUntil is the end of the dialer's claim, or nil without a claim.
func (i *CampaignItem) ClaimedUntil() *time.Time {
	if i.RunningStatus != CampaignItemStatusPending || i.ClaimID == nil || !i.DueAt.After(time.Now()) {
		return nil
	}
	return &i.DueAt
}

// IsInProgress reports whether the contact is being called or the conversation is being evaluated.
func (i *CampaignItem) IsInProgress() bool {
	return i.RunningStatus == CampaignItemStatusCalling || i.RunningStatus == CampaignItemStatusProcessingResult
}

// Validate returns BAD_INPUT when the number of items is out of bounds, or onDuplicate is invalid.
func (in AddCampaignItemsInput) Validate() error {
	var faults Fields
	if len(in.Items) == 0 {
		faults.Add("items", "must have at least one entry")
	}
	faults.list("items", len(in.Items), MaxCampaignItems)
	if in.OnDuplicate != "" && !in.OnDuplicate.IsValid() {
		faults.Add("onDuplicate", "must be one of SKIP, REFUSE, KEEP")
	}
	return faults.Err()
}

// NewItems returns the items that the input describes. Their versions count up from the campaign's ItemVersion.
// It returns BAD_INPUT with the faults, about 1,000 at most, if an item breaks a bound or has an invalid number. If the
// only faults are missing mandatory values, it returns UNPROCESSABLE.
func (c *Campaign) NewItems(in AddCampaignItemsInput, agent *Agent, now time.Time) ([]*CampaignItem, error) {
	var faults, missing Fields
	fields := c.Fields(agent)
	items := make([]*CampaignItem, 0, len(in.Items))
	for n, given := range in.Items {
		if len(faults)+len(missing) >= maxItemFaults {
			break
		}
		path := fmt.Sprintf("items.%d", n)
		item := &CampaignItem{
			ID: NewID("item"), CampaignID: c.ID, DataBag: given.DataBag.withoutNulls(), RunningStatus: CampaignItemStatusPending,
			DueAt: now, Version: c.ItemVersion + int32(n) + 1, CreatedAt: now,
		}
		items = append(items, item)
		if given.PhoneNumber != "" {
			item.PhoneNumber = faults.phoneNumber(path+".phoneNumber", given.PhoneNumber, c.DefaultRegion)
		} else if agent.Channel != ChannelWeb {
			faults.Add(path+".phoneNumber", "must not be empty: items of %s campaigns need a phone number", agent.Channel)
		}
		known := len(faults)
		texts := faults.dataBag(path+".dataBag", given.DataBag)
		if len(faults) > known {
			continue
		}
		for _, field := range fields {
			if field.IsMandatory && !field.IsSystem && strings.TrimSpace(texts[field.Name]) == "" {
				missing.Add(path+".dataBag."+field.Name, "is mandatory for this campaign")
			}
		}
	}
	if len(faults) > 0 {
		maps.Copy(faults, missing)
		return nil, faults.Err()
	}
	return items, missing.As(Unprocessable)
}

// inE164 matches an international number of ITU-T E.164: a country code and a national number, 7 to 15 digits in total.
var inE164 = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)

// invisible are characters that programs put around numbers which are copied, such as marks of the direction of text.
// punctuation are the characters that phonenumbers ignores between digits, and others that people write there, for a
// character class. The hyphen is first, so it does not form a range. digits are all digits that phonenumbers parses.
const (
	invisible   = "\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
	punctuation = "\\-.\u2010-\u2015\u2212\uff0d \u00a0\u2000-\u200a\u202f\u205f\u3000" + invisible + "/~'_\u00b7\u2018" +
		"\u2019\u2022\u2219\u30fb\u30fc\uff0e\uff0f\uff08\uff09\uff3b\uff3d\u2053\u223c\uff5e"
	digits = "0-9\u0660-\u0669\u06f0-\u06f9\uff10-\uff19"
)

var invisibles = regexp.MustCompile("[" + invisible + "]")

// phoneNumber returns a number in E.164 form, and records a fault when it is not valid.
func (f *Fields) phoneNumber(path, number string, region *string) string {
	const wanted = "must be a valid phone number with + and the country code, such as +12025550143"
	from := phonenumbers.UNKNOWN_REGION
	if region != nil {
		from = *region
	}
	if f.text(path, number, 1, maxPhoneNumber); len((*f)[path]) > 0 {
		return ""
	}
	number = invisibles.ReplaceAllString(number, "")
	parsed, err := phonenumbers.Parse(number, from)
	// phonenumbers converts letters to the digits on the same keys, and allows more digits than E.164 for some countries.
	isValid := err == nil && phonenumbers.IsValidNumber(parsed) && !strings.ContainsFunc(number, unicode.IsLetter) &&
		inE164.MatchString(phonenumbers.Format(parsed, phonenumbers.E164))
	switch {
	case strings.ContainsFunc(number, unicode.IsLetter):
		f.Add(path, wanted+": write only the number, without letters such as tel: and without an extension")
	case !isValid && region != nil:
		f.Add(path, "%s, or a national number of region %s", wanted, from)
	case !isValid:
		f.Add(path, wanted)
	case parsed.GetExtension() != "":
		f.Add(path, "must not have an extension, which cannot be dialed")
	case isAmbiguous(number, parsed):
		f.Add(path, "must begin with + and the country code: %d can be the country code, or the start of a national number"+
			" of region %s", parsed.GetCountryCode(), from)
	default:
		return phonenumbers.Format(parsed, phonenumbers.E164)
	}
	return ""
}

// isAmbiguous reports whether a number that was parsed as national would be another valid number of the same country
// with a + before it. Spreadsheets drop the + of numbers.
func isAmbiguous(number string, national *phonenumbers.PhoneNumber) bool {
	international, err := phonenumbers.Parse("+"+number, phonenumbers.UNKNOWN_REGION)
	return err == nil && international.GetCountryCode() == national.GetCountryCode() &&
		phonenumbers.IsValidNumber(international) &&
		phonenumbers.Format(international, phonenumbers.E164) != phonenumbers.Format(national, phonenumbers.E164)
}

// phoneLike matches parts of a text that may be phone numbers, written with any digits and punctuation that phoneNumber
// accepts.
var phoneLike = regexp.MustCompile("[+\uff0b]?[" + digits + "](?:[ ()\\[\\]" + punctuation + "]{0,2}[" + digits +
	"]){6,}")

// digitRun matches the longest parts of a text with only digits and separators. Every match of phoneLike is in one.
var digitRun = regexp.MustCompile("[+\uff0b]?[" + digits + "](?:[ :T()\\[\\]" + punctuation + "]{0,2}[" +
	digits + "])*")

// notPhone matches runs of only dates with a year of four digits, times, and IPv4 addresses with or without a port.
var notPhone = func() *regexp.Regexp {
	const (
		year  = `(?:19|20)[0-9]{2}`
		month = `(?:0?[1-9]|1[0-2])`
		day   = `(?:0?[1-9]|[12][0-9]|3[01])`
		date  = `(?:` + year + `[-./]` + month + `[-./]` + day + `|` + day + `[-./]` + day + `[-./]` + year + `)`
		clock = `(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]{1,6})?)?`
		octet = `(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`
		one   = `(?:` + date + `|` + clock + `|` + octet + `(?:\.` + octet + `){3}(?::[0-9]{1,5})?)`
	)
	return regexp.MustCompile(`^` + one + `(?:[ T]` + one + `)*$`)
}()

// amountHead matches an amount of one to 99 million up to the decimals, with separators of thousands. amountTail
// matches its decimals.
var (
	amountHead = regexp.MustCompile("^[1-9][0-9]?(?:(?:\\.[0-9]{3}){2}|(?:[ \u00a0][0-9]{3}){2})$")
	amountTail = regexp.MustCompile("^,[" + digits + "]{2}(?:[^," + digits + "]|$)")
)

// mask replaces the digits of phone numbers in a text with asterisks, except the last four digits of each. It keeps
// dates, times, amounts and IP addresses, unless other digits are next to them.
func mask(text string) string {
	var masked strings.Builder
	at := 0
	for _, run := range digitRun.FindAllStringIndex(text, -1) {
		masked.WriteString(text[at:run[0]])
		at = run[1]
		if mayBePhone(text[run[0]:at], text[at:]) {
			masked.WriteString(maskNumbers(text[run[0]:at]))
		} else {
			masked.WriteString(text[run[0]:at])
		}
	}
	return masked.String() + text[at:]
}

// mayBePhone reports whether a match of digitRun may have a phone number. rest is the text after it.
func mayBePhone(run, rest string) bool {
	run = strings.Map(latinDigit, run)
	isAmount := amountHead.MatchString(run) && amountTail.MatchString(rest) &&
		!phoneLike.MatchString(digitRun.FindString(rest)) // the decimals could begin a number
	return phoneLike.MatchString(run) && !notPhone.MatchString(run) && !isAmount
}

// latinDigit returns 0 to 9 for the digits of other scripts that phonenumbers parses, and other characters unchanged.
func latinDigit(r rune) rune {
	for _, zero := range []rune{'\u0660', '\u06f0', '\uff10'} {
		if zero <= r && r <= zero+9 {
			return '0' + r - zero
		}
	}
	return r
}

func maskNumbers(text string) string {
	return phoneLike.ReplaceAllStringFunc(text, func(number string) string {
		masked := []rune(number)
		seen := 0
		for i := len(masked) - 1; i >= 0; i-- {
			if !unicode.IsDigit(masked[i]) {
				continue
			}
			if seen++; seen > 4 {
				masked[i] = '*'
			}
		}
		return string(masked)
	})
}

// Validate returns BAD_INPUT with every bound that the input breaks.
func (in ArchiveCampaignItemsInput) Validate() error {
	var faults Fields
	if len(in.ItemIds) == 0 {
		faults.Add("itemIds", "must have at least one entry")
	}
	faults.list("itemIds", len(in.ItemIds), MaxCampaignItems)
	return faults.Err()
}

// Validate returns BAD_INPUT with every bound that the input breaks.
func (in ClaimCampaignItemsInput) Validate() error {
	var faults Fields
	faults.count("limit", &in.Limit, 1, MaxCampaignItems)
	faults.count("leaseSeconds", &in.LeaseSeconds, minLease, maxLease)
	return faults.Err()
}

// Validate returns BAD_INPUT when the lease is out of bounds.
func (in RenewCampaignClaimInput) Validate() error {
	var faults Fields
	faults.count("leaseSeconds", &in.LeaseSeconds, minLease, maxLease)
	return faults.Err()
}

var phoneNumberPrefix = regexp.MustCompile(`^\+?[0-9]{0,15}$`)

// Validate returns BAD_INPUT with every bound that the filter breaks.
func (f *CampaignItemFilter) Validate() error {
	var faults Fields
	if f != nil {
		faults.optional("filter.tag", f.Tag, 100)
		if f.PhoneNumberPrefix != nil && !phoneNumberPrefix.MatchString(*f.PhoneNumberPrefix) {
			faults.Add("filter.phoneNumberPrefix", "must be at most 15 digits, optionally after a +")
		}
	}
	return faults.Err()
}
