package db

import (
	"context"
	"iter"
	"time"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

// AuditEventList is the audit events of a company.
var AuditEventList = pg.List{Model: (*model.AuditEvent)(nil), Order: pg.NewestFirst}

// AuditEventsMatching narrows a list to the events that pass the filter.
func AuditEventsMatching(f *model.AuditEventFilter) pg.Filter {
	if f == nil {
		return nil
	}
	return pg.Equal(pg.Equal(pg.Equal(nil, "action", f.Action), "target_id", f.TargetID), "api_key_id", f.APIKeyID)
}

// AuditEvents returns a page of the audit events that pass the filter, newest first.
func (t *Tenant) AuditEvents(ctx context.Context, args model.PageArgs, filter *model.AuditEventFilter,
	columns ...string) (*model.Page[*model.AuditEvent], error) {
	return pg.Page[*model.AuditEvent](ctx, t.db, AuditEventList, args, columns, AuditEventsMatching(filter))
}

// eventsPerRead bounds the events that an export holds in memory.
const eventsPerRead = 1_000

// AuditLog reads the audit events with from <= CreatedAt < end. It reads them oldest first, in parts. Events that are
// recorded during the read may be missing.
func (t *Tenant) AuditLog(ctx context.Context, from, end time.Time) iter.Seq2[*model.AuditEvent, error] {
	return inParts(&model.AuditEvent{CreatedAt: from}, eventsPerRead,
		func(after *model.AuditEvent) ([]*model.AuditEvent, error) {
			events := []*model.AuditEvent{}
			return events, t.db.Select(&events).Where("(created_at, id) > (?, ?)", after.CreatedAt, after.ID).
				Where("created_at < ?", end).Order("created_at", "id").Limit(eventsPerRead).Scan(ctx)
		})
}

// inParts yields all rows that read returns: each call returns the next rows after the given one, and fewer than limit
// at the end. The first call gets begin. If reading fails, the last pair is an error.
func inParts[R any](begin *R, limit int, read func(after *R) ([]*R, error)) iter.Seq2[*R, error] {
	return func(yield func(*R, error) bool) {
		for after := begin; ; {
			rows, err := read(after)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, after = range rows {
				if !yield(after, nil) {
					return
				}
			}
			if len(rows) < limit {
				return
			}
		}
	}
}

// forgetAuditEvents removes events that are past their retention.
func (s *Store) forgetAuditEvents(ctx context.Context) error {
	if s.auditRetention == 0 {
		return nil
	}
	return s.deleteOldest(ctx, (*model.AuditEvent)(nil), "created_at", now().Add(-s.auditRetention))
}

// audit records the action of the transaction on each target, and the principal.
func (t tenantTx) audit(ctx context.Context, action model.AuditAction, targetIDs ...string) error {
	events := make([]*model.AuditEvent, len(targetIDs))
	for i, targetID := range targetIDs {
		event := &model.AuditEvent{ID: model.NewID("audit"), Action: action, TargetID: targetID, CreatedAt: now()}
		if principal, isKnown := model.PrincipalOf(ctx); isKnown {
			event.APIKeyID, event.IsAccessToken = &principal.KeyID, principal.IsToken()
			if principal.Address != "" {
				event.Address = &principal.Address
			}
		}
		events[i] = event
	}
	return pg.Insert(ctx, t.db, events...)
}

// deletions maps the name of each type to the audit action of deleting it.
var deletions = map[string]model.AuditAction{
	"agent": model.AuditActionDeleteAgent, "tool": model.AuditActionDeleteTool,
	"sub-agent":           model.AuditActionDeleteSubAgent,
	"knowledge base chat": model.AuditActionDeleteKnowledgeBaseChat, dataset: model.AuditActionDeleteDataset,
	document: model.AuditActionDeleteDocument, agentTest: model.AuditActionDeleteAgentTest,
	agentTestFolder: model.AuditActionDeleteAgentTestFolder, campaignItem: model.AuditActionDeleteCampaignItem,
	typeCampaign: model.AuditActionDeleteCampaign, simulationChat: model.AuditActionDeleteSimulationChat,
	agentTestExecution: model.AuditActionDeleteAgentTestExecution, webhook: model.AuditActionDeleteWebhook,
	agentTestSchedule: model.AuditActionDeleteAgentTestSchedule, mcpServer: model.AuditActionDeleteMcpServer,
}
