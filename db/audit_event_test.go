package db_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// A change and its audit event are written together or not at all.
func TestChangesAreAudited(t *testing.T) {
	t.Parallel()
	tenant, companyID := newCompany(t, dbtest.New(t))
	key, _, err := tenant.CreateAPIKey(t.Context(),
		model.CreateAPIKeyInput{Name: "A key", Scopes: []model.APIKeyScope{model.APIKeyScopeAdmin}})
	require.NoError(t, err)
	by := func(isToken bool) context.Context {
		principal := model.Principal{CompanyID: companyID, KeyID: key.ID, Address: "203.0.113.7"}
		if isToken {
			principal.TokenHash = []byte{1}
		}
		return model.WithPrincipal(t.Context(), principal)
	}
	agent, err := tenant.CreateAgent(by(false), model.CreateAgentInput{Name: "Agent", Channel: model.ChannelWeb,
		Direction: model.DirectionInbound, Language: "en", Prompt: "One"})
	require.NoError(t, err)
	_, err = tenant.UpdateAgentPrompt(by(true), model.UpdateAgentPromptInput{AgentID: agent.ID, Prompt: "Two"})
	require.NoError(t, err)
	_, err = tenant.UpdateAgent(by(false), model.UpdateAgentInput{AgentID: agent.ID, Name: new("Other")})
	require.NoError(t, err)
	_, err = tenant.UpdateAgentPrompt(by(true), model.UpdateAgentPromptInput{AgentID: agent.ID, Prompt: ""})
	require.Error(t, err, "a refused change is not recorded")
	chat, err := tenant.CreateKnowledgeBaseChat(by(false), model.CreateKnowledgeBaseChatInput{Name: "Help"})
	require.NoError(t, err)
	for range 2 { // the second time changes nothing
		_, err = tenant.ConnectKnowledgeBaseChat(by(false), model.ConnectKnowledgeBaseChatInput{AgentID: agent.ID,
			ChatID: chat.ID})
		require.NoError(t, err)
	}
	require.NoError(t, tenant.SetPlan(by(false), model.SetPlanInput{Name: "Plan", CreditsIncluded: 1}))
	require.NoError(t, tenant.DeleteAgent(by(false), agent.ID))
	_, err = tenant.RevokeAPIKey(by(false), key.ID)
	require.NoError(t, err)
	_, err = tenant.RevokeAPIKey(by(false), key.ID)
	require.NoError(t, err, "revoking it again changes nothing")

	read := func(filter *model.AuditEventFilter) (actions []model.AuditAction, events []*model.AuditEvent) {
		page, err := tenant.AuditEvents(t.Context(), model.PageArgs{First: 50}, filter)
		require.NoError(t, err)
		for _, event := range page.Nodes {
			actions = append(actions, event.Action)
		}
		return actions, page.Nodes
	}
	actions, events := read(nil)
	require.Equal(t, []model.AuditAction{
		model.AuditActionRevokeAPIKey, model.AuditActionDeleteAgent, model.AuditActionChangePlan,
		model.AuditActionUpdateAgent, model.AuditActionUpdateAgent,
		model.AuditActionUpdatePrompt, model.AuditActionCreateAgent, model.AuditActionCreateAPIKey,
	}, actions)
	made, prompt := events[7], events[5]
	require.Nil(t, made.APIKeyID, "made without an API key")
	require.Nil(t, made.Address)
	require.Equal(t, key.ID, *prompt.APIKeyID)
	require.True(t, prompt.IsAccessToken)
	require.Equal(t, "203.0.113.7", *prompt.Address)
	require.Equal(t, agent.ID, prompt.TargetID)

	actions, _ = read(&model.AuditEventFilter{TargetID: &agent.ID, APIKeyID: &key.ID,
		Action: new(model.AuditActionDeleteAgent)})
	require.Equal(t, []model.AuditAction{model.AuditActionDeleteAgent}, actions)
}

func TestRolledBackChangesAreNotAudited(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, companyID := newCompany(t, store)
	agent := newAgent(t, tenant)
	changed := errors.New("changed my mind")
	err := store.Tx(t.Context(), func(ctx context.Context, tx *db.Tx) error {
		require.NoError(t, tx.Tenant(companyID).DeleteAgent(ctx, agent.ID))
		return changed
	})
	require.ErrorIs(t, err, changed)
	page, err := tenant.AuditEvents(t.Context(), model.PageArgs{First: 50}, nil)
	require.NoError(t, err)
	require.Len(t, page.Nodes, 1, "only the creation is recorded")
}

func TestAuditLogIsReadInOrder(t *testing.T) {
	t.Parallel()
	store, conn := fresh(t)
	tenant, companyID := newCompany(t, store)
	other, _ := newCompany(t, store)
	newAgent(t, other)
	day := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	// There are more events than one part has, and many have the same time.
	_, err := conn.Exec(t.Context(),
		`INSERT INTO audit_events (company_id, id, action, target_id, is_access_token, created_at)
		SELECT $1, format('audit_%s', lpad(n::text, 5, '0')), 'CreateAgent', 'agent', false,
			$2::timestamptz + n / 700 * interval '1 hour'
		FROM generate_series(0, 2499) AS n`, companyID, day)
	require.NoError(t, err)
	read := func(from, end time.Time) (ids []string) {
		for event, err := range tenant.AuditLog(t.Context(), from, end) {
			require.NoError(t, err)
			ids = append(ids, event.ID)
		}
		return ids
	}
	all := read(time.Time{}, day.AddDate(0, 0, 1))
	require.Len(t, all, 2500)
	require.IsIncreasing(t, all)
	require.Equal(t, all[700:1400], read(day.Add(time.Hour), day.Add(2*time.Hour)))
	for _, err := range tenant.AuditLog(t.Context(), day, day.AddDate(0, 0, 1)) {
		require.NoError(t, err)
		break // the caller may stop early
	}
}

func TestOldAuditEventsAreDeleted(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t)
	conn := connect(t, address)
	for _, kept := range []time.Duration{0, 48 * time.Hour} {
		store := dbtest.Open(t, address, db.Options{AuditKept: kept})
		tenant, companyID := newCompany(t, store)
		agent := newAgent(t, tenant)
		_, err := conn.Exec(t.Context(),
			`INSERT INTO audit_events (company_id, id, action, target_id, is_access_token, created_at)
			SELECT $1, format('audit_%s', n), 'CreateAgent', 'agent', false, now() - n * interval '1 minute' - interval '2 days'
			FROM generate_series(1, 2300) AS n`, companyID)
		require.NoError(t, err)
		require.NoError(t, db.ForgetAuditEvents(t.Context(), store))
		page, err := tenant.AuditEvents(t.Context(), model.PageArgs{First: 1}, nil)
		require.NoError(t, err)
		require.Equal(t, agent.ID, page.Nodes[0].TargetID)
		var left int
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM audit_events WHERE company_id = $1", companyID).
			Scan(&left))
		if kept == 0 {
			require.Equal(t, 2301, left)
		} else {
			require.Equal(t, 1, left)
		}
	}
}
