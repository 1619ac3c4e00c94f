package model

import (
	"fmt"
	"io"
	"strconv"
	"time"
)

// DateBound is one end of a time range: a moment, exact to the millisecond, or a whole UTC day.
type DateBound struct {
	// At has the moment, or the beginning of the day.
	At    time.Time
	IsDay bool
}

// DateBoundForm describes the format of a DateBound in errors.
const DateBoundForm = "an existing ISO date such as 2026-03-01, or a date-time such as 2026-03-01T09:30:00Z"

const day = 24 * time.Hour

// ParseDateBound parses an ISO date or date-time. A date-time without an offset is in UTC.
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

// MarshalGQL writes the bound in the format of ParseDateBound.
func (b DateBound) MarshalGQL(w io.Writer) {
	if b.IsDay {
		_, _ = io.WriteString(w, strconv.Quote(b.At.Format(time.DateOnly)))
		return
	}
	MarshalDateTime(b.At).MarshalGQL(w)
}

// UnmarshalGQL parses a text with ParseDateBound.
func (b *DateBound) UnmarshalGQL(v any) (err error) {
	text, _ := v.(string)
	*b, err = ParseDateBound(text)
	return err
}

// MaxConsumptionDays is the maximum length of a range of usage, in days.
const MaxConsumptionDays = 366

// ConsumptionRange is the time range from From to End, without End.
type ConsumptionRange struct{ From, End time.Time }

// NewConsumptionRange returns the range between two bounds, both inclusive. It returns BAD_INPUT that names the bound
// at fault: they must be in order, and at most MaxConsumptionDays apart. The last moment of a day counts as that day,
// because To returns it for a day.
func NewConsumptionRange(from, to DateBound) (ConsumptionRange, error) {
	r := ConsumptionRange{From: from.At, End: to.At.Add(time.Millisecond)}
	if to.IsDay {
		r.End = to.At.Add(day)
	}
	last := to.At
	if r.End.Equal(r.End.Truncate(day)) {
		last = r.End.Add(-day)
	}
	var faults Fields
	switch {
	case !r.From.Before(r.End):
		faults.Add("from", `must not be after "to"`)
	case last.Sub(from.At) > MaxConsumptionDays*day:
		faults.Add("to", `must be at most %d days after "from"`, MaxConsumptionDays)
	}
	return r, faults.Err()
}

// To returns the last moment of the range.
func (r ConsumptionRange) To() time.Time { return r.End.Add(-time.Millisecond) }

// Days returns the whole UTC days in the range: from the day first until, but not including, the day end. If there are
// none, first is not before end.
func (r ConsumptionRange) Days() (first, end time.Time) {
	return r.From.Add(day - 1).Truncate(day), r.End.Truncate(day)
}

// Months returns the whole UTC months in the range, as their first days: from the day first until, but not including,
// the day end.
func (r ConsumptionRange) Months() (first, end time.Time) {
	first, end = MonthOf(r.From), MonthOf(r.End)
	if first.Before(r.From) {
		first = first.AddDate(0, 1, 0)
	}
	return first, end
}

// TouchedMonths returns the first day of every UTC month that overlaps the range, in order.
func (r ConsumptionRange) TouchedMonths() []time.Time {
	var months []time.Time
	for at := MonthOf(r.From); at.Before(r.End); at = at.AddDate(0, 1, 0) {
		months = append(months, at)
	}
	return months
}

// TouchedDays returns every UTC day that overlaps the range, in order.
func (r ConsumptionRange) TouchedDays() []time.Time {
	var days []time.Time
	for at := r.From.Truncate(day); at.Before(r.End); at = at.Add(day) {
		days = append(days, at)
	}
	return days
}

// MonthOf returns the beginning of the UTC month that contains the time.
func MonthOf(at time.Time) time.Time {
	year, month, _ := at.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// MonthName returns the name of a month: YYYY-MM.
func MonthName(at time.Time) string { return fmt.Sprintf("%04d-%02d", at.Year(), at.Month()) }

// ConsumptionAxes selects the axes of a breakdown. The total is always included.
type ConsumptionAxes struct{ Channels, Months, Days, Agents, Campaigns bool }

// AllConsumptionAxes selects all axes.
var AllConsumptionAxes = ConsumptionAxes{Channels: true, Months: true, Days: true, Agents: true, Campaigns: true}

// ConsumptionBreakdown is the usage in a time range, along four axes. The sums of each axis add up to the total.
type ConsumptionBreakdown struct {
	PeriodFrom, PeriodTo time.Time
	TotalCredits         Credits
	ByChannel            []*ChannelConsumption
	ByMonth              []*MonthConsumption
	ByDay                []*DayConsumption
	ByAgent              []*AgentConsumption
}

// ChannelConsumption is the usage on one channel.
type ChannelConsumption struct {
	Channel Channel
	Credits Credits
}

// NewChannelConsumption returns all channels in order, each with zero usage.
func NewChannelConsumption() []*ChannelConsumption {
	var channels []*ChannelConsumption
	for _, channel := range AllChannel {
		channels = append(channels, &ChannelConsumption{Channel: channel})
	}
	return channels
}

// MonthConsumption is the usage in one UTC month, written YYYY-MM.
type MonthConsumption struct {
	Month     string
	Credits   Credits
	ByChannel []*ChannelConsumption
}

// DayConsumption is the usage on one UTC day, written YYYY-MM-DD.
type DayConsumption struct {
	Day       string
	Credits   Credits
	ByChannel []*ChannelConsumption
}

// AgentConsumption is the usage of one agent.
type AgentConsumption struct {
	Owned
	AgentID    string
	NameStatus NameStatus
	Credits    Credits
	// Campaigns are the campaigns that the agent used credits for. Usage outside campaigns is not in this list.
	Campaigns []*CampaignConsumption
}

// CampaignConsumption is the usage of one agent for one campaign.
type CampaignConsumption struct {
	Owned
	CampaignID string
	NameStatus NameStatus
	Credits    Credits
}

// Cursor returns a position that has only the agent's id.
func (c *AgentConsumption) Cursor() Cursor { return Cursor{ID: c.AgentID} }

// Cursor returns a position that has only the campaign's id.
func (c *CampaignConsumption) Cursor() Cursor { return Cursor{ID: c.CampaignID} }
