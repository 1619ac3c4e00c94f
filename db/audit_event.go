package db

import (
	"context"

	"github.com/agentgraph/agentgraph/model"
)

// AuditEventList is the audit events of a company.
var AuditEventList = List{none: (*model.AuditEvent)(nil), order: newestFirst}

// AuditEventsThat narrows a list to the events that pass the filter.
func AuditEventsThat(f *model.AuditEventFilter) Filter {
	if f == nil {
		return nil
	}
	return given(given(given(nil, "action", f.Action), "target_id", f.TargetID), "api_key_id", f.APIKeyID)
}

// AuditEvents returns a page of the audit events that pass the filter, newest first.
func (t *Tenant) AuditEvents(ctx context.Context, args model.PageArgs, filter *model.AuditEventFilter, columns ...string) (*model.Page[*model.AuditEvent], error) {
	return list[*model.AuditEvent](ctx, t, AuditEventList, args, columns, AuditEventsThat(filter))
}

// audit records what the transaction does to the target, and on whose behalf.
func (t tenantTx) audit(ctx context.Context, action model.AuditAction, targetID string) error {
	event := &model.AuditEvent{ID: model.NewID("audit"), Action: action, TargetID: targetID, CreatedAt: now()}
	if principal, isKnown := model.PrincipalOf(ctx); isKnown {
		event.APIKeyID, event.IsAccessToken = &principal.KeyID, principal.IsToken()
		if principal.Address != "" {
			event.Address = &principal.Address
		}
	}
	return insert(ctx, t.Tenant, event)
}

// deletions are the actions of deleting, by the name of the type.
var deletions = map[string]model.AuditAction{
	"agent": model.AuditActionDeleteAgent, "tool": model.AuditActionDeleteTool, "sub-agent": model.AuditActionDeleteSubAgent,
	"knowledge base chat": model.AuditActionDeleteKnowledgeBaseChat, dataset: model.AuditActionDeleteDataset,
	document: model.AuditActionDeleteDocument, agentTest: model.AuditActionDeleteAgentTest,
	agentTestFolder: model.AuditActionDeleteAgentTestFolder, campaignItem: model.AuditActionDeleteCampaignItem,
}
