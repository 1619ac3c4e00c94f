package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// Nodes returns the rows with the ids, in order, and nil for ids that do not exist.
func Nodes(ctx context.Context, ids []string) ([]model.Node, error) {
	if len(ids) > model.MaxPageSize {
		var faults model.Fields
		faults.Add("ids", "must have at most %d entries, not %d", model.MaxPageSize, len(ids))
		return nil, faults.Err()
	}
	l, key := loadersOf(ctx), fmt.Sprintf("%q", ids)
	keys := func() []string { return []string{key} }
	return loaderOf(l, loaderKey{rows: key, source: "nodes"}, keys, func([]string) (finder[[]model.Node], error) {
		nodes, err := l.nodes(ids)
		return func(string) ([]model.Node, error) { return nodes, nil }, err
	}).Load(l.ctx, key)()
}

// nodes reads the rows with the ids. It runs once per response for each distinct list of ids.
func (l *loaders) nodes(ids []string) ([]model.Node, error) {
	ctx, t := l.ctx, l.tenant()
	// Postgres rejects texts with NUL or invalid UTF-8.
	possible := slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		return strings.ContainsRune(id, 0) ||
			!utf8.ValidString(id)
	})
	types, err := t.Types(ctx, possible)
	if err != nil {
		return nil, err
	}
	idsOf := map[string][]string{}
	for id, typeName := range types {
		idsOf[typeName] = append(idsOf[typeName], id)
	}
	found := map[string]model.Node{}
	for _, rows := range db.Nodes {
		if len(idsOf[rows.Type]) == 0 {
			continue
		}
		read, err := t.Find(ctx, rows, idsOf[rows.Type])
		if err != nil {
			return nil, err
		}
		for _, row := range read {
			node := row.(model.Node)
			found[node.Cursor().ID] = node
		}
	}
	if len(idsOf[db.CompanyType]) > 0 {
		company, err := t.Company(ctx)
		if err != nil {
			return nil, err
		}
		found[company.ID] = company
	}
	return model.Map(ids, func(id string) model.Node { return found[id] }), nil
}
