package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func offer(name, parameters string) model.McpOffer {
	return model.NewMcpOffer(name, "Does "+name, []byte(parameters))
}

func requireFault(t *testing.T, err error, path, fault string) {
	t.Helper()
	var known *model.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, model.BadInput, known.Code)
	require.Contains(t, known.Fields[path], fault)
}

func requireUnprocessable(t *testing.T, err error) {
	t.Helper()
	var known *model.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, model.Unprocessable, known.Code)
}

func TestToolsFollowTheirMcpServer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, _ := fresh(t)
	tenant, _ := newCompany(t, store)
	in := model.CreateMcpServerInput{Name: "Shop", Endpoint: &model.ToolEndpointInput{Method: model.HTTPMethodPost,
		URL: "https://shop.example/mcp", TimeoutSeconds: 10, Headers: model.JSONObject(`{"Authorization":"Bearer token"}`)}}
	server, err := tenant.CreateMcpServer(ctx, in)
	require.NoError(t, err)
	require.Equal(t, []string{"Authorization"}, server.Endpoint.HeaderNames)
	require.NotContains(t, string(server.Endpoint.SealedHeaders), "token")
	headers, err := tenant.DecryptHeaders(server.ID, server.Endpoint)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"Authorization": "Bearer token"}, headers)

	refresh := func(want []*model.McpChange, offers ...model.McpOffer) {
		t.Helper()
		_, changes, err := tenant.RefreshMcpServer(ctx, server.ID, offers, nil)
		require.NoError(t, err)
		require.Equal(t, want, changes)
	}
	none := []string{}
	refresh([]*model.McpChange{{Name: "find", Kind: model.McpChangeKindAdded, ToolIds: none},
		{Name: "odd", Kind: model.McpChangeKindAdded, ToolIds: none},
		{Name: "pay", Kind: model.McpChangeKindAdded, ToolIds: none}},
		offer("pay", `{"type":"object"}`), offer("find", `{"type":"object"}`), offer("odd", `{"type":"string"}`))
	create := func(name string) (*model.Tool, error) {
		return tenant.CreateTool(ctx, model.CreateToolInput{Name: name, TechnicalName: name, McpServerID: &server.ID,
			McpName: &name})
	}
	pay, err := create("pay")
	require.NoError(t, err)
	require.Equal(t, "Does pay", pay.Description)
	require.JSONEq(t, `{"type":"object"}`, string(pay.Parameters))
	require.Equal(t, model.ToolApprovalAuto, pay.Approval)
	require.True(t, pay.CanBeCalled())
	_, err = create("odd")
	requireFault(t, err, "mcpName", `is a tool that agents cannot use: its parameters must be a JSON Schema with "type": "object"`)
	_, err = create("unknown")
	requireFault(t, err, "mcpName",
		`must be the name of a tool that the server offers, not "unknown"; it offers "find", "pay"`)
	_, err = tenant.UpdateTool(ctx, model.UpdateToolInput{ToolID: pay.ID, Parameters: model.JSONObject(`{"type":"object"}`)})
	requireFault(t, err, "parameters", "must not be given, because they come from the MCP server")

	const amount = `{"type":"object","properties":{"amount":{"type":"number"}}}`
	refresh([]*model.McpChange{{Name: "find", Kind: model.McpChangeKindRemoved, ToolIds: none},
		{Name: "odd", Kind: model.McpChangeKindRemoved, ToolIds: none},
		{Name: "pay", Kind: model.McpChangeKindChanged, ToolIds: []string{pay.ID}}}, offer("pay", amount))
	changed, err := tenant.Tool(ctx, pay.ID)
	require.NoError(t, err)
	require.JSONEq(t, amount, string(changed.Parameters))
	require.True(t, changed.UpdatedAt.After(pay.UpdatedAt))
	refresh(nil, offer("pay", amount))

	// The tool keeps its parameters while its offer is missing, and is available again with the offer.
	refresh([]*model.McpChange{{Name: "pay", Kind: model.McpChangeKindRemoved, ToolIds: []string{pay.ID}}})
	missing, err := tenant.Tool(ctx, pay.ID)
	require.NoError(t, err)
	require.NotNil(t, missing.MissingSince)
	require.False(t, missing.CanBeCalled())
	require.JSONEq(t, amount, string(missing.Parameters))
	failed, changes, err := tenant.RefreshMcpServer(ctx, server.ID, nil, new("it is down"))
	require.NoError(t, err)
	require.Empty(t, changes)
	require.Equal(t, "it is down", *failed.RefreshError)
	refresh([]*model.McpChange{{Name: "pay", Kind: model.McpChangeKindAdded, ToolIds: []string{pay.ID}}},
		offer("pay", amount))
	back, err := tenant.Tool(ctx, pay.ID)
	require.NoError(t, err)
	require.Nil(t, back.MissingSince)

	// An edited description stays, even if the offer was missing in between.
	_, err = tenant.UpdateTool(ctx, model.UpdateToolInput{ToolID: pay.ID, Description: new("Pays the order")})
	require.NoError(t, err)
	refresh([]*model.McpChange{{Name: "pay", Kind: model.McpChangeKindRemoved, ToolIds: []string{pay.ID}}})
	refresh([]*model.McpChange{{Name: "pay", Kind: model.McpChangeKindAdded, ToolIds: []string{pay.ID}}},
		offer("pay", amount))
	edited, err := tenant.Tool(ctx, pay.ID)
	require.NoError(t, err)
	require.Equal(t, "Pays the order", edited.Description)

	requireUnprocessable(t, tenant.DeleteMcpServer(ctx, server.ID))
	_, err = tenant.UpdateTool(ctx, model.UpdateToolInput{ToolID: pay.ID, Endpoint: &model.ToolEndpointInput{
		Method: model.HTTPMethodPost, URL: "https://shop.example/pay", TimeoutSeconds: 10}})
	require.NoError(t, err)
	require.NoError(t, tenant.DeleteMcpServer(ctx, server.ID))
}

func TestMcpServersAreBounded(t *testing.T) {
	t.Parallel()
	store, _ := fresh(t)
	tenant, _ := newCompany(t, store)
	in := model.CreateMcpServerInput{Name: "a", Endpoint: &model.ToolEndpointInput{Method: model.HTTPMethodGet,
		URL: "https://shop.example/{x}", TimeoutSeconds: 10}}
	_, err := tenant.CreateMcpServer(t.Context(), in)
	requireFault(t, err, "endpoint.url", "must have no placeholders")
	requireFault(t, err, "endpoint.method", "must be POST")
	in.Endpoint.Method, in.Endpoint.URL = model.HTTPMethodPost, "https://shop.example/mcp"
	for i := range model.MaxMcpServers {
		_, err := tenant.CreateMcpServer(t.Context(), in)
		require.NoError(t, err)
		if i == 0 {
			_, err = tenant.CreateMcpServer(t.Context(), in)
			requireUnprocessable(t, err)
			require.ErrorContains(t, err, "is already the name of another MCP server")
		}
		in.Name += "a"
	}
	_, err = tenant.CreateMcpServer(t.Context(), in)
	requireUnprocessable(t, err)
}
