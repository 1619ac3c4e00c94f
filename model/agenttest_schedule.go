package model

import (
	"strings"
	"time"
	_ "time/tzdata" // the names of time zones, on every system

	"github.com/uptrace/bun"
)

// Bounds of schedules.
const (
	// MaxSchedules bounds the test schedules of a company.
	MaxSchedules = 50
	// ScheduleGap is the minimum time between two executions of a schedule.
	ScheduleGap = 5 * time.Minute
	// PromptPause is how long a prompt must be unchanged before a schedule runs the tests of its agent.
	PromptPause = time.Minute

	// timesChecked is the number of start times of a cron expression that are checked for the gap.
	timesChecked = 1_000
)

// AgentTestSchedule starts test executions at fixed times, and after changes of a prompt.
type AgentTestSchedule struct {
	bun.BaseModel `bun:"table:agent_test_schedules,alias:agent_test_schedule"`
	Owned

	ID   string `bun:",pk"`
	Name string
	// AgentID is the agent of all tests. Nil when the tests have several agents. FolderID or TestIds selects the tests. If
	// neither is set, all tests of the agent run.
	AgentID     *string
	FolderID    *string
	TestIds     []string `bun:"type:jsonb,nullzero"`
	Repeats     int32
	Concurrency int32
	VirtualTime bool
	Votes       int32
	// StopRepeating is nil if each test runs exactly Repeats times.
	StopRepeating *StopRepeating `bun:"type:json"`
	// Cron is nil for a schedule without fixed times.
	Cron              *string
	TimeZone          string
	AfterPromptChange bool
	IsEnabled         bool
	DisabledReason    *string
	BaselineID        *string
	// CronAt is the next time of Cron. NextRunAt is when the schedule is due: at CronAt, or after a change of the
	// prompt.
	CronAt    *time.Time
	NextRunAt *time.Time
	LastRunAt *time.Time
	// LastExecutionID is the last execution that the schedule started. It may be deleted by now.
	LastExecutionID *string
	// LastError is why the schedule could not start the last execution that was due. Nil if it could. LastFailedAt is the
	// time of the last failure.
	LastError    *string
	LastFailedAt *time.Time
	CreatedAt    time.Time
	UpdatedAt    time.Time
}

// Cursor returns the position of this object in a list of schedules.
func (s *AgentTestSchedule) Cursor() Cursor { return Cursor{s.CreatedAt, s.ID} }

type (
	// AgentTestScheduleConnection is a page of schedules.
	AgentTestScheduleConnection = Page[*AgentTestSchedule]
	// AgentTestScheduleEdge is a schedule in a page.
	AgentTestScheduleEdge = Edge[*AgentTestSchedule]
)

// NewAgentTestSchedule returns the schedule that the input describes, or BAD_INPUT with every bound that it breaks.
// The caller looks up its tests.
func NewAgentTestSchedule(in CreateAgentTestScheduleInput, now time.Time) (*AgentTestSchedule, error) {
	s := &AgentTestSchedule{ID: NewID("schedule"), CreatedAt: now}
	return s, s.Update(UpdateAgentTestScheduleInput{
		Name: &in.Name, TestIds: in.TestIds, FolderID: in.FolderID, AgentID: in.AgentID, Repeats: &in.Repeats,
		StopRepeating: in.StopRepeating, Concurrency: &in.Concurrency,
		VirtualTime: &in.VirtualTime, Votes: &in.Votes, Cron: in.Cron, TimeZone: &in.TimeZone,
		AfterPromptChange: &in.AfterPromptChange,
		IsEnabled:         &in.IsEnabled, BaselineID: in.BaselineID,
	}, now)
}

// Update applies all fields that the input sets. It returns BAD_INPUT with every fault when the schedule would break
// a bound.
func (s *AgentTestSchedule) Update(in UpdateAgentTestScheduleInput, now time.Time) error {
	before := *s
	defer touch(&s.UpdatedAt, NextUpdatedAt(s.UpdatedAt, now), s, before)
	if in.Retargets() || s.UpdatedAt.IsZero() {
		s.TestIds, s.FolderID, s.AgentID = in.TestIds, in.FolderID, in.AgentID
	}
	setIfGiven(&s.Name, in.Name)
	setIfGiven(&s.Repeats, in.Repeats)
	setIfGiven(&s.Concurrency, in.Concurrency)
	setIfGiven(&s.VirtualTime, in.VirtualTime)
	setIfGiven(&s.Votes, in.Votes)
	if in.StopRepeating != nil || in.RemoveStopRepeating {
		s.StopRepeating = in.StopRepeating
	}
	setText(&s.Cron, in.Cron)
	setIfGiven(&s.TimeZone, in.TimeZone)
	setIfGiven(&s.AfterPromptChange, in.AfterPromptChange)
	setText(&s.BaselineID, in.BaselineID)
	if setIfGiven(&s.IsEnabled, in.IsEnabled); s.IsEnabled {
		s.DisabledReason = nil
	}

	var faults Fields
	faults.name("name", s.Name, 100)
	if in.RemoveStopRepeating && in.StopRepeating != nil {
		faults.Add("removeStopRepeating", "must not be given together with stopRepeating")
	}
	execution := s.Execution()
	if in.Retargets() {
		execution.AgentID = in.AgentID
	}
	faults.execution(execution)
	if s.Cron == nil && !s.AfterPromptChange {
		faults.Add("cron", "must be given unless afterPromptChange is true")
	}
	next := s.nextTime(&faults, now)
	s.checkGap(&faults, now)
	if err := faults.Err(); err != nil {
		return err
	}
	if s.TestIds != nil {
		s.TestIds = Unique(s.TestIds)
	}
	switch {
	case !s.IsEnabled:
		s.CronAt, s.NextRunAt = nil, nil
	case !s.hasSameTimes(&before):
		s.CronAt, s.NextRunAt = next, next
	}
	return nil
}

