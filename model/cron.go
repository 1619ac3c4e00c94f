package model

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// cronTimes are the times of a cron expression in a time zone.
type cronTimes struct {
	times, utc *cron.SpecSchedule
	zone       *time.Location
}

var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// cronFields are the fields of a cron expression with their values.
var cronFields = []struct{ name, values string }{
	{"minute", "0 to 59"}, {"hour", "0 to 23"}, {"day of the month", "1 to 31"}, {"month", "1 to 12 or JAN to DEC"},
	{"day of the week", "0 to 6 or SUN to SAT, and Sunday is 0"},
}

// parseCron returns the times of an expression, or nil and a description of its fault.
func parseCron(text string, zone *time.Location) (*cronTimes, string) {
	fields := strings.Fields(text)
	switch {
	case strings.HasPrefix(text, "@"):
		return nil, "write 0 0 * * * instead of @daily, and 0 * * * * instead of @hourly"
	case len(fields) != len(cronFields):
		return nil, "minute, hour, day of the month, month and day of the week"
	}
	for i, field := range cronFields {
		alone := strings.Fields("* * * * *")
		alone[i] = fields[i]
		if _, err := cronParser.Parse(strings.Join(alone, " ")); err != nil {
			return nil, "the " + field.name + " must be " + field.values + ", as *, a value, a list such as 1,2, a range such " +
				"as 1-3, or with a step such as */2"
		}
	}
	parsed, err := cronParser.Parse(text)
	if err != nil {
		return nil, err.Error() // not reached: each field is valid
	}
	times := parsed.(*cron.SpecSchedule)
	utc := *times
	times.Location, utc.Location = zone, time.UTC
	return &cronTimes{times, &utc, zone}, ""
}

// hasEveryHour reports whether the times are those of every hour. Then, they follow the hours that pass when clocks
// change.
func (c *cronTimes) hasEveryHour() bool {
	const everyValue = 1 << 63 // robfig/cron sets this bit for a *
	return c.times.Hour&everyValue != 0
}

// next returns the first time after t, or the zero time if there is none for years. A time that the clocks skip becomes
// the first moment after the skipped hour. A time in an hour that repeats counts once.
func (c *cronTimes) next(t time.Time) time.Time {
	next := c.times.Next(t)
	if c.hasEveryHour() {
		return next
	}
	for !next.IsZero() && isRepeated(next.In(c.zone)) {
		next = c.times.Next(next)
	}
	clock := wallClock(t.In(c.zone))
	for {
		if clock = c.utc.Next(clock); clock.IsZero() {
			return next
		}
		end, isSkipped := c.skippedUntil(clock)
		if !isSkipped {
			return next
		}
		if end.After(t) && (next.IsZero() || end.Before(next)) {
			return end
		}
	}
}

// wallClock returns the time that a clock in the zone of t shows, as if it were UTC.
func wallClock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// skippedUntil returns when the clocks of the zone are set forward, if they then skip a time of the clock.
func (c *cronTimes) skippedUntil(clock time.Time) (end time.Time, isSkipped bool) {
	t := time.Date(clock.Year(), clock.Month(), clock.Day(), clock.Hour(), clock.Minute(), 0, 0, c.zone)
	from, until := t.ZoneBounds()
	switch shown := wallClock(t); {
	case shown.After(clock):
		return from, true
	case shown.Before(clock):
		return until, true
	}
	return time.Time{}, false
}

// isRepeated reports whether the clocks of t's zone have shown the same time before, because they were set back.
func isRepeated(t time.Time) bool {
	from, _ := t.ZoneBounds()
	if from.IsZero() {
		return false
	}
	_, before := from.Add(-time.Second).Zone()
	_, after := t.Zone()
	return t.Sub(from) < time.Duration(before-after)*time.Second
}
