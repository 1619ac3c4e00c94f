package model_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func scheduleInput(cron, zone string) model.CreateAgentTestScheduleInput {
	return model.CreateAgentTestScheduleInput{
		Name: "Nightly", AgentID: new("agent_1"), Repeats: 1, Concurrency: 5, Votes: 1, Cron: &cron, TimeZone: zone,
		IsEnabled: true,
	}
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	moment, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return moment
}

func TestCronFollowsItsTimeZone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cron, zone, now, want string }{
		{"0 3 * * *", "UTC", "2026-03-01T03:00:00Z", "2026-03-02T03:00:00Z"},
		{"0 3 * * *", "Europe/Berlin", "2026-01-01T00:00:00Z", "2026-01-01T02:00:00Z"},
		{"0 3 * * *", "Europe/Berlin", "2026-07-01T00:00:00Z", "2026-07-01T01:00:00Z"},
		{"0 3 * * MON-FRI", "America/New_York", "2026-03-06T12:00:00Z", "2026-03-09T07:00:00Z"},
		{"*/5 * * * *", "Asia/Kathmandu", "2026-03-01T03:02:00Z", "2026-03-01T03:05:00Z"},
		{"0 0 29 2 *", "UTC", "2026-03-01T03:00:00Z", "2028-02-29T00:00:00Z"},
		// A time that the clocks skip becomes the first moment after the skipped hour.
		{"30 2 28 3 *", "Europe/Berlin", "2026-04-01T00:00:00Z", "2027-03-28T01:00:00Z"},
		{"30 2 28 3 *", "Europe/Berlin", "2027-03-28T01:00:00Z", "2028-03-28T00:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		{"30 2,4 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-29T02:30:00Z"},
		{"15,45 2 * * *", "Europe/Berlin", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z"},
		{"0 2,3 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"},
		{"30 2 * * *", "America/New_York", "2026-03-07T12:00:00Z", "2026-03-08T07:00:00Z"},
		{"0 0 5 9 *", "America/Santiago", "2026-12-01T00:00:00Z", "2027-09-05T04:00:00Z"},
		{"30 * * * *", "Europe/Berlin", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"},
		// A time that the clocks repeat counts once, unless the expression is for every hour.
		{"30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		{"30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{"0 0 * * *", "America/Havana", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},
		{"30 * * * *", "Europe/Berlin", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		// Clocks change by half an hour, at midnight, or by a day.
		{"0 3 * * *", "Australia/Lord_Howe", "2026-04-04T12:00:00Z", "2026-04-04T16:30:00Z"},
		{"45 1 * * *", "Australia/Lord_Howe", "2026-04-04T14:50:00Z", "2026-04-05T15:15:00Z"},
		{"5 1 * * 0", "Asia/Beirut", "2026-03-28T18:00:00Z", "2026-03-28T22:05:00Z"},
		{"30 0 * * *", "Asia/Beirut", "2026-03-28T18:00:00Z", "2026-03-28T22:00:00Z"},
		{"0 0 30 12 *", "Pacific/Apia", "2011-12-01T00:00:00Z", "2011-12-30T10:00:00Z"},
	} {
		s, err := model.NewAgentTestSchedule(scheduleInput(c.cron, c.zone), at(t, c.now))
		require.NoError(t, err, c.cron)
		require.Equal(t, at(t, c.want), *s.NextRunAt, "%s %s", c.cron, c.zone)
		require.True(t, s.IsDue(*s.NextRunAt))
		require.False(t, s.IsDue(s.NextRunAt.Add(-time.Second)))
	}
}

func TestInvalidSchedulesAreRefused(t *testing.T) {
	t.Parallel()
	for cron, want := range map[string]string{
		"* * * * *":         "cron must have at least five minutes between two starts",
		"0,4 3 * * *":       "at least five minutes between two starts",
		"58 23 * * 1":       "",
		"0,58 0,23 * * 1,2": "at least five minutes between two starts",
		"0 3 * *":           "cron must be a valid expression with five fields",
		"0 0 3 * * *":       "cron must be a valid expression with five fields",
		"@daily":            "cron must be a valid expression with five fields: write 0 0 * * * instead of @daily",
		"0 24 * * *":        "with five fields: the hour must be 0 to 23, written as *, a value, a list such as 1,2, a range",
		"x 3 * * *":         "the minute must be 0 to 59",
		"0 3 * * 7":         "the day of the week must be 0 to 6 or SUN to SAT, and Sunday is 0",
		"@every 1s":         "cron must be a valid expression with five fields",
		"TZ=UTC 0 3 * * *":  "must not contain a time zone",
		"CRON_TZ=":          "must not contain a time zone",
		"0 3 30 2 *":        "must name a day that exists",
		"61 3 * * *":        "cron must be a valid expression with five fields",
		"":                  "cron must be given unless afterPromptChange is true",
		"0 3 * * 1\x00":     "U+0000",
		"*/0 3 * * *":       "cron must be a valid expression with five fields",
	} {
		_, err := model.NewAgentTestSchedule(scheduleInput(cron, "UTC"), at(t, "2026-03-01T03:00:00Z"))
		if want == "" {
			require.NoError(t, err, cron)
			continue
		}
		require.ErrorContains(t, err, want, cron)
	}
	for _, zone := range []string{"", "Local", "Nowhere/Land", "../etc/passwd"} {
		_, err := model.NewAgentTestSchedule(scheduleInput("0 3 * * *", zone), time.Now())
		require.ErrorContains(t, err, "timeZone must be the name of a time zone", zone)
	}
	in := scheduleInput("0 3 * * *", "UTC")
	in.FolderID, in.Repeats, in.Votes = new("folder_1"), 21, 2
	_, err := model.NewAgentTestSchedule(in, time.Now())
	require.ErrorContains(t, err, "folderId cannot be combined with agentId: give exactly one of them; repeats must be "+
		"between 1 and 20; votes must be 1, 3 or 5")
	in.FolderID, in.TestIds = nil, []string{"test_1"}
	_, err = model.NewAgentTestSchedule(in, time.Now())
	require.ErrorContains(t, err, "testIds cannot be combined with folderId or agentId: give exactly one of them")
	in.AgentID, in.TestIds = nil, nil
	_, err = model.NewAgentTestSchedule(in, time.Now())
	require.ErrorContains(t, err, "testIds must be given unless folderId or agentId is: give exactly one of them")
}

func TestSchedulesStopRepeating(t *testing.T) {
	t.Parallel()
	now := at(t, "2026-03-01T03:00:00Z")
	in := scheduleInput("0 * * * *", "UTC")
	in.StopRepeating = &model.StopRepeating{}
	s, err := model.NewAgentTestSchedule(in, now)
	require.NoError(t, err)
	require.NoError(t, s.Update(model.UpdateAgentTestScheduleInput{Name: new("Hourly")}, now))
	require.NotNil(t, s.Execution().StopRepeating)
	one := &model.StopRepeating{Good: new(0.9)}
	require.ErrorContains(t, s.Update(model.UpdateAgentTestScheduleInput{StopRepeating: one}, now),
		"stopRepeating must have both good and bad, or neither")
	require.ErrorContains(t, s.Update(model.UpdateAgentTestScheduleInput{StopRepeating: &model.StopRepeating{},
		RemoveStopRepeating: true}, now),
		"removeStopRepeating must not be given together with stopRepeating")
	require.NoError(t, s.Update(model.UpdateAgentTestScheduleInput{RemoveStopRepeating: true}, now))
	require.Nil(t, s.Execution().StopRepeating)
}

// Clocks that are set back never bring two times of a schedule too close together.
func TestScheduleSurvivesTheChangeOfClocks(t *testing.T) {
	t.Parallel()
	s, err := model.NewAgentTestSchedule(scheduleInput("0,58 2,4,6,8 * * *", "Europe/Berlin"),
		at(t, "2025-11-01T00:00:00Z"))
	require.NoError(t, err)
	s.Started("execution_1", at(t, "2026-10-20T00:00:00Z"))
	require.Equal(t, at(t, "2026-10-20T00:58:00Z"), *s.NextRunAt)
	s.Started("execution_2", at(t, "2026-10-25T00:58:00Z"))
	require.Equal(t, at(t, "2026-10-25T03:00:00Z"), *s.NextRunAt)
}

func TestMissedTimesCountOnce(t *testing.T) {
	t.Parallel()
	s, err := model.NewAgentTestSchedule(scheduleInput("0 * * * *", "UTC"), at(t, "2026-03-01T03:00:00Z"))
	require.NoError(t, err)
	late := at(t, "2026-03-03T10:20:00Z")
	require.True(t, s.IsDue(late))
	s.Started("execution_1", late)
	require.Equal(t, at(t, "2026-03-03T11:00:00Z"), *s.NextRunAt)

	// A change of another field keeps the due time.
	due := at(t, "2026-03-03T11:00:01Z")
	require.NoError(t, s.Update(model.UpdateAgentTestScheduleInput{Name: new("Hourly")}, due))
	require.True(t, s.IsDue(due))
	require.NoError(t, s.Update(model.UpdateAgentTestScheduleInput{TimeZone: new("Asia/Tokyo")}, due))
	require.False(t, s.IsDue(due))

	s.Failed(errors.New("the budget is used up"), at(t, "2026-03-03T12:00:00Z"))
	require.Equal(t, "the budget is used up", *s.LastError)
	require.Equal(t, at(t, "2026-03-03T13:00:00Z"), *s.NextRunAt)
	s.Started("execution_2", at(t, "2026-03-03T13:00:00Z"))
	require.Nil(t, s.LastError)
	s.NextRunAt = new(at(t, "2026-03-03T13:01:00Z")) // after a change of the prompt
	require.False(t, s.IsDue(at(t, "2026-03-03T13:04:59Z")))
	require.True(t, s.IsDue(at(t, "2026-03-03T13:05:00Z")))
	s.Disable("the agent was deleted", due)
	require.False(t, s.IsDue(at(t, "2026-04-03T13:05:00Z")))
}
