package db_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func versionsOf(t *testing.T, tenant *db.Tenant, agentID string) []*model.PromptVersion {
	t.Helper()
	versions, err := dbtest.Pages[*model.PromptVersion](t.Context(), tenant, db.PromptVersionsOfAgents, nil,
		[]string{agentID}, model.PageArgs{First: 100})
	require.NoError(t, err)
	return versions
}

func TestConcurrentPromptsAreNumberedWithoutGaps(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent := newAgent(t, tenant)
	require.Empty(t, together(20, func(i int) error {
		_, err := tenant.UpdateAgentPrompt(t.Context(), model.UpdateAgentPromptInput{AgentID: agent.ID,
			Prompt: fmt.Sprint("Prompt ", i)})
		return err
	}))
	versions := versionsOf(t, tenant, agent.ID)
	require.Len(t, versions, 21)
	prompts := map[string]bool{}
	for i, v := range versions {
		require.EqualValues(t, 21-i, v.Version)
		prompts[v.Prompt] = true
	}
	require.Len(t, prompts, 21)
	read, err := tenant.Agent(t.Context(), agent.ID)
	require.NoError(t, err)
	require.EqualValues(t, 21, read.PromptVersion)
	require.Equal(t, versions[0].Prompt, read.Prompt)
}

func TestPromptVersionsAreNumberedAndRestored(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	key, _, err := tenant.CreateAPIKey(ctx,
		model.CreateAPIKeyInput{Name: "Key", Scopes: []model.APIKeyScope{model.APIKeyScopeWrite}})
	require.NoError(t, err)
	agent := newAgent(t, tenant)
	update := func(tenant *db.Tenant, prompt string) *model.Agent {
		agent, err := tenant.UpdateAgentPrompt(ctx, model.UpdateAgentPromptInput{AgentID: agent.ID, Prompt: prompt})
		require.NoError(t, err)
		return agent
	}
	require.EqualValues(t, 1, update(tenant, agent.Prompt).PromptVersion, "the same prompt is no new version")
	require.EqualValues(t, 2, update(tenant.WithAPIKey(key.ID), "Second.").PromptVersion)
	_, err = tenant.UpdateAgent(ctx, model.UpdateAgentInput{AgentID: agent.ID, Name: new("Other")})
	require.NoError(t, err)
	restored, err := tenant.WithAPIKey(key.ID).
		RestoreAgentPrompt(ctx, model.RestoreAgentPromptInput{AgentID: agent.ID, Version: 1})
	require.NoError(t, err)
	require.Equal(t, agent.Prompt, restored.Prompt)
	require.EqualValues(t, 3, restored.PromptVersion)
	for _, version := range []int32{0, -1, 4} {
		_, err = tenant.RestoreAgentPrompt(ctx, model.RestoreAgentPromptInput{AgentID: agent.ID, Version: version})
		fails(t, err, model.NotFound)
	}
	versions := versionsOf(t, tenant, agent.ID)
	require.Len(t, versions, 3)
	require.Equal(t, []string{agent.Prompt, "Second.", agent.Prompt}, []string{versions[0].Prompt, versions[1].Prompt,
		versions[2].Prompt})
	require.Equal(t, &key.ID, versions[0].APIKeyID)
	require.Equal(t, &key.ID, versions[1].APIKeyID)
	require.Nil(t, versions[2].APIKeyID)
	require.True(t, versions[0].CreatedAt.Equal(restored.UpdatedAt))

	// A version still names its API key after the key was revoked.
	_, err = tenant.RevokeAPIKey(ctx, key.ID)
	require.NoError(t, err)
	same(t, versions, versionsOf(t, tenant, agent.ID))
}

func TestPromptLengthIsBounded(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	agent := newAgent(t, tenant)
	update := func(prompt string) error {
		_, err := tenant.UpdateAgentPrompt(t.Context(), model.UpdateAgentPromptInput{AgentID: agent.ID, Prompt: prompt})
		return err
	}
	faults(t, update(""), model.BadInput, "prompt", "must not be empty")
	faults(t, update(strings.Repeat("é", 50_001)), model.BadInput, "prompt", "1 to 50000 characters")
	require.NoError(t, update(strings.Repeat("é", 50_000)))
	require.NoError(t, update("x"))
	require.Len(t, versionsOf(t, tenant, agent.ID), 3)
}

// Of several changes that are based on the same version of a prompt, one succeeds and the others fail with CONFLICT.
func TestStaleChangesAreRefused(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	agent := newAgent(t, tenant)
	failures := together(20, func(i int) error {
		_, err := tenant.UpdateAgentPrompt(ctx, model.UpdateAgentPromptInput{AgentID: agent.ID,
			Prompt: fmt.Sprint("Prompt ", i), ExpectedVersion: new(int32(1))})
		return err
	})
	require.Len(t, failures, 19)
	for _, err := range failures {
		require.Contains(t, fails(t, err, model.Conflict), "it has version 2, not 1")
	}
	faults(t, failures[0], model.Conflict, "expectedVersion", "must be the current version")
	require.Len(t, versionsOf(t, tenant, agent.ID), 2)
	_, err := tenant.RestoreAgentPrompt(ctx, model.RestoreAgentPromptInput{AgentID: agent.ID, Version: 1,
		ExpectedVersion: new(int32(1))})
	fails(t, err, model.Conflict)
	for _, none := range []*int32{new(int32(-1)), new(int32(0))} {
		_, err = tenant.UpdateAgent(ctx, model.UpdateAgentInput{AgentID: agent.ID, ExpectedVersion: none})
		faults(t, err, model.BadInput, "expectedVersion", "must be at least 1")
		_, err = tenant.UpdateAgentPrompt(ctx, model.UpdateAgentPromptInput{AgentID: agent.ID, Prompt: "a",
			ExpectedVersion: none})
		faults(t, err, model.BadInput, "expectedVersion", "must be at least 1")
		_, err = tenant.EditAgentPrompt(ctx, model.EditAgentPromptInput{AgentID: agent.ID,
			Edits: edited("a", "b"), ExpectedVersion: none})
		faults(t, err, model.BadInput, "expectedVersion", "must be at least 1")
		_, err = tenant.RestoreAgentPrompt(ctx, model.RestoreAgentPromptInput{AgentID: agent.ID, Version: 1,
			ExpectedVersion: none})
		faults(t, err, model.BadInput, "expectedVersion", "must be at least 1")
	}

	agent, err = tenant.Agent(ctx, agent.ID)
	require.NoError(t, err)
	seen := agent.UpdatedAt.Truncate(time.Millisecond) // in the precision of the API
	failures = together(20, func(i int) error {
		_, err := tenant.UpdateAgent(ctx, model.UpdateAgentInput{AgentID: agent.ID, Name: new(fmt.Sprint("Name ", i)),
			ExpectedUpdatedAt: &seen})
		return err
	})
	require.Len(t, failures, 19)
	for _, err := range failures {
		require.Contains(t, fails(t, err, model.Conflict), "was changed by someone else at 2")
	}
	_, err = tenant.UpdateAgent(ctx, model.UpdateAgentInput{AgentID: agent.ID, Name: new("Last"),
		ExpectedVersion: new(int32(2))})
	require.NoError(t, err)
}
