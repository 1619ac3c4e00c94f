package db_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/model"
)

func endpoint(headers string) *model.ToolEndpointInput {
	in := &model.ToolEndpointInput{Method: model.HTTPMethodPost, URL: "https://tools.example/{id}", TimeoutSeconds: 10}
	if headers != "" {
		in.Headers = model.JSONObject(headers)
	}
	return in
}

func TestToolIsStoredUnchanged(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, _ := fresh(t)
	tenant, _ := newCompany(t, store)
	// The order of keys is kept, and so are characters that are special in JSON or SQL.
	parameters := `{"type":"object","properties":{"z":{"type":"string","description":"it's \"?\" \\ $1 é \u0000"},"a":{}},"required":["z"]}`
	tool, err := tenant.CreateTool(ctx, model.CreateToolInput{
		Name: "Tool", TechnicalName: "a_tool", Description: new("It's"), Parameters: model.JSONObject(parameters),
		Endpoint: endpoint(`{"X-B":"2","A":"1"}`),
	})
	require.NoError(t, err)
	require.Equal(t, []string{"A", "X-B"}, tool.Endpoint.HeaderNames)
	read, err := tenant.Tool(ctx, tool.ID)
	require.NoError(t, err)
	same(t, tool, read)
	require.Equal(t, parameters, string(read.Parameters))

	bare := newTool(t, tenant, "bare")
	read, err = tenant.Tool(ctx, bare.ID)
	require.NoError(t, err)
	same(t, bare, read)
	require.Nil(t, read.Endpoint)
	updated, err := tenant.UpdateTool(ctx, model.UpdateToolInput{ToolID: bare.ID, Description: new("Other")})
	require.NoError(t, err)
	read, err = tenant.Tool(ctx, bare.ID)
	require.NoError(t, err)
	same(t, updated, read)
}

func TestHeaderValuesCannotBeReadInTheDatabase(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, conn := fresh(t)
	tenant, _ := newCompany(t, store)
	seen := map[string]bool{}
	create := func(name string) *model.Tool {
		tool, err := tenant.CreateTool(ctx, model.CreateToolInput{Name: name, TechnicalName: name,
			Endpoint: endpoint(`{"Authorization":"Bearer hunter2hunter2"}`)})
		require.NoError(t, err)
		var row, sealed string
		require.NoError(t, conn.QueryRow(ctx, "SELECT tools::text, endpoint ->> 'sealedHeaders' FROM tools WHERE id = $1",
			tool.ID).Scan(&row, &sealed))
		require.NotContains(t, row, "hunter2")
		require.Contains(t, row, "Authorization")
		require.False(t, seen[sealed], "the same headers are sealed differently each time")
		seen[sealed] = true
		return tool
	}
	tool := create("first")
	create("second")
	var bytes string
	require.NoError(t, conn.QueryRow(ctx, "SELECT encode(decode(endpoint ->> 'sealedHeaders', 'base64'), 'escape') FROM "+
		"tools LIMIT 1").Scan(&bytes))
	require.NotContains(t, bytes, "hunter2")

	update := func(in *model.ToolEndpointInput) *model.ToolEndpoint {
		updated, err := tenant.UpdateTool(ctx, model.UpdateToolInput{ToolID: tool.ID, Endpoint: in})
		require.NoError(t, err)
		return updated.Endpoint
	}
	kept := update(endpoint(""))
	require.Equal(t, tool.Endpoint.SealedHeaders, kept.SealedHeaders, "absent headers stay")
	elsewhere := endpoint("")
	elsewhere.URL = "https://other.example/"
	_, err := tenant.UpdateTool(ctx, model.UpdateToolInput{ToolID: tool.ID, Endpoint: elsewhere})
	require.Contains(t, fails(t, err, model.BadInput), "endpoint.headers must be given again")
	replaced := update(endpoint(`{"X-Other":"1"}`))
	require.Equal(t, []string{"X-Other"}, replaced.HeaderNames)
	require.NotEqual(t, kept.SealedHeaders, replaced.SealedHeaders)
	none := update(endpoint(`{}`))
	require.Empty(t, none.HeaderNames)
	require.Empty(t, none.SealedHeaders)
}

