package engine

import (
	"context"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// CreateMcpServer connects an MCP server and asks it for its tools. If the server does not list them, the result says
// why.
func (e *Engine) CreateMcpServer(ctx context.Context, t *db.Tenant,
	in model.CreateMcpServerInput) (*model.McpServer, error) {
	server, err := t.CreateMcpServer(ctx, in)
	if err != nil {
		return nil, err
	}
	server, _, err = e.refresh(ctx, t, server)
	return server, err
}

// RefreshMcpServer asks an MCP server for its tools, and returns how they differ from its earlier tools. If the server
// does not list them, the result says why.
func (e *Engine) RefreshMcpServer(ctx context.Context, t *db.Tenant, id string) (*model.McpServer, []*model.McpChange,
	error) {
	server, err := t.McpServer(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	return e.refresh(ctx, t, server)
}

func (e *Engine) refresh(ctx context.Context, t *db.Tenant, server *model.McpServer) (*model.McpServer,
	[]*model.McpChange, error) {
	headers, err := t.DecryptHeaders(server.ID, server.Endpoint)
	if err != nil {
		return nil, nil, err
	}
	offers, err := e.caller.OffersOf(ctx, *server.Endpoint, headers)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	var failure *string
	if err != nil {
		failure = new(messageForModel(err))
	}
	return t.RefreshMcpServer(ctx, server.ID, offers, failure)
}

const (
	// offersKept is how old the list of an MCP server's tools may be before a call reads it again. A session ends with
	// its call, so the server can say only during a call that its list changed.
	offersKept = 10 * time.Minute
	// offersTrusted is the same for a call that the list speaks against: the tool is missing, or its schema refuses the
	// arguments.
	offersTrusted = 10 * time.Second
	// maxFailedLists bounds Engine.failedLists, in bytes.
	maxFailedLists = 64 << 10
)

func isOlder(s *model.McpServer, age time.Duration) bool {
	return s.RefreshedAt == nil || time.Since(*s.RefreshedAt) > age
}

// reload returns a tool of an MCP server as it is stored now. If the stored list of the server's tools is older than
// offersTrusted, reload refreshes it first, unless that failed within this time.
func (e *Engine) reload(ctx context.Context, t *db.Tenant, tool *model.Tool) (*model.Tool, error) {
	server, err := t.McpServer(ctx, *tool.McpServerID)
	if failed, _ := e.failedLists.Get(*tool.McpServerID); err == nil && isOlder(server, offersTrusted) &&
		time.Since(failed) > offersTrusted {
		server, _, err = e.refresh(ctx, t, server)
		if err == nil && server.RefreshError != nil {
			e.failedLists.Put(server.ID, time.Now())
		}
	}
	if err != nil {
		return nil, err
	}
	return t.Tool(ctx, tool.ID)
}

// callMcp calls a tool of an MCP server. It also updates the stored tools in three cases: the stored list is older than
// offersKept, the server says during the call that its list changed, or the call fails although the server answered.
func (e *Engine) callMcp(ctx context.Context, t *db.Tenant, tool *model.Tool, arguments model.JSONObject) (string,
	error) {
	server, err := t.McpServer(ctx, *tool.McpServerID)
	if err != nil {
		return "", err
	}
	headers, err := t.DecryptHeaders(server.ID, server.Endpoint)
	if err != nil {
		return "", err
	}
	text, offers, err := e.caller.CallMcp(ctx, *server.Endpoint, headers, *tool.McpName, arguments,
		isOlder(server, offersKept))
	if offers != nil {
		if _, _, err := t.RefreshMcpServer(ctx, server.ID, offers, nil); err != nil {
			e.log.WarnContext(ctx, "could not save what an MCP server offers", "server", server.ID, "error", err)
		}
	}
	return text, err
}
