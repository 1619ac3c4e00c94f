package model

import (
	"fmt"
	"io"
	"strconv"
	"time"
)

// DateBound is one end of a range of time: a moment, exact to the millisecond, or a whole UTC day.
type DateBound struct {
	// At is the moment, or the beginning of the day.
	At    time.Time
	IsDay bool
}

// DateBoundForm says how a DateBound is written.
const DateBoundForm = "an ISO date such as 2026-03-01, or a date-time such as 2026-03-01T09:30:00Z"

const day = 24 * time.Hour

// ParseDateBound reads an ISO date or date-time. One without an offset is in UTC.
func ParseDateBound(text string) (DateBound, error) {
	if at, err := time.Parse(time.DateOnly, text); err == nil && at.Year() >= 1 {
		return DateBound{At: at, IsDay: true}, nil
	}
	at, ok := parseDateTime(text)
	if !ok {
		return DateBound{}, Errorf(BadInput, "must be %s", DateBoundForm)
	}
	return DateBound{At: at.Truncate(time.Millisecond)}, nil
}

// MarshalGQL writes the bound as it can be read.
func (b DateBound) MarshalGQL(w io.Writer) {
	if b.IsDay {
		_, _ = io.WriteString(w, strconv.Quote(b.At.Format(time.DateOnly)))
		return
	}
	MarshalDateTime(b.At).MarshalGQL(w)
}

// UnmarshalGQL reads a text.
func (b *DateBound) UnmarshalGQL(v any) (err error) {
	text, ok := v.(string)
	if !ok {
		return Errorf(BadInput, "a DateBound is a text: %s", DateBoundForm)
	}
	if *b, err = ParseDateBound(text); err != nil {
		return Errorf(BadInput, "%q is not a DateBound: %v", text, err)
	}
	return nil
}

// MaxConsumptionDays bounds a range of time that usage is summed up over.
const MaxConsumptionDays = 366

// ConsumptionRange is a range of time from From up to, and without, End.
type ConsumptionRange struct{ From, End time.Time }

// NewConsumptionRange returns the range from one bound to the other, both inclusive, or BAD_INPUT that
// names the one at fault: they must be in order, and at most 366 days apart.
func NewConsumptionRange(from, to DateBound) (ConsumptionRange, error) {
	r := ConsumptionRange{From: from.At, End: to.At.Add(time.Millisecond)}
	if to.IsDay {
		r.End = to.At.Add(day)
	}
	var faults Fields
	switch {
	case !r.From.Before(r.End):
		faults.Add("from", "must not be after to")
	case to.At.Sub(from.At) > MaxConsumptionDays*day:
		faults.Add("to", "must not be more than %d days after from", MaxConsumptionDays)
	}
	return r, faults.Err()
}

// To is the last moment of the range.
func (r ConsumptionRange) To() time.Time { return r.End.Add(-time.Millisecond) }

// Days returns the whole UTC days within the range: from the first up to, and without, the second, which is not
// after the first when there are none.
func (r ConsumptionRange) Days() (first, end time.Time) {
	return r.From.Add(day - 1).Truncate(day), r.End.Truncate(day)
}

// Months returns the whole UTC months within the range, by their first days, in the manner of Days.
func (r ConsumptionRange) Months() (first, end time.Time) {
	first, end = MonthOf(r.From), MonthOf(r.End)
	if first.Before(r.From) {
		first = first.AddDate(0, 1, 0)
	}
	return first, end
}

// TouchedMonths returns the first day of every UTC month that the range touches, in order.
func (r ConsumptionRange) TouchedMonths() []time.Time {
	var months []time.Time
	for at := MonthOf(r.From); at.Before(r.End); at = at.AddDate(0, 1, 0) {
		months = append(months, at)
	}
	return months
}

// TouchedDays returns every UTC day that the range touches, in order.
func (r ConsumptionRange) TouchedDays() []time.Time {
	var days []time.Time
	for at := r.From.Truncate(day); at.Before(r.End); at = at.Add(day) {
		days = append(days, at)
	}
	return days
}

// MonthOf returns the beginning of the UTC month that the time is in.
func MonthOf(at time.Time) time.Time {
	year, month, _ := at.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// MonthName is how a month is called: YYYY-MM.
func MonthName(at time.Time) string { return fmt.Sprintf("%04d-%02d", at.Year(), at.Month()) }

// ConsumptionAxes are the axes along which a breakdown sums up, beside the total.
type ConsumptionAxes struct{ Channels, Months, Days, Agents, Campaigns bool }

// AllConsumptionAxes are all that there are.
var AllConsumptionAxes = ConsumptionAxes{Channels: true, Months: true, Days: true, Agents: true, Campaigns: true}

// ConsumptionBreakdown is what was used in a range of time, along each of four axes, which all sum up to the
// same total.
type ConsumptionBreakdown struct {
	PeriodFrom, PeriodTo time.Time
	TotalCredits         Credits
	ByChannel            []*ChannelConsumption
	ByMonth              []*MonthConsumption
	ByDay                []*DayConsumption
	ByAgent              []*AgentConsumption
}

// ChannelConsumption is what was used on one channel.
type ChannelConsumption struct {
	Channel Channel
	Credits Credits
}

// NewChannelConsumption returns all channels in order, with nothing used.
func NewChannelConsumption() []*ChannelConsumption {
	var channels []*ChannelConsumption
	for _, channel := range AllChannel {
		channels = append(channels, &ChannelConsumption{Channel: channel})
	}
	return channels
}

// MonthConsumption is what was used in one UTC month, written YYYY-MM.
type MonthConsumption struct {
	Month     string
	Credits   Credits
	ByChannel []*ChannelConsumption
}

// DayConsumption is what was used on one UTC day, written YYYY-MM-DD.
type DayConsumption struct {
	Day       string
	Credits   Credits
	ByChannel []*ChannelConsumption
}

// AgentConsumption is what one agent used.
type AgentConsumption struct {
	Owned
	AgentID    string
	NameStatus NameStatus
	Credits    Credits
	// Campaigns are those that the agent used credits for; what had no campaign is in none.
	Campaigns []*CampaignConsumption
}

// CampaignConsumption is what one agent used for one campaign.
type CampaignConsumption struct {
	Owned
	CampaignID string
	NameStatus NameStatus
	Credits    Credits
}

// Cursor carries the agent's id.
func (c *AgentConsumption) Cursor() Cursor { return Cursor{ID: c.AgentID} }

// Cursor carries the campaign's id.
func (c *CampaignConsumption) Cursor() Cursor { return Cursor{ID: c.CampaignID} }