func TestHeadersWithoutASecretKeyAreRefused(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	_, err := tenant.CreateTool(ctx, model.CreateToolInput{Name: "Tool", TechnicalName: "a_tool",
		Endpoint: endpoint(`{"A":"secret"}`)})
	require.NotContains(t, fails(t, err, model.Unprocessable), "secret\"")
	_, err = tenant.CreateTool(ctx, model.CreateToolInput{Name: "Tool", TechnicalName: "a_tool",
		Endpoint: endpoint(`{"x-a":"1","X-A":"2"}`)})
	require.Contains(t, fails(t, err, model.BadInput), "ignoring case")
	for i, headers := range []string{"", "{}"} {
		_, err = tenant.CreateTool(ctx, model.CreateToolInput{Name: "Tool", TechnicalName: fmt.Sprint("tool_", i),
			Endpoint: endpoint(headers)})
		require.NoError(t, err)
	}
}

func TestConnectedToolsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	agent, other := newAgent(t, tenant), newAgent(t, tenant)
	c, a, b := newTool(t, tenant, "c"), newTool(t, tenant, "a"), newTool(t, tenant, "b")
	connect := func(agent *model.Agent, tools ...*model.Tool) {
		for _, tool := range tools {
			got, err := tenant.ConnectTool(ctx, model.ConnectToolInput{AgentID: agent.ID, ToolID: tool.ID})
			require.NoError(t, err)
			same(t, agent, got)
		}
	}
	order := func() map[string][]string {
		tools, err := tenant.ToolsOfAgents(ctx, []string{agent.ID, other.ID, "unknown"})
		require.NoError(t, err)
		ids := map[string][]string{}
		for _, tool := range tools {
			ids[tool.Parent()] = append(ids[tool.Parent()], tool.ID)
		}
		return ids
	}
	connect(agent, a, c, b, a)
	connect(other, b, a)
	require.Equal(t, map[string][]string{agent.ID: {a.ID, c.ID, b.ID}, other.ID: {b.ID, a.ID}}, order())
	for range 2 { // the second time, nothing is left to disconnect
		_, err := tenant.DisconnectTool(ctx, model.DisconnectToolInput{AgentID: agent.ID, ToolID: a.ID})
		require.NoError(t, err)
	}
	connect(agent, a)
	require.Equal(t, map[string][]string{agent.ID: {c.ID, b.ID, a.ID}, other.ID: {b.ID, a.ID}}, order())
	counts, err := dbtest.Counts(ctx, tenant, db.AgentsOfTools, nil, []string{a.ID, c.ID, "unknown", a.ID})
	require.NoError(t, err)
	require.Equal(t, []int32{2, 1, 0, 2}, counts)
	agents, err := dbtest.Pages[*model.Agent](ctx, tenant, db.AgentsOfTools, nil, []string{c.ID, a.ID},
		model.PageArgs{First: 10})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{agent.ID, other.ID, agent.ID}, idsOf(agents))

	require.NoError(t, tenant.DeleteTool(ctx, b.ID))
	fails(t, tenant.DeleteTool(ctx, b.ID), model.NotFound)
	require.Equal(t, map[string][]string{agent.ID: {c.ID, a.ID}, other.ID: {a.ID}}, order())
}

