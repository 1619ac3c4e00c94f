package db

import (
	"context"
	"slices"

	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

type listeners map[model.WebhookEvent][]string

// lockListeners returns the webhooks that listen to the events, and locks them against deletion until the end of the
// transaction. Usually there are none, and this statement is the whole cost of an event.
func (t tenantTx) lockListeners(ctx context.Context, events ...model.WebhookEvent) (listeners, error) {
	webhooks := []*model.Webhook{}
	if err := t.db.Select(&webhooks).Column("id", "events").Where("is_enabled").
		Where("jsonb_exists_any(events, ?::text[])", pgdialect.Array(events)).Order("id").For(string(forReference)).
		Scan(ctx); err != nil {
		return nil, err
	}
	found := listeners{}
	for _, w := range webhooks {
		for _, event := range events {
			if slices.Contains(w.Events, event) {
				found[event] = append(found[event], w.ID)
			}
		}
	}
	return found, nil
}

// enqueueEvent writes the message of an event for each of the webhooks. If occasion is not nil, each webhook gets at
// most one message with that occasion.
func (t tenantTx) enqueueEvent(ctx context.Context, webhookIDs []string, event model.WebhookEvent, occasion *string,
	data any) error {
	if len(webhookIDs) == 0 {
		return nil
	}
	deliveries, err := model.NewDeliveries(webhookIDs, event, occasion, data, now())
	if err != nil {
		return err
	}
	for _, d := range deliveries {
		d.OwnBy(t.CompanyID())
	}
	return exec(ctx, t.db.NewInsert().Model(&deliveries).On("CONFLICT (company_id, webhook_id, occasion) DO NOTHING").
		Returning("NULL"))
}

// enqueueExecutionEvents writes messages about the finished executions. The transaction has already written the final
// states of their runs.
func (t tenantTx) enqueueExecutionEvents(ctx context.Context, executions []*model.AgentTestExecution) error {
	finished := slices.DeleteFunc(slices.Clone(executions),
		func(e *model.AgentTestExecution) bool { return !e.IsFinished() })
	if len(finished) == 0 {
		return nil
	}
	if err := t.enqueueBlameSteps(ctx, finished); err != nil {
		return err
	}
	webhooks, err := t.lockListeners(ctx, model.WebhookEventAgentTestExecutionEnded, model.WebhookEventAgentTestsTurnedRed)
	if err != nil || len(webhooks) == 0 {
		return err
	}
	for _, execution := range finished {
		if err := t.enqueueExecutionEvent(ctx, webhooks, execution); err != nil {
			return err
		}
	}
	return nil
}

func (t tenantTx) enqueueExecutionEvent(ctx context.Context, webhooks listeners,
	execution *model.AgentTestExecution) error {
	tallies, err := t.TalliesOfExecutions(ctx, []string{execution.ID})
	if err != nil {
		return err
	}
	var agentName *string
	if execution.AgentID != nil {
		agents, err := t.AgentsByID(ctx, []string{*execution.AgentID}, "name")
		if err != nil {
			return err
		}
		for _, agent := range agents {
			agentName = &agent.Name
		}
	}
	if webhookIDs := webhooks[model.WebhookEventAgentTestExecutionEnded]; len(webhookIDs) > 0 {
		ended := execution.Ended(agentName, tallies[execution.ID])
		if err := t.addSchedule(ctx, &ended, execution.ScheduleID); err != nil {
			return err
		}
		if err := t.enqueueEvent(ctx, webhookIDs, model.WebhookEventAgentTestExecutionEnded, nil, ended); err != nil {
			return err
		}
	}
	webhookIDs := webhooks[model.WebhookEventAgentTestsTurnedRed]
	if len(webhookIDs) == 0 || execution.IsDraft || execution.RejudgeOfID != nil {
		return nil
	}
	tests, err := t.newlyFailing(ctx, execution, model.FailedTests(tallies[execution.ID]))
	if err != nil || len(tests) == 0 {
		return err
	}
	return t.enqueueEvent(ctx, webhookIDs, model.WebhookEventAgentTestsTurnedRed, nil,
		model.TestsStartedFailing{ExecutionID: execution.ID, AgentID: execution.AgentID, AgentName: agentName, Tests: tests})
}

// addSchedule adds the schedule that started an execution, and the comparison with the schedule's baseline.
func (t *Tenant) addSchedule(ctx context.Context, ended *model.ExecutionEnded, id *string) error {
	if id == nil {
		return nil
	}
	schedule, err := t.AgentTestSchedule(ctx, *id)
	if pg.IsMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	ended.Schedule = &model.EndedSchedule{ID: schedule.ID, Name: schedule.Name}
	if schedule.BaselineID == nil {
		return nil
	}
	c, err := t.CompareAgentTestExecutions(ctx, []string{*schedule.BaselineID}, ended.ExecutionID,
		model.ComparedVariants{}, model.AgentTestCorrectionHolm)
	if pg.IsMissing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	ended.Comparison = &model.EndedComparison{BaselineID: c.Base.ID, Conclusion: c.Conclusion,
		NewlyFailing: c.NewlyFailing, NewlyPassing: c.NewlyPassing}
	return nil
}

// newlyFailing returns the failed tests of the execution that passed before. A test passed if none of its runs failed
// in the newest earlier execution that judged it.
func (t *Tenant) newlyFailing(ctx context.Context, execution *model.AgentTestExecution,
	failed []model.EventTest) ([]model.EventTest, error) {
	if len(failed) == 0 {
		return nil, nil
	}
	ids := model.Map(failed, func(test model.EventTest) string { return test.ID })
	before := t.db.Select((*model.AgentTestRun)(nil)).ColumnExpr("?TableAlias.execution_id, ?TableAlias.created_at").
		Where("?TableAlias.test_id = parent.id").Where(countsInHistory).Where("?TableAlias.created_at < ?",
		execution.CreatedAt).
		Where("?TableAlias.status = ANY (?::text[])", pgdialect.Array(judgedStatuses)).
		OrderExpr("?TableAlias.created_at DESC, ?TableAlias.id DESC").Limit(1)
	passed := []string{}
	// All runs of an execution have the same time of creation. So the index on that time finds them.
	err := t.db.Select((*model.AgentTestRun)(nil)).ColumnExpr("parent.id").
		Join("JOIN unnest(?::text[]) AS parent (id) ON parent.id = ?TableAlias.test_id", pgdialect.Array(ids)).
		Join("JOIN LATERAL (?) AS before ON before.execution_id = ?TableAlias.execution_id AND before.created_at = "+
			"?TableAlias.created_at", before).
		GroupExpr("parent.id").Having("NOT bool_or(?TableAlias.status = ?)", model.AgentTestRunStatusFailed).
		Scan(ctx, &passed)
	hasPassed := model.MapOf(passed, func(id string) (string, bool) { return id, true })
	return slices.DeleteFunc(failed, func(test model.EventTest) bool { return !hasPassed[test.ID] }), err
}

func (t tenantTx) enqueueDocumentEvent(ctx context.Context, d *model.Document) error {
	event := model.WebhookEventDocumentReady
	if d.Status == model.DocumentStatusFailed {
		event = model.WebhookEventDocumentFailed
	}
	webhooks, err := t.lockListeners(ctx, event)
	if err != nil {
		return err
	}
	return t.enqueueEvent(ctx, webhooks[event], event, nil, d.Indexed())
}

// enqueueBudgetEvent writes one message when the month's budget is nearly used up, and one when it is used up.
func (t *Tenant) enqueueBudgetEvent(ctx context.Context, s *model.CompanySubscription) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		const event = model.WebhookEventBudgetWarned
		webhooks, err := t.lockListeners(ctx, event)
		if err != nil {
			return err
		}
		warned := s.Warned()
		occasion := warned.Occasion()
		return t.enqueueEvent(ctx, webhooks[event], event, &occasion, warned)
	})
}
