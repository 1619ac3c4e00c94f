package db

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/model"
)

// Names of tests are unique within the folders of an agent, and at its root, because they are checked whenever a test
// gets one or comes to a place, with the agent held. No index says so: tests that are created over REST may repeat
// names, and databases have tests from before that do.

// placed is where a name stands.
type placed struct{ agentID, folderID, name string }

func placeOf(test *model.AgentTestRow) placed {
	at := placed{agentID: test.AgentID, name: test.Name}
	if test.FolderID != nil {
		at.folderID = *test.FolderID
	}
	return at
}

// checkNames returns UNPROCESSABLE when tests, of agents that are held, would have the names of others where they are
// to be. at is the field at fault.
func (t *Tenant) checkNames(ctx context.Context, tests []*model.AgentTestRow, at func(i int) string) error {
	taken, err := t.namesTaken(ctx, tests)
	if err != nil {
		return err
	}
	var faults model.Fields
	for i, test := range tests {
		place := placeOf(test)
		if id, isTaken := taken[place]; isTaken && id != test.ID && !test.MayRepeatName {
			faults.Add(at(i), "is %q, the name of another test in the same folder, %s", test.Name, id)
		} else if !isTaken {
			taken[place] = test.ID
		}
	}
	return faults.As(model.Unprocessable)
}

func (t *Tenant) namesTaken(ctx context.Context, tests []*model.AgentTestRow) (map[placed]string, error) {
	var ids, agents, names []string
	for _, test := range tests {
		ids, agents, names = append(ids, test.ID), append(agents, test.AgentID), append(names, test.Name)
	}
	others := []*model.AgentTestRow{}
	err := t.db.Select(&others).Column("id", "agent_id", "folder_id", "name").
		Where("(agent_id, name) IN (SELECT * FROM unnest(?::text[], ?::text[]))", pgdialect.Array(agents),
			pgdialect.Array(names)).
		Where("id NOT IN (?)", bun.List(ids)).Scan(ctx)
	taken := map[placed]string{}
	for _, other := range others {
		taken[placeOf(other)] = other.ID
	}
	return taken, err
}

// number gives those of the tests a number behind their names whose names are taken where they are to be. Their agents
// are held.
func (t *Tenant) number(ctx context.Context, tests []*model.AgentTestRow) error {
	same, err := t.namesTaken(ctx, tests)
	if err != nil {
		return err
	}
	var ids, agents, beginnings []string
	var again []*model.AgentTestRow
	taken := map[placed]bool{}
	for _, test := range tests {
		ids = append(ids, test.ID)
		if _, isTaken := same[placeOf(test)]; isTaken || taken[placeOf(test)] {
			again, agents, beginnings = append(again, test), append(agents, test.AgentID),
				append(beginnings, beginning(test.Name))
			continue
		}
		taken[placeOf(test)] = true
	}
	if len(again) == 0 {
		return nil
	}
	others := []*model.AgentTestRow{}
	err = t.db.Select(&others).Column("id", "agent_id", "folder_id", "name").
		Where("agent_id IN (?)", bun.List(model.Unique(agents))).
		Where("EXISTS (SELECT 1 FROM unnest(?::text[]) AS wanted (beginning) WHERE starts_with(?TableAlias.name, "+
			"wanted.beginning))", pgdialect.Array(model.Unique(beginnings))).
		Where("id NOT IN (?)", bun.List(ids)).Scan(ctx)
	if err != nil {
		return err
	}
	for _, other := range others {
		taken[placeOf(other)] = true
	}
	for _, test := range again {
		name := test.Name
		for n := 2; taken[placeOf(test)]; n++ {
			test.Name = fmt.Sprintf("%s (%d)", beginning(name), n)
		}
		taken[placeOf(test)] = true
	}
	return nil
}

// longestBeginning leaves room for a number behind a name.
const longestBeginning = 240

func beginning(name string) string {
	characters := []rune(name)
	return string(characters[:min(len(characters), longestBeginning)])
}
