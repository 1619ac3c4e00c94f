package query

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/model"
)

func TestArgumentsBecomePages(t *testing.T) {
	t.Parallel()
	after, offset := (model.Cursor{ID: "a"}).String(), int32(3)
	for name, c := range map[string]struct {
		given arguments
		want  model.PageArgs
		err   bool
	}{
		"nothing":        {arguments{}, model.PageArgs{First: model.DefaultPageSize}, false},
		"null":           {arguments{"first": nil, "after": nil}, model.PageArgs{First: model.DefaultPageSize}, false},
		"a size":         {arguments{"first": int64(7)}, model.PageArgs{First: 7}, false},
		"a size in JSON": {arguments{"first": json.Number("7")}, model.PageArgs{First: 7}, false},
		"a size of zero": {arguments{"first": int64(0)}, model.PageArgs{}, true},
		"too large":      {arguments{"first": int64(model.MaxPageSize + 1)}, model.PageArgs{}, true},
		"a cursor":       {arguments{"after": after}, model.PageArgs{First: model.DefaultPageSize, After: &after}, false},
		"not a cursor":   {arguments{"after": "?"}, model.PageArgs{}, true},
		"an offset": {arguments{"offset": int64(3)}, model.PageArgs{First: model.DefaultPageSize, Offset: &offset},
			false},
		"cursor and offset": {arguments{"after": after, "offset": int64(3)}, model.PageArgs{}, true},
		"backward":          {arguments{"last": int64(7)}, model.PageArgs{}, true},
		"before a cursor":   {arguments{"before": after}, model.PageArgs{}, true},
	} {
		page, err := c.given.page("")
		if require.Equal(t, c.err, err != nil, "%s: %v", name, err); err == nil {
			require.Equal(t, c.want, page, name)
		}
	}
}

// Plans use the same filters as resolvers, except filters whose best index depends on the values.
func TestArgumentsBecomeFilters(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	agent, dataset, pending := "a", "d", model.CampaignItemStatusPending
	for name, c := range map[string]struct {
		make  makeFilter
		given arguments
		want  pg.Filter // unused if the executor answers
		left  bool
	}{
		"no agents":               {agentsThat, arguments{}, db.AgentsMatching(nil), false},
		"agents by name":          {agentsThat, arguments{"filter": object{"nameContains": "a"}}, nil, true},
		"agents by tag":           {agentsThat, arguments{"filter": object{"tags": []any{"a"}}}, nil, true},
		"agents in another order": {agentsThat, arguments{"orderBy": "Name"}, nil, true},
		"tests of an agent":       {ofAgent, arguments{"agentId": "a"}, db.WhereAgent(&agent), false},
		"tests of no agent":       {ofAgent, arguments{"agentId": nil}, db.WhereAgent(nil), false},
		"chats of an agent":       {chatsOfAgent, arguments{"agentId": "a"}, db.WhereAgent(&agent), false},
		"executions of an agent":  {executionsOfAgent, arguments{"agentId": "a"}, db.WhereAgent(&agent), false},
		"items of a campaign":     {itemsOfCampaign, arguments{"campaignId": "a"}, db.WhereCampaign(&agent), false},
		"archived items":          {itemsThat, arguments{"isArchived": true}, db.ItemsMatching(nil, new(true), nil), false},
		"an empty id":             {ofAgent, arguments{"agentId": ""}, nil, true},
		"documents":               {documentsThat, arguments{"datasetId": "d"}, db.WhereDataset(&dataset), false},
		"documents by name":       {documentsThat, arguments{"filter": object{"nameContains": "a"}}, nil, true},
		"documents by statuses": {documentsThat, arguments{"filter": object{"statuses": []any{"Ready", "Failed"}}}, nil,
			true},
		"documents of no status": {documentsThat, arguments{"filter": object{"statuses": []any(nil)}},
			db.DocumentsMatching(&model.DocumentFilter{Statuses: []model.DocumentStatus{}}), false},
		"runs of no status": {runsThat, arguments{"statuses": []any(nil)},
			db.RunsMatching(model.AgentTestRunFilter{Statuses: []model.AgentTestRunStatus{}}), false},
		"runs of an agent":      {runsThat, arguments{"agentId": "a"}, nil, true},
		"runs by statuses":      {runsThat, arguments{"statuses": []any{"Passed", "Failed"}}, nil, true},
		"items":                 {itemsThat, arguments{"runningStatus": "Pending"}, db.ItemsMatching(&pending, nil, nil), false},
		"items by number":       {itemsThat, arguments{"filter": object{"phoneNumberPrefix": "+1"}}, nil, true},
		"items by version":      {itemsThat, arguments{"filter": object{"afterVersion": 3}}, nil, true},
		"a folder and the root": {testsThat, arguments{"folderId": "f", "atRoot": true}, nil, true},
		"not a boolean":         {itemsThat, arguments{"isArchived": object{}}, nil, true},
	} {
		filter, err := c.make.parse(c.given)
		if require.Equal(t, c.left, err != nil, "%s: %v", name, err); err == nil {
			require.Equal(t, c.want.Values(), filter.Values(), name)
		}
	}
	_, err := makeFilter(agentsThat).parse(arguments{"filter": object{"nameContains": "a"}})
	require.ErrorIs(t, err, errUnplanned)
}
