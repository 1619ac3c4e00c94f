package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// startTimeout bounds how long one sweep starts executions, before it looks for lost workers.
const startTimeout = 2 * time.Second

// permanentCodes are the codes of errors that an immediate retry would return again.
var permanentCodes = []model.Code{model.NotFound, model.BadInput, model.Unprocessable, model.BudgetExceeded}

// startScheduled starts the executions of schedules that are due: company by company, and the longest overdue first in
// each. A schedule that fails does not block the others.
func (s *Store) startScheduled(ctx context.Context) error {
	companies, err := s.companiesWith(ctx, (*model.AgentTestSchedule)(nil), "next_run_at <= ?", now())
	errs := []error{err}
	for start := time.Now(); len(companies) > 0 && time.Since(start) < startTimeout; companies = companies[1:] {
		t := s.Tenant(companies[0])
		due, err := t.dueSchedules(ctx)
		errs = append(errs, err)
		for _, schedule := range due {
			if time.Since(start) < startTimeout {
				errs = append(errs, t.startSchedule(ctx, schedule))
			}
		}
	}
	return errors.Join(errs...)
}

// dueSchedules returns the schedules that are due. A schedule whose last execution is still running waits.
func (t *Tenant) dueSchedules(ctx context.Context) ([]*model.AgentTestSchedule, error) {
	schedules := []*model.AgentTestSchedule{}
	inProgress := t.db.Select((*model.AgentTestExecution)(nil)).Column("id").
		Where("?TableAlias.id = agent_test_schedule.last_execution_id").
		Where("?TableAlias.finished_at IS NULL")
	err := t.db.Select(&schedules).Where("next_run_at <= ?", now()).Where("NOT EXISTS (?)", inProgress).
		Order("next_run_at", "id").Scan(ctx)
	return slices.DeleteFunc(schedules, func(s *model.AgentTestSchedule) bool { return !s.IsDue(now()) }), err
}

// startSchedule starts the execution of a schedule that is due, or saves why it cannot start. Of several processes
// that try, one starts it.
func (t *Tenant) startSchedule(ctx context.Context, due *model.AgentTestSchedule) error {
	err := t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		// Every transaction locks an agent before the schedules that wait for changes of its prompt.
		if due.AgentID != nil {
			if _, err := t.lockAgent(ctx, *due.AgentID, forShare); err != nil {
				return err
			}
		}
		schedule, err := t.lockDue(ctx, due)
		if err != nil || schedule == nil {
			return err
		}
		in := schedule.Execution()
		if in.TestIds, err = t.testsLeft(ctx, in.TestIds); err != nil {
			return err
		}
		execution := in.NewExecution()
		execution.ScheduleID, execution.ScheduledFor = &schedule.ID, schedule.NextRunAt
		if err := t.startExecution(ctx, execution, in); err != nil {
			return err
		}
		schedule.Started(execution.ID, now())
		return t.saveStart(ctx, schedule)
	})
	var known *model.Error
	if errors.As(err, &known) && slices.Contains(permanentCodes, known.Code) {
		return t.inTx(ctx, func(ctx context.Context, t tenantTx) error { return t.failSchedule(ctx, due, known) })
	}
	if err != nil {
		return fmt.Errorf("start the due execution of schedule %s of company %s: %w", due.ID, t.CompanyID(), err)
	}
	return nil
}

// lockDue locks and returns the schedule. It returns nil when another process has locked it, or when its due time has
// changed.
func (t tenantTx) lockDue(ctx context.Context, due *model.AgentTestSchedule) (*model.AgentTestSchedule, error) {
	schedules := []*model.AgentTestSchedule{}
	err := t.db.Select(&schedules).Where("id = ?", due.ID).Where("next_run_at = ?", due.NextRunAt).
		For(string(forUpdate + " SKIP LOCKED")).Scan(ctx)
	if err != nil || len(schedules) == 0 || !schedules[0].IsDue(now()) {
		return nil, err
	}
	return schedules[0], nil
}

// testsLeft returns the ids of the tests that still exist, in the given order. nil stays nil. It returns NOT_FOUND when
// no test is left.
func (t *Tenant) testsLeft(ctx context.Context, ids []string) ([]string, error) {
	if ids == nil {
		return nil, nil
	}
	there := []string{}
	if err := t.db.Select((*model.AgentTestRow)(nil)).Column("id").Where("id IN (?)", bun.List(ids)).
		Scan(ctx, &there); err != nil {
		return nil, err
	}
	if len(there) == 0 {
		return nil, model.Errorf(model.NotFound, "all of its tests were deleted")
	}
	left := model.MapOf(there, func(id string) (string, bool) { return id, true })
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !left[id] }), nil
}

// failSchedule saves why a schedule could not start, and notifies webhooks. It disables the schedule if its tests,
// their folder or their agent were deleted.
func (t tenantTx) failSchedule(ctx context.Context, due *model.AgentTestSchedule, reason *model.Error) error {
	schedule, err := t.lockDue(ctx, due)
	if err != nil || schedule == nil {
		return err
	}
	schedule.Failed(reason, now())
	if reason.Code == model.NotFound {
		schedule.Disable(reason.Error(), now())
	}
	if err := t.saveStart(ctx, schedule); err != nil {
		return err
	}
	const event = model.WebhookEventAgentTestScheduleFailed
	webhooks, err := t.lockListeners(ctx, event)
	if err != nil {
		return err
	}
	return t.enqueueEvent(ctx, webhooks[event], event, nil, schedule.Failure())
}

// saveStart writes the result of the attempt to start the schedule.
func (t *Tenant) saveStart(ctx context.Context, s *model.AgentTestSchedule) error {
	return exec(ctx, t.db.Update(s).Column("is_enabled", "disabled_reason", "cron_at", "next_run_at", "last_run_at",
		"last_execution_id", "last_error", "last_failed_at", "updated_at").
		WherePK())
}
