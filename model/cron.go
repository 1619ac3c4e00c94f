package model

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// cronTimes are the times of a cron expression in a time zone.
type cronTimes struct {
	utc  *cron.SpecSchedule
	zone *time.Location
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
			return nil, "the " + field.name + " must be " + field.values + ", written as *, a value, a list such as 1,2, a " +
				"range such as 1-3, or with a step such as */2"
		}
	}
	parsed, err := cronParser.Parse(text)
	if err != nil {
		return nil, err.Error() // not reached: each field is valid
	}
	utc := parsed.(*cron.SpecSchedule)
	utc.Location = time.UTC
	return &cronTimes{utc, zone}, ""
}

// hasEveryHour reports whether the expression includes every hour. If so, its times occur twice in an hour that clocks
// repeat, and not at all in an hour that clocks skip.
func (c *cronTimes) hasEveryHour() bool {
	const everyValue = 1 << 63 // robfig/cron sets this bit for a *
	return c.utc.Hour&everyValue != 0
}

// next returns the first time after t, or the zero time if there is none for years. A time that the clocks skip becomes
// the first moment after the skipped hour. A time in an hour that repeats counts once. Only times of the clock are
// searched, because robfig/cron skips days in zones whose clocks change by half an hour or at midnight.
func (c *cronTimes) next(t time.Time) time.Time {
	t = t.In(c.zone)
	clock, isEveryHour := wallClock(t), c.hasEveryHour()
	if from, _ := t.ZoneBounds(); !from.IsZero() && !isEveryHour {
		if shown := clockBefore(from).Add(-time.Second); shown.After(clock) {
			clock = shown // the clocks have shown it before
		}
	}
	for {
		at := c.utc.Next(clock)
		if at.IsZero() {
			return at
		}
		_, until := t.ZoneBounds()
		found := t.Add(at.Sub(wallClock(t)))
		if until.IsZero() || found.Before(until) {
			return found
		}
		t, clock = until, wallClock(until)
		if !isEveryHour {
			if at.Before(clock) {
				return until
			}
			if before := clockBefore(until); before.After(clock) {
				clock = before
			}
		}
		clock = clock.Add(-time.Second)
	}
}

// wallClock returns the time that a clock in the zone of t shows, as if it were UTC.
func wallClock(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// clockBefore returns the time that clocks would show when they change, had they not changed.
func clockBefore(change time.Time) time.Time {
	return wallClock(change.Add(-time.Second)).Add(time.Second)
}