func TestToolsConnectedTogether(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	agent, delegate := newAgent(t, tenant), newAgent(t, tenant)
	b, a, c := newTool(t, tenant, "b"), newTool(t, tenant, "a"), newTool(t, tenant, "c")
	order := func() (ids []string) {
		tools, err := tenant.ToolsOfAgents(ctx, []string{agent.ID})
		require.NoError(t, err)
		for _, tool := range tools {
			ids = append(ids, tool.ID)
		}
		return ids
	}
	_, err := tenant.ConnectTools(ctx, agent.ID, b.ID, "unknown")
	require.Contains(t, fails(t, err, model.NotFound), `"unknown"`)
	_, err = tenant.ConnectTools(ctx, "unknown", b.ID)
	fails(t, err, model.NotFound)
	require.Empty(t, order())

	_, err = tenant.ConnectTools(ctx, agent.ID, b.ID)
	require.NoError(t, err)
	got, err := tenant.ConnectTools(ctx, agent.ID, a.ID, b.ID, a.ID)
	require.NoError(t, err)
	same(t, agent, got)
	require.Equal(t, []string{b.ID, a.ID}, order())
	_, err = tenant.ConnectTools(ctx, agent.ID)
	require.NoError(t, err)

	_, _, err = tenant.AddSubAgent(ctx, model.AddSubAgentInput{AgentID: agent.ID, DelegateAgentID: delegate.ID, Name: "C",
		TechnicalName: c.TechnicalName})
	require.NoError(t, err)
	other := newTool(t, tenant, "d")
	_, err = tenant.ConnectTools(ctx, agent.ID, other.ID, c.ID)
	require.Contains(t, fails(t, err, model.Unprocessable), c.TechnicalName)
	require.Equal(t, []string{b.ID, a.ID}, order())

	ids := []string{}
	for i := range model.MaxConnections - 1 {
		ids = append(ids, newTool(t, tenant, fmt.Sprint("tool_", i)).ID)
	}
	_, err = tenant.ConnectTools(ctx, agent.ID, ids...)
	require.Contains(t, fails(t, err, model.Unprocessable), "has 2 tools, and can have at most 128")
	_, err = tenant.ConnectTools(ctx, agent.ID, ids[1:]...)
	require.NoError(t, err)
	require.Equal(t, append([]string{b.ID, a.ID}, ids[1:]...), order())
}

func TestToolsOfAnAgentAreBounded(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	agent := newAgent(t, tenant)
	var tools []*model.Tool
	connect := func(tenant *db.Tenant, i int) error {
		_, err := tenant.ConnectTool(ctx, model.ConnectToolInput{AgentID: agent.ID, ToolID: tools[i].ID})
		return err
	}
	require.NoError(t, tenant.Tx(ctx, func(_ context.Context, tenant *db.Tenant) error {
		for i := range 131 {
			tools = append(tools, newTool(t, tenant, fmt.Sprint("tool_", i)))
		}
		for i := range 127 {
			if err := connect(tenant, i); err != nil {
				return err
			}
		}
		return nil
	}))
	errs := together(4, func(i int) error { return connect(tenant, 127+i) })
	require.Len(t, errs, 3, "one place is left")
	for _, err := range errs {
		require.Contains(t, fails(t, err, model.Unprocessable), "128")
	}
	require.NoError(t, connect(tenant, 0), "a connected tool can be connected again")
	again, err := tenant.ToolsOfAgents(ctx, []string{agent.ID})
	require.NoError(t, err)
	require.Len(t, again, 128)
}