// hasSameTimes reports whether both schedules have the same times. If so, a due execution stays due.
func (s *AgentTestSchedule) hasSameTimes(other *AgentTestSchedule) bool {
	return other.IsEnabled && s.AfterPromptChange == other.AfterPromptChange && s.TimeZone == other.TimeZone &&
		(s.Cron == nil) == (other.Cron == nil) && (s.Cron == nil || *s.Cron == *other.Cron)
}

// Retargets reports whether the input changes which tests run.
func (in UpdateAgentTestScheduleInput) Retargets() bool {
	return in.TestIds != nil || in.FolderID != nil || in.AgentID != nil
}

// Execution returns the execution that the schedule starts.
func (s *AgentTestSchedule) Execution() StartAgentTestExecutionInput {
	in := StartAgentTestExecutionInput{
		TestIds: s.TestIds, FolderID: s.FolderID, Repeats: s.Repeats, StopRepeating: s.StopRepeating,
		Concurrency: s.Concurrency,
		VirtualTime: s.VirtualTime, Votes: &s.Votes,
	}
	if in.TestIds == nil && in.FolderID == nil {
		in.AgentID = s.AgentID
	}
	return in
}

// times returns the times of Cron in its time zone, or nil if there are none. It records a fault of an invalid Cron or
// TimeZone.
func (s *AgentTestSchedule) times(faults *Fields) *cronTimes {
	zone, err := time.LoadLocation(s.TimeZone)
	// The empty name and Local depend on the server.
	if err != nil || s.TimeZone == "" || s.TimeZone == "Local" {
		faults.Add("timeZone", "must be the name of a time zone, such as Europe/Berlin")
		return nil
	}
	if s.Cron == nil {
		return nil
	}
	if faults.text("cron", *s.Cron, 1, 100); strings.Contains(*s.Cron, "TZ=") {
		faults.Add("cron", "must not contain a time zone: use timeZone instead")
		return nil
	}
	times, fault := parseCron(*s.Cron, zone)
	if fault != "" {
		faults.Add("cron", "must be a valid expression with five fields: %s", fault)
	}
	return times
}

// nextTime returns the first time of Cron after now, or nil when there is none.
func (s *AgentTestSchedule) nextTime(faults *Fields, now time.Time) *time.Time {
	times := s.times(faults)
	if times == nil {
		return nil
	}
	next := times.next(now)
	if next.IsZero() {
		faults.Add("cron", "must name a day that exists")
		return nil
	}
	return new(next.UTC())
}

// checkGap records a fault if two times of Cron are too close. It checks the times of the clock, so the result does not
// depend on when clocks change.
func (s *AgentTestSchedule) checkGap(faults *Fields, now time.Time) {
	var known Fields
	times := s.times(&known)
	if times == nil {
		return
	}
	before := times.utc.Next(now)
	for range timesChecked {
		at := times.utc.Next(before)
		if before.IsZero() || at.IsZero() {
			return // no further time for years
		}
		if at.Sub(before) < ScheduleGap {
			faults.Add("cron", "must have at least five minutes between two starts")
			return
		}
		before = at
	}
}

// IsDue reports whether the schedule must start an execution now.
func (s *AgentTestSchedule) IsDue(now time.Time) bool {
	return s.NextRunAt != nil && !s.NextRunAt.After(now) && (s.LastRunAt == nil || now.Sub(*s.LastRunAt) >= ScheduleGap)
}

// Started records that the schedule started the execution. That execution covers everything that became due before it.
func (s *AgentTestSchedule) Started(executionID string, now time.Time) {
	s.LastRunAt, s.LastExecutionID, s.LastError = &now, &executionID, nil
	s.scheduleNext(now)
}

// Failed records why a due execution could not start.
func (s *AgentTestSchedule) Failed(err error, now time.Time) {
	s.LastError, s.LastFailedAt = new(err.Error()), &now
	s.scheduleNext(now)
}

// scheduleNext makes the schedule due at the next time of Cron, if there is one.
func (s *AgentTestSchedule) scheduleNext(now time.Time) {
	var faults Fields // no fault is possible: NewAgentTestSchedule and Update have checked the times
	s.CronAt = s.nextTime(&faults, now)
	s.NextRunAt = s.CronAt
}

// Disable disables the schedule, because its tests were deleted.
func (s *AgentTestSchedule) Disable(reason string, now time.Time) {
	s.IsEnabled, s.DisabledReason, s.CronAt, s.NextRunAt, s.UpdatedAt = false, &reason, nil, nil,
		NextUpdatedAt(s.UpdatedAt, now)
}
