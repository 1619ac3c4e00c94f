package db

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

const agentTestSchedule = "agent test schedule"

// Lists of a company's test schedules: by their ids, and in pages.
var (
	AgentTestScheduleRows = pg.Rows{Type: agentTestSchedule, Model: (*model.AgentTestSchedule)(nil), Key: pg.ByID}
	AgentTestScheduleList = pg.List{Model: (*model.AgentTestSchedule)(nil), Order: pg.NewestFirst}
)

// AgentTestSchedule returns one schedule, or NOT_FOUND.
func (t *Tenant) AgentTestSchedule(ctx context.Context, id string) (*model.AgentTestSchedule, error) {
	schedule := &model.AgentTestSchedule{}
	return schedule, t.db.One(ctx, agentTestSchedule, id, schedule)
}

// AgentTestSchedules returns a page of the schedules, newest first. If agentID is set, it returns only schedules of
// this agent's tests, or NOT_FOUND if there is no such agent.
func (t *Tenant) AgentTestSchedules(
	ctx context.Context, args model.PageArgs, agentID *string, columns ...string,
) (*model.Page[*model.AgentTestSchedule], error) {
	if err := t.db.Exists(ctx, "agent", agentID, (*model.Agent)(nil)); err != nil {
		return nil, err
	}
	return pg.Page[*model.AgentTestSchedule](ctx, t.db, AgentTestScheduleList, args, columns, WhereAgent(agentID))
}

// CreateAgentTestSchedule makes a schedule. It returns NOT_FOUND when a test, the folder, the agent or the baseline
// does not exist. It returns UNPROCESSABLE when the company has model.MaxSchedules schedules, or when the schedule
// depends on a prompt and does not have exactly one agent. UNPROCESSABLE is also returned when the baseline is
// unfinished or used a draft, or when an execution would have too many runs.
func (t *Tenant) CreateAgentTestSchedule(ctx context.Context,
	in model.CreateAgentTestScheduleInput) (*model.AgentTestSchedule, error) {
	schedule, err := model.NewAgentTestSchedule(in, now())
	if err != nil {
		return nil, err
	}
	return schedule, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := t.resolveSchedule(ctx, schedule); err != nil {
			return err
		}
		if err := t.checkRowLimit(ctx, (*model.AgentTestSchedule)(nil), model.MaxSchedules,
			"test schedules"); err != nil {
			return err
		}
		if err := pg.Insert(ctx, t.db, schedule); err != nil {
			return err
		}
		return t.audit(ctx, model.AuditActionCreateAgentTestSchedule, schedule.ID)
	})
}

// UpdateAgentTestSchedule changes the fields that the input sets. It returns the errors of CreateAgentTestSchedule,
// except the one for too many schedules, and NOT_FOUND if the schedule does not exist.
func (t *Tenant) UpdateAgentTestSchedule(ctx context.Context,
	in model.UpdateAgentTestScheduleInput) (*model.AgentTestSchedule, error) {
	schedule := &model.AgentTestSchedule{}
	return schedule, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		// Every transaction locks the agent and the folder of a schedule before the schedule.
		if err := t.db.One(ctx, agentTestSchedule, in.ScheduleID, schedule); err != nil {
			return err
		}
		if err := schedule.Update(in, now()); err != nil {
			return err
		}
		if schedule.IsEnabled || in.Retargets() || in.BaselineID != nil {
			if err := t.resolveUpdate(ctx, schedule, in); err != nil {
				return err
			}
		}
		agentID := schedule.AgentID
		*schedule = model.AgentTestSchedule{}
		if err := t.lock(ctx, agentTestSchedule, in.ScheduleID, schedule, forUpdate); err != nil {
			return err
		}
		if err := schedule.Update(in, now()); err != nil {
			return err
		}
		if in.Retargets() || schedule.AgentID == nil {
			schedule.AgentID = agentID
		}
		if _, err := t.db.Update(schedule).WherePK().Exec(ctx); err != nil {
			return err
		}
		return t.audit(ctx, model.AuditActionUpdateAgentTestSchedule, schedule.ID)
	})
}

// resolveUpdate is resolveSchedule for a changed schedule. It does not check what the input leaves unchanged and may
// have been deleted since: it leaves out deleted tests, and an unchanged baseline.
func (t tenantTx) resolveUpdate(ctx context.Context, s *model.AgentTestSchedule,
	in model.UpdateAgentTestScheduleInput) (err error) {
	if in.BaselineID == nil {
		s.BaselineID = nil
	}
	if !in.Retargets() {
		if s.TestIds, err = t.testsLeft(ctx, s.TestIds); err != nil {
			return err
		}
	}
	return t.resolveSchedule(ctx, s)
}

// DeleteAgentTestSchedule deletes a schedule. The executions that it started stay.
func (t *Tenant) DeleteAgentTestSchedule(ctx context.Context, id string) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		return t.delete(ctx, agentTestSchedule, id, (*model.AgentTestSchedule)(nil))
	})
}

