package db

import (
	"context"

	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

const agentTestFolder = "agent test folder"

// Lists of a company's test folders: by their ids, in pages, and by their agents, sorted by name.
var (
	AgentTestFolderRows = pg.Rows{Type: agentTestFolder, Model: (*model.AgentTestFolder)(nil), Key: pg.ByID}
	AgentTestFolderList = pg.List{Model: (*model.AgentTestFolder)(nil), Order: pg.NewestFirst}
	FoldersOfAgents     = pg.Rows{Model: (*model.AgentTestFolder)(nil), Key: "?TableAlias.agent_id",
		Order: "lower(?TableAlias.name)"}
)

// AgentTestFolders returns a page of the company's folders, newest first. If agentID is set, it returns only folders of
// that agent, or NOT_FOUND if there is no such agent.
func (t *Tenant) AgentTestFolders(
	ctx context.Context, args model.PageArgs, agentID *string, columns ...string,
) (*model.Page[*model.AgentTestFolder], error) {
	if err := t.db.Exists(ctx, "agent", agentID, (*model.Agent)(nil)); err != nil {
		return nil, err
	}
	return pg.Page[*model.AgentTestFolder](ctx, t.db, AgentTestFolderList, args, columns, WhereAgent(agentID))
}

// CreateAgentTestFolder creates a folder for the tests of an agent.
func (t *Tenant) CreateAgentTestFolder(ctx context.Context,
	in model.CreateAgentTestFolderInput) (*model.AgentTestFolder, error) {
	folder, err := model.NewAgentTestFolder(in, now())
	if err != nil {
		return nil, err
	}
	return folder, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		// The lock excludes other requests that create folders, because the number of folders is bounded.
		if _, err := t.lockAgent(ctx, folder.AgentID, forUpdate); err != nil {
			return err
		}
		count, err := t.db.Select((*model.AgentTestFolder)(nil)).Where("agent_id = ?", folder.AgentID).Count(ctx)
		if err != nil {
			return err
		}
		if count >= model.MaxFolders {
			return model.Errorf(model.Unprocessable, "agent %q has %d test folders, the maximum: delete some "+
				"first", folder.AgentID,
				count)
		}
		return pg.Insert(ctx, t.db, folder)
	})
}

// UpdateAgentTestFolder changes the fields that the input sets.
func (t *Tenant) UpdateAgentTestFolder(ctx context.Context,
	in model.UpdateAgentTestFolderInput) (*model.AgentTestFolder, error) {
	folder := &model.AgentTestFolder{}
	return folder, t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		if err := t.lock(ctx, agentTestFolder, in.FolderID, folder, forUpdate); err != nil {
			return err
		}
		if err := model.Unchanged("folder", folder.ID, in.ExpectedUpdatedAt, folder.UpdatedAt); err != nil {
			return err
		}
		if err := folder.Update(in, now()); err != nil {
			return err
		}
		return exec(ctx, t.db.Update(folder).WherePK())
	})
}

// DeleteAgentTestFolder deletes a folder and moves its tests to the root. A test whose name is taken there gets a
// number appended to its name.
func (t *Tenant) DeleteAgentTestFolder(ctx context.Context, id string) error {
	return t.inTx(ctx, func(ctx context.Context, t tenantTx) error {
		folder := &model.AgentTestFolder{}
		if err := t.db.One(ctx, agentTestFolder, id, folder); err != nil {
			return err
		}
		if _, err := t.lockAgent(ctx, folder.AgentID, forUpdate); err != nil {
			return err
		}
		if err := t.lock(ctx, agentTestFolder, id, folder, forDelete); err != nil {
			return err
		}
		if err := t.disableSchedules(ctx, "the folder was deleted", pg.Where("folder_id = ?", id)); err != nil {
			return err
		}
		tests, err := t.lockTests(ctx, forUpdate, pg.Where("folder_id = ?", id))
		if err != nil {
			return err
		}
		if err := t.moveToRoot(ctx, tests); err != nil {
			return err
		}
		return t.delete(ctx, agentTestFolder, id, (*model.AgentTestFolder)(nil))
	})
}

// moveToRoot takes locked tests of an agent out of their folder.
func (t *Tenant) moveToRoot(ctx context.Context, tests []*model.AgentTestRow) error {
	if len(tests) == 0 {
		return nil
	}
	at := now()
	for _, test := range tests {
		test.FolderID, test.UpdatedAt = nil, model.NextUpdatedAt(test.UpdatedAt, at)
	}
	if err := t.makeNamesUnique(ctx, tests); err != nil {
		return err
	}
	return exec(ctx, t.db.Update(&tests).Column("folder_id", "name", "updated_at").Bulk())
}

// lockTargetFolder returns the target folder for a test of the agent, and locks it until the end of the transaction.
// For an id of nil or "", which mean the root, it returns nil.
func (t tenantTx) lockTargetFolder(ctx context.Context, agentID string, id *string) (*string, error) {
	if id == nil || *id == "" {
		return nil, nil
	}
	folder := &model.AgentTestFolder{}
	if err := t.lock(ctx, agentTestFolder, *id, folder, forShare); err != nil {
		return nil, err
	}
	var faults model.Fields
	if folder.AgentID != agentID {
		faults.Add("folderId", "is a folder of another agent")
	}
	return &folder.ID, faults.As(model.Unprocessable)
}
