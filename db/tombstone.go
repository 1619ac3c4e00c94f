package db

import (
	"context"
	"maps"
	"slices"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/model"
)

// Types that leave a tombstone when they are deleted, because recorded usage still refers to them.
const (
	typeAgent    = "agent"
	typeCampaign = "campaign"
)

// recordTombstone records in the deleting transaction that the id belonged to the company.
func (t *Tenant) recordTombstone(ctx context.Context, noun, id string) error {
	return exec(ctx, t.db.NewRaw(`INSERT INTO tombstones (company_id, noun, id, deleted_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (company_id, noun, id) DO UPDATE SET deleted_at =
			excluded.deleted_at`, t.CompanyID(), noun, id, now()))
}

func (t *Tenant) recordTombstonesOfCampaigns(ctx context.Context, agentID string) error {
	return exec(ctx, t.db.NewRaw(`INSERT INTO tombstones (company_id, noun, id, deleted_at)
		SELECT company_id, ?, id, ? FROM campaigns WHERE company_id = ? AND agent_id = ? ORDER BY id
		ON CONFLICT (company_id, noun, id) DO UPDATE SET deleted_at =
			excluded.deleted_at`, typeCampaign, now(), t.CompanyID(), agentID))
}

// rowOfNoun maps each noun with tombstones to its row struct.
var rowOfNoun = map[string]any{
	typeAgent:    (*model.Agent)(nil),
	typeCampaign: (*model.Campaign)(nil),
}

// nameStatus reads which ids of each noun exist or existed, in one statement. It returns a function that looks up one
// of them.
func (t *Tenant) nameStatus(ctx context.Context, ids map[string][]string) (func(noun, id string) model.NameStatus,
	error) {
	type name struct{ noun, id string }
	known := map[name]model.NameStatus{}
	status := func(noun, id string) model.NameStatus {
		if s, ok := known[name{noun, id}]; ok {
			return s
		}
		return model.NameStatusUnknown
	}
	rows := []struct {
		Noun   string
		ID     string
		Status model.NameStatus
	}{}
	var query *bun.SelectQuery
	for _, noun := range slices.Sorted(maps.Keys(ids)) {
		if len(ids[noun]) == 0 {
			continue
		}
		gone := t.db.NewSelect().TableExpr("tombstones AS tombstone").Where("tombstone.company_id = ?", t.CompanyID()).
			ColumnExpr("noun, id, ? AS status", model.NameStatusDeleted).Where("noun = ?", noun).
			Where("id IN (?)", bun.List(ids[noun]))
		if query == nil {
			query = gone
		} else {
			query = query.UnionAll(gone)
		}
		if row, ok := rowOfNoun[noun]; ok {
			query = query.UnionAll(t.db.Select(row).ColumnExpr("? AS noun, id, ? AS status", noun, model.NameStatusResolved).
				Where("id IN (?)", bun.List(ids[noun])))
		}
	}
	if query == nil {
		return status, nil
	}
	err := query.Scan(ctx, &rows)
	for _, row := range rows {
		// If an id was imported again, it exists, even though it has a tombstone.
		if key := (name{row.Noun, row.ID}); known[key] != model.NameStatusResolved {
			known[key] = row.Status
		}
	}
	return status, err
}