// resolveSchedule looks up the tests of a schedule and their agent. It locks the agent and the folder against deletion,
// but not the tests.
func (t tenantTx) resolveSchedule(ctx context.Context, s *model.AgentTestSchedule) error {
	var faults model.Fields
	if s.BaselineID != nil {
		baseline, err := t.AgentTestExecution(ctx, *s.BaselineID)
		if err != nil {
			return err
		}
		if !baseline.IsFinished() {
			faults.Add("baselineId", "names an execution that is not finished")
		}
		if baseline.IsDraft {
			faults.Add("baselineId", "names an execution that used an unsaved draft of the prompt")
		}
	}
	switch {
	case s.TestIds != nil:
		tests := []*model.AgentTestRow{}
		if err := t.db.Select(&tests).Column("id", "agent_id").Where("id IN (?)", bun.List(s.TestIds)).Scan(ctx); err != nil {
			return err
		}
		s.AgentID = nil
		if _, err := inOrder(agentTest, s.TestIds, tests); err != nil {
			return err
		}
		if !slices.ContainsFunc(tests, func(test *model.AgentTestRow) bool { return test.AgentID != tests[0].AgentID }) {
			s.AgentID = &tests[0].AgentID
		}
	case s.FolderID != nil:
		folder := &model.AgentTestFolder{}
		if err := t.db.One(ctx, agentTestFolder, *s.FolderID, folder); err != nil {
			return err
		}
		s.AgentID = &folder.AgentID
	}
	if s.AgentID != nil {
		if _, err := t.lockAgent(ctx, *s.AgentID, forShare); err != nil {
			return err
		}
	}
	if s.FolderID != nil {
		if err := t.lock(ctx, agentTestFolder, *s.FolderID, &model.AgentTestFolder{}, forShare); err != nil {
			return err
		}
	}
	if s.AfterPromptChange && s.AgentID == nil {
		faults.Add("afterPromptChange", "can be given only if all tests belong to one agent")
	}
	if s.IsEnabled {
		if err := t.countScheduledRuns(ctx, s, &faults); err != nil {
			return err
		}
	}
	return faults.As(model.Unprocessable)
}

// countScheduledRuns records a fault when the schedule's current tests make more runs than an execution may have.
// Folders and agents without tests are not faults: tests may be added before the schedule is due.
func (t *Tenant) countScheduledRuns(ctx context.Context, s *model.AgentTestSchedule, faults *model.Fields) error {
	path, in, runs := "testIds", s.Execution(), 0
	q := t.db.Select((*model.AgentTestRow)(nil)).ColumnExpr("coalesce(sum(greatest(json_array_length(?TableAlias.rows), " +
		"1)), 0)")
	switch {
	case in.TestIds != nil:
		q = q.Where("?TableAlias.id IN (?)", bun.List(in.TestIds))
	case in.FolderID != nil:
		path, q = "folderId", q.Where("?TableAlias.folder_id = ?", *in.FolderID)
	default:
		path, q = "agentId", q.Where("?TableAlias.agent_id = ?", *in.AgentID)
	}
	if err := q.Scan(ctx, &runs); err != nil {
		return err
	}
	if runs *= int(in.Repeats); runs > model.MaxRuns {
		faults.Add(path, "has tests, rows and repeats that make %d runs, but an execution has at most %d", runs,
			model.MaxRuns)
	}
	return nil
}

// runAfterPrompt sets the due time of the schedules that run after changes of the agent's prompt. They are due when the
// prompt has not changed for model.PromptPause, or at their next regular time if that is earlier.
func (t tenantTx) runAfterPrompt(ctx context.Context, agent *model.Agent) error {
	_, err := t.db.Update((*model.AgentTestSchedule)(nil)).Set("next_run_at = least(cron_at, ?::timestamptz)", now().
		Add(model.PromptPause)).
		Where("agent_id = ?", agent.ID).Where("after_prompt_change").Where("is_enabled").Exec(ctx)
	return err
}

// disableSchedules disables the schedules of an agent or a folder that is deleted.
func (t tenantTx) disableSchedules(ctx context.Context, reason string, which pg.Selection) error {
	schedules, err := t.lockEnabledSchedules(ctx, which)
	if err != nil {
		return err
	}
	for _, s := range schedules {
		if err := t.disableSchedule(ctx, s, reason); err != nil {
			return err
		}
	}
	return nil
}

func (t tenantTx) lockEnabledSchedules(ctx context.Context, which pg.Selection) ([]*model.AgentTestSchedule, error) {
	schedules := []*model.AgentTestSchedule{}
	return schedules, t.db.Select(&schedules).Apply(which).Where("is_enabled").Order("id").For(string(forUpdate)).Scan(ctx)
}

func (t tenantTx) disableSchedule(ctx context.Context, s *model.AgentTestSchedule, reason string) error {
	s.Disable(reason, now())
	return exec(ctx, t.db.Update(s).Column("is_enabled", "disabled_reason", "cron_at", "next_run_at", "updated_at").
		WherePK())
}
