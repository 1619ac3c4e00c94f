package db_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

// odd generates texts of characters that are special in Postgres, in its arrays or in JSON.
func odd(least, most int) *rapid.Generator[string] {
	return rapid.StringOfN(rapid.OneOf(
		rapid.RuneFrom([]rune(`'"\,{}[](?$:;%_u0n<>& `)), rapid.RuneFrom([]rune("a\n\té😀\u2028\ufeff\u0001")), rapid.Rune(),
	).Filter(func(r rune) bool { return r != 0 }), least, most, -1)
}

func TestAgentIsStoredUnchanged(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	tenant, _ := newCompany(t, store)
	name := rapid.Map(odd(0, 20), func(s string) string { return "n" + s })
	field := rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_.]{0,9}`)
	rapid.Check(t, func(r *rapid.T) {
		in := model.CreateAgentInput{
			Name: name.Draw(r, "name"), Prompt: odd(0, 50).Draw(r, "prompt") + "p",
			Channel:               rapid.SampledFrom(model.AllChannel).Draw(r, "channel"),
			Direction:             rapid.SampledFrom(model.AllDirection).Draw(r, "direction"),
			Language:              rapid.SampledFrom([]string{"en", "fr-CA"}).Draw(r, "language"),
			Tags:                  rapid.SliceOfNDistinct(name, 0, 4, rapid.ID[string]).Draw(r, "tags"),
			InboundWelcomeMessage: rapid.Ptr(odd(1, 20), true).Draw(r, "welcome"),
		}
		for _, n := range rapid.SliceOfNDistinct(field, 0, 3, rapid.ID[string]).Draw(r, "fields") {
			in.Fields = append(in.Fields, &model.AgentField{Name: n, IsMandatory: rapid.Bool().Draw(r, "mandatory")})
		}
		for _, n := range rapid.SliceOfNDistinct(name, 0, 3, rapid.ID[string]).Draw(r, "values") {
			in.ClassificationTags = append(in.ClassificationTags, &model.ClassificationTag{Name: n, Definition: odd(0, 9).
				Draw(r, "definition")})
			in.ExtractedValues = append(in.ExtractedValues,
				&model.ExtractedValue{Name: n, Type: rapid.SampledFrom(model.AllExtractedValueType).Draw(r, "type")})
		}
		created, err := tenant.CreateAgent(ctxOf(t), in)
		require.NoError(r, err)
		require.Equal(r, in.Name, created.Name)
		read, err := tenant.Agent(ctxOf(t), created.ID)
		require.NoError(r, err)
		same(r, created, read)
		// A value that was read can be written again.
		updated, err := tenant.UpdateAgent(ctxOf(t), model.UpdateAgentInput{AgentID: created.ID, Name: new("Renamed")})
		require.NoError(r, err)
		read, err = tenant.Agent(ctxOf(t), created.ID)
		require.NoError(r, err)
		same(r, updated, read)
		created.Name, created.UpdatedAt = updated.Name, updated.UpdatedAt
		same(r, created, updated)
		if len(in.Tags) > 0 {
			page, err := tenant.Agents(ctxOf(t), model.PageArgs{First: 1}, &model.AgentFilter{Tags: in.Tags})
			require.NoError(r, err)
			require.Equal(r, []string{created.ID}, idsOf(page.Nodes))
		}
	})
}

func TestTextThatLooksEscapedIsStoredUnchanged(t *testing.T) {
	t.Parallel()
	tenant := freshTenant(t)
	in := agentInput()
	in.Tags = []string{`\u0000`, "it''s \"so\"", "(a", "[b", "NULL", `{c}`, `d\`}
	for i, tag := range in.Tags {
		in.ClassificationTags = append(in.ClassificationTags, &model.ClassificationTag{Name: fmt.Sprint(i), Definition: tag})
	}
	created, err := tenant.CreateAgent(t.Context(), in)
	require.NoError(t, err)
	require.Equal(t, in.Tags, created.Tags)
	read, err := tenant.Agent(t.Context(), created.ID)
	require.NoError(t, err)
	same(t, created, read)
	page, err := tenant.Agents(t.Context(), model.PageArgs{First: 1}, &model.AgentFilter{Tags: in.Tags})
	require.NoError(t, err)
	require.Equal(t, []string{created.ID}, idsOf(page.Nodes))
}

func TestAgentsAreFiltered(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	create := func(name string, channel model.Channel, direction model.Direction, tags ...string) string {
		in := agentInput()
		in.Name, in.Channel, in.Direction, in.Tags = name, channel, direction, tags
		agent, err := tenant.CreateAgent(ctx, in)
		require.NoError(t, err)
		return agent.ID
	}
	a := create("100% Élan", model.ChannelWeb, model.DirectionInbound, "x", "y")
	b := create("under_score", model.ChannelSms, model.DirectionOutbound, "y")
	c := create("Plain", model.ChannelWeb, model.DirectionOutbound)
	for _, test := range []struct {
		filter model.AgentFilter
		want   []string
	}{
		{model.AgentFilter{}, []string{c, b, a}},
		{model.AgentFilter{Channel: new(model.ChannelWeb)}, []string{c, a}},
		{model.AgentFilter{Direction: new(model.DirectionOutbound)}, []string{c, b}},
		{model.AgentFilter{Channel: new(model.ChannelWeb), Direction: new(model.DirectionOutbound)}, []string{c}},
		{model.AgentFilter{Tags: []string{"y"}}, []string{b, a}},
		{model.AgentFilter{Tags: []string{"y", "x"}}, []string{a}},
		{model.AgentFilter{Tags: []string{"z"}}, []string{}},
		{model.AgentFilter{NameContains: new("élan")}, []string{a}},
		{model.AgentFilter{NameContains: new("%")}, []string{a}},
		{model.AgentFilter{NameContains: new("_")}, []string{b}},
		{model.AgentFilter{NameContains: new("")}, []string{c, b, a}},
		{model.AgentFilter{NameContains: new("' OR true --")}, []string{}},
	} {
		page, err := tenant.Agents(ctx, model.PageArgs{First: 10}, &test.filter)
		require.NoError(t, err)
		require.Equal(t, test.want, idsOf(page.Nodes), "%+v", test.filter)
		total, err := page.TotalCount(ctx)
		require.NoError(t, err)
		require.Len(t, test.want, int(total))
	}
	_, err := tenant.Agents(ctx, model.PageArgs{First: 10}, &model.AgentFilter{Tags: slices.Repeat([]string{"a"}, 51)})
	faults(t, err, model.BadInput, "filter.tags", "50")
}

func TestUpdateAgentLeavesOmittedFields(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	in := agentInput()
	in.Tags, in.InboundWelcomeMessage, in.IsCallTransferEnabled = []string{"a", "b", "a"}, new("Hello"), true
	agent, err := tenant.CreateAgent(ctx, in)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, agent.Tags)
	updated, err := tenant.UpdateAgent(ctx, model.UpdateAgentInput{AgentID: agent.ID, Language: new("fr")})
	require.NoError(t, err)
	agent.Language, agent.UpdatedAt = "fr", updated.UpdatedAt
	same(t, agent, updated)
	updated, err = tenant.UpdateAgent(ctx, model.UpdateAgentInput{
		AgentID: agent.ID, Tags: []string{}, InboundWelcomeMessage: new(""), IsCallTransferEnabled: new(false),
	})
	require.NoError(t, err)
	require.Empty(t, updated.Tags)
	require.Nil(t, updated.InboundWelcomeMessage, "an empty text removes the welcome message")
	require.False(t, updated.IsCallTransferEnabled)

	// A refused change changes nothing, not even the version of the prompt.
	_, err = tenant.UpdateAgent(ctx, model.UpdateAgentInput{AgentID: agent.ID, Prompt: new("Other"),
		Language: new("french")})
	faults(t, err, model.BadInput, "language", "ISO 639-1")
	read, err := tenant.Agent(ctx, agent.ID)
	require.NoError(t, err)
	same(t, updated, read)
}

func TestDeletedAgentDeletesItsConnections(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, conn := fresh(t)
	own := newFixture(t, store, "OWN")
	other := newAgent(t, own.tenant)
	_, _, err := own.tenant.AddSubAgent(ctx, model.AddSubAgentInput{
		AgentID: other.ID, DelegateAgentID: own.ids["AgentID"], Name: "Back", TechnicalName: "back",
	})
	require.NoError(t, err)
	require.NoError(t, own.tenant.DeleteAgent(ctx, own.ids["AgentID"]))
	fails(t, own.tenant.DeleteAgent(ctx, own.ids["AgentID"]), model.NotFound)
	require.NoError(t, db.Sweep(store)(ctx))
	left := map[string]int{}
	for _, rows := range rowsOf(t, conn) {
		for _, row := range rows {
			table, _, _ := strings.Cut(row, " ")
			left[table]++
		}
	}
	require.Equal(t, map[string]int{
		"agents": 1, "prompt_versions": 1, "tools": 1, "knowledge_base_chats": 1, "datasets": 1,
		"knowledge_base_chat_datasets": 1, "api_keys": 2, "imported_key_hashes": 1, "access_tokens": 1,
		"documents": 2, "document_contents": 2, "stored_bytes": 1, "chunks": 1, "criterion_labels": 1, "chunk_vectors": 1,
		"dataset_terms":         1,
		"agent_test_executions": 4, "agent_test_snapshots": 10, "agent_test_runs": 10, "jobs": 13, "usage_entries": 1,
		"usage_days": 1, "usage_months": 1, "tombstones": 2, "plans": 1, "audit_events": 13, "agent_test_schedules": 1,
		"webhooks": 1, "webhook_deliveries": 1, "labelled_questions": 1, "mcp_servers": 1,
	}, left)
}

// Agents are linked to each other in both directions at once, without a deadlock.
func TestConcurrentWritesToAgentsOfACycleDoNotDeadlock(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	for range 5 {
		agents := []*model.Agent{newAgent(t, tenant), newAgent(t, tenant)}
		require.Empty(t, together(8, func(i int) error {
			_, _, err := tenant.AddSubAgent(ctx, model.AddSubAgentInput{
				AgentID: agents[i%2].ID, DelegateAgentID: agents[1-i%2].ID, Name: "Edge", TechnicalName: fmt.Sprint("edge_", i),
			})
			return err
		}))
		edges, err := tenant.SubAgentsOfAgents(ctx, idsOf(agents))
		require.NoError(t, err)
		places := map[string]bool{}
		for _, e := range edges {
			places[fmt.Sprint(e.AgentID, e.Position)] = true
		}
		require.Len(t, places, 8, "each relation has its own position")
	}
}

func TestAgentsOfACycleAreDeletedTogether(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	a, b := newAgent(t, tenant), newAgent(t, tenant)
	there, _, err := tenant.AddSubAgent(ctx, model.AddSubAgentInput{AgentID: a.ID, DelegateAgentID: b.ID, Name: "There",
		TechnicalName: "there"})
	require.NoError(t, err)
	_, _, err = tenant.AddSubAgent(ctx, model.AddSubAgentInput{AgentID: b.ID, DelegateAgentID: a.ID, Name: "Back",
		TechnicalName: "back"})
	require.NoError(t, err)

	// A lock on the relation blocks both deletions until both are running.
	hold, err := connect(t, conn.Config().ConnString()).Begin(ctx)
	require.NoError(t, err)
	_, err = hold.Exec(ctx, "SELECT FROM sub_agents WHERE id = $1 FOR UPDATE", there.ID)
	require.NoError(t, err)
	deleted := make(chan error, 2)
	for i, id := range []string{a.ID, b.ID} {
		go func() { deleted <- tenant.DeleteAgent(ctx, id) }()
		waitForLocks(t, conn, i+1)
	}
	require.NoError(t, hold.Rollback(ctx))
	require.NoError(t, <-deleted)
	require.NoError(t, <-deleted)
}
