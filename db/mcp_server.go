package db

import (
	"context"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

const mcpServer = "MCP server"

// McpServerRows reads a company's MCP servers by their ids. ToolsOfMcpServers reads the company's tools by the MCP
// servers that offer them.
var (
	McpServerRows     = pg.Rows{Type: mcpServer, Model: (*model.McpServer)(nil), Key: pg.ByID}
	ToolsOfMcpServers = pg.Rows{Model: (*model.Tool)(nil), Key: "?TableAlias.mcp_server_id",
		Order: "?TableAlias.created_at, ?TableAlias.id"}
)

// McpServers returns every MCP server of the company, newest first.
func (t *Tenant) McpServers(ctx context.Context) ([]*model.McpServer, error) {
	servers := []*model.McpServer{}
	err := t.db.Select(&servers).OrderExpr("created_at DESC, id DESC").Scan(ctx)
	return pg.JoinBatch(servers), err
}

// McpServer returns one MCP server, or NOT_FOUND.
func (t *Tenant) McpServer(ctx context.Context, id string) (*model.McpServer, error) {
	found := &model.McpServer{}
	return found, t.db.One(ctx, mcpServer, id, found)
}

// CreateMcpServer makes an MCP server without offers. It returns UNPROCESSABLE when the company has
// model.MaxMcpServers servers.
func (t *Tenant) CreateMcpServer(ctx context.Context, in model.CreateMcpServerInput) (*model.McpServer, error) {
	made, err := model.NewMcpServer(in, now(), t.seal)
	if err != nil {
		return nil, err
	}
	return made, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := t.checkRowLimit(ctx, (*model.McpServer)(nil), model.MaxMcpServers, "MCP servers"); err != nil {
			return err
		}
		if err := pg.Insert(ctx, t.db, made); err != nil {
			return err
		}
		return t.audit(ctx, model.AuditActionCreateMcpServer, made.ID)
	})
}

// UpdateMcpServer changes the fields that the input sets.
func (t *Tenant) UpdateMcpServer(ctx context.Context, in model.UpdateMcpServerInput) (*model.McpServer, error) {
	changed := &model.McpServer{}
	return changed, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := t.lock(ctx, mcpServer, in.McpServerID, changed, forUpdate); err != nil {
			return err
		}
		if err := model.Unchanged(mcpServer, changed.ID, in.ExpectedUpdatedAt, changed.UpdatedAt); err != nil {
			return err
		}
		if err := changed.Update(in, now(), t.seal); err != nil {
			return err
		}
		return t.saveMcpServer(ctx, changed)
	})
}

func (t tenantTx) saveMcpServer(ctx context.Context, s *model.McpServer) error {
	if err := exec(ctx, t.db.Update(s).WherePK()); err != nil {
		return err
	}
	return t.audit(ctx, model.AuditActionUpdateMcpServer, s.ID)
}

// RefreshMcpServer saves what a server offers, or the reason why the server could not be read. Tools that use its
// offers are changed with them. It returns how the offers differ from the previous ones.
func (t *Tenant) RefreshMcpServer(ctx context.Context, id string, offers []model.McpOffer,
	failure *string) (server *model.McpServer, changes []*model.McpChange, err error) {
	server = &model.McpServer{}
	return server, changes, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		// Every transaction locks servers before their tools.
		if err := t.lock(ctx, mcpServer, id, server, forUpdate); err != nil {
			return err
		}
		tools := []*model.Tool{}
		if err := t.db.Select(&tools).Where("mcp_server_id = ?", id).Order("id").For(string(forUpdate)).
			Scan(ctx); err != nil {
			return err
		}
		var changed []*model.Tool
		changes, changed = server.Refresh(offers, failure, tools, now())
		for _, tool := range changed {
			if err := exec(ctx, t.db.Update(tool).WherePK()); err != nil {
				return err
			}
		}
		if len(changes)+len(changed) > 0 {
			return t.saveMcpServer(ctx, server)
		}
		return exec(ctx, t.db.Update(server).Column("offers", "refreshed_at", "refresh_error").WherePK())
	})
}

// DeleteMcpServer deletes an MCP server. It returns UNPROCESSABLE while a tool uses its offers.
func (t *Tenant) DeleteMcpServer(ctx context.Context, id string) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := t.lock(ctx, mcpServer, id, &model.McpServer{}, forDelete); err != nil {
			return err
		}
		count, err := t.db.Select((*model.Tool)(nil)).Where("mcp_server_id = ?", id).Count(ctx)
		if err != nil {
			return err
		}
		if count > 0 {
			return model.Errorf(model.Unprocessable, "MCP server %q still has tools (%d): delete them, or give them an "+
				"endpoint, first", id, count)
		}
		return t.delete(ctx, mcpServer, id, (*model.McpServer)(nil))
	})
}

// fillFromMcp sets the fields of a tool that its MCP server provides, and locks the server so that its offers stay the
// same.
func (t tenantTx) fillFromMcp(ctx context.Context, in *model.UpdateToolInput, before *model.Tool) error {
	server := &model.McpServer{}
	if in.McpServerID != nil {
		if err := t.lock(ctx, mcpServer, *in.McpServerID, server, forShare); err != nil {
			return err
		}
	}
	if err := in.CheckMcp(before); err != nil || in.McpServerID == nil {
		return err
	}
	return server.Fill(in)
}