// Each list takes one statement, however many parents there are.
func TestStatementsDoNotGrowWithTheParents(t *testing.T) {
	t.Parallel()
	count := &statements{}
	ctx, store := count.in(t.Context()),
		dbtest.Open(t, dbtest.URL(t), db.Options{Tracer: count, SecretKey: make([]byte, 32)})
	var agents, tools, chats, campaigns []string
	own := newFixture(t, store, "OWN")
	for range 5 {
		fixture := newFixture(t, store, "OTHER")
		campaigns = append(campaigns, fixture.ids["CampaignID"])
		agents, tools, chats = append(agents, fixture.ids["AgentID"]), append(tools, fixture.ids["ToolID"]),
			append(chats, fixture.ids["ChatID"])
	}
	tenant, page := own.tenant, model.PageArgs{First: 10}
	campaigns = append(campaigns, own.ids["CampaignID"])
	agents, tools, chats = append(agents, own.ids["AgentID"]), append(tools, own.ids["ToolID"]),
		append(chats, own.ids["ChatID"])
	for name, read := range map[string]func(many int) (any, error){
		"agents":     func(n int) (any, error) { return tenant.AgentsByID(ctx, agents[n:]) },
		"tools":      func(n int) (any, error) { return tenant.ToolsOfAgents(ctx, agents[n:]) },
		"sub-agents": func(n int) (any, error) { return tenant.SubAgentsOfAgents(ctx, agents[n:]) },
		"datasets": func(n int) (any, error) {
			return dbtest.Find[*model.Dataset](ctx, tenant, db.DatasetsOfChats, chats[n:])
		},
		"versions": func(n int) (any, error) {
			return dbtest.Pages[*model.PromptVersion](ctx, tenant, db.PromptVersionsOfAgents, nil, agents[n:], page)
		},
		"version count": func(n int) (any, error) {
			return dbtest.Counts(ctx, tenant, db.PromptVersionsOfAgents, nil, agents[n:])
		},
		"tool agents": func(n int) (any, error) {
			return dbtest.Pages[*model.Agent](ctx, tenant, db.AgentsOfTools, nil, tools[n:], page)
		},
		"tool counts":  func(n int) (any, error) { return dbtest.Counts(ctx, tenant, db.AgentsOfTools, nil, tools[n:]) },
		"agent counts": func(n int) (any, error) { return dbtest.Counts(ctx, tenant, db.AgentsOfChats, nil, chats[n:]) },
		"chats":        func(n int) (any, error) { return tenant.Find(ctx, db.KnowledgeBaseChatRows, chats[n:]) },
		"simulations": func(n int) (any, error) {
			return dbtest.Pages[*model.SimulationChat](ctx, tenant, db.SimulationChatsOfAgents, nil, agents[n:], page)
		},
		"campaigns": func(n int) (any, error) {
			return dbtest.Pages[*model.Campaign](ctx, tenant, db.CampaignsOfAgents, nil, agents[n:], page)
		},
		"counts": func(n int) (any, error) { return tenant.CountsOfCampaigns(ctx, campaigns[n:]) },
		"items": func(n int) (any, error) {
			return dbtest.Pages[*model.CampaignItem](ctx, tenant, db.ItemsOfCampaigns, nil, campaigns[n:], page)
		},
		"kinds": func(n int) (any, error) { return tenant.Types(ctx, append(agents[n:], tools...)) },
	} {
		for _, n := range []int{5, 0} {
			before := count.n.Load()
			rows, err := read(n)
			require.NoError(t, err)
			require.NotEmpty(t, rows, name)
			require.EqualValues(t, 1, count.n.Load()-before, "%s of %d", name, 6-n)
		}
	}
}

func TestToolEndpointCanBeRemoved(t *testing.T) {
	t.Parallel()
	ctx, tenant := t.Context(), freshTenant(t)
	endpoint := &model.ToolEndpointInput{Method: model.HTTPMethodPost, URL: "https://api.example.com/x", TimeoutSeconds: 5}
	tool, err := tenant.CreateTool(ctx, model.CreateToolInput{Name: "A tool", TechnicalName: "a_tool", Endpoint: endpoint})
	require.NoError(t, err)
	_, err = tenant.UpdateTool(ctx, model.UpdateToolInput{ToolID: tool.ID, Endpoint: endpoint, RemoveEndpoint: true})
	faults(t, err, model.BadInput, "removeEndpoint", "together with endpoint")
	changed, err := tenant.UpdateTool(ctx, model.UpdateToolInput{ToolID: tool.ID, RemoveEndpoint: true,
		ExpectedUpdatedAt: &tool.UpdatedAt})
	require.NoError(t, err)
	require.Nil(t, changed.Endpoint)
	_, err = tenant.UpdateTool(ctx, model.UpdateToolInput{ToolID: tool.ID, Endpoint: endpoint,
		ExpectedUpdatedAt: &tool.UpdatedAt})
	fails(t, err, model.Conflict)
	read, err := tenant.Tool(ctx, tool.ID)
	require.NoError(t, err)
	require.Nil(t, read.Endpoint)
}
