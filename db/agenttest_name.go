package db

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/model"
)

// Names of tests are unique within each folder of an agent, and at its root. Every request that gives a test a name, or
// moves it, locks the agent and checks this. No index enforces it, because tests that are created over REST may repeat
// names, and older databases contain such tests.

// testLocation is a name with its agent and folder.
type testLocation struct{ agentID, folderID, name string }

func locationOf(test *model.AgentTestRow) testLocation {
	at := testLocation{agentID: test.AgentID, name: test.Name}
	if test.FolderID != nil {
		at.folderID = *test.FolderID
	}
	return at
}

// checkNames returns UNPROCESSABLE when a test has the same name as another test in its folder. Tests with
// MayRepeatName may have such a name. The agents of the tests must be locked. The function at returns the field path
// that a fault in test i names.
func (t *Tenant) checkNames(ctx context.Context, tests []*model.AgentTestRow, at func(i int) string) error {
	taken, err := t.namesTaken(ctx, tests)
	if err != nil {
		return err
	}
	var faults model.Fields
	for i, test := range tests {
		place := locationOf(test)
		if id, isTaken := taken[place]; isTaken && id != test.ID && !test.MayRepeatName {
			faults.Add(at(i), "is %q, the name of another test in the same folder, %s", test.Name, id)
		} else if !isTaken {
			taken[place] = test.ID
		}
	}
	return faults.As(model.Unprocessable)
}

func (t *Tenant) namesTaken(ctx context.Context, tests []*model.AgentTestRow) (map[testLocation]string, error) {
	var ids, agents, names []string
	for _, test := range tests {
		ids, agents, names = append(ids, test.ID), append(agents, test.AgentID), append(names, test.Name)
	}
	others := []*model.AgentTestRow{}
	err := t.db.Select(&others).Column("id", "agent_id", "folder_id", "name").
		Where("(agent_id, name) IN (SELECT * FROM unnest(?::text[], ?::text[]))", pgdialect.Array(agents),
			pgdialect.Array(names)).
		Where("id NOT IN (?)", bun.List(ids)).Scan(ctx)
	taken := map[testLocation]string{}
	for _, other := range others {
		taken[locationOf(other)] = other.ID
	}
	return taken, err
}

// makeNamesUnique appends a number to the names of tests whose names are taken in their target folder. The agents of
// the tests must be locked.
func (t *Tenant) makeNamesUnique(ctx context.Context, tests []*model.AgentTestRow) error {
	same, err := t.namesTaken(ctx, tests)
	if err != nil {
		return err
	}
	var ids, agents, beginnings []string
	var duplicates []*model.AgentTestRow
	taken := map[testLocation]bool{}
	for _, test := range tests {
		ids = append(ids, test.ID)
		if _, isTaken := same[locationOf(test)]; isTaken || taken[locationOf(test)] {
			duplicates, agents, beginnings = append(duplicates, test), append(agents, test.AgentID),
				append(beginnings, beginning(test.Name))
			continue
		}
		taken[locationOf(test)] = true
	}
	if len(duplicates) == 0 {
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
		taken[locationOf(other)] = true
	}
	for _, test := range duplicates {
		name := test.Name
		for n := 2; taken[locationOf(test)]; n++ {
			test.Name = fmt.Sprintf("%s (%d)", beginning(name), n)
		}
		taken[locationOf(test)] = true
	}
	return nil
}

// maxPrefixLength leaves room for a number at the end of a name, in characters.
const maxPrefixLength = 240

func beginning(name string) string {
	characters := []rune(name)
	return string(characters[:min(len(characters), maxPrefixLength)])
}
