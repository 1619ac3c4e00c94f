package demo

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

// agentTests are the tests of one agent.
type agentTests struct {
	Agent string `json:"agent"`
	// Variables are the default variables of every simulation. Simulations may override them and add others.
	Variables map[string]string `json:"variables"`
	// ToolMocking is the default mocking of simulations. The key of a sub-agent is its technical name.
	ToolMocking     *model.ToolMocking `json:"toolMocking"`
	Folders         []testFolder       `json:"folders"`
	Simulations     []simulation       `json:"simulations"`
	Classifications []classification   `json:"classifications"`
}

type testFolder struct {
	Key string `json:"key"`
	model.CreateAgentTestFolderInput
}

// about has the members of a test in the demo's files that the API's input lacks.
type about struct {
	Key string `json:"key"`
	// Expect is the expected status with the offline models.
	Expect model.AgentTestRunStatus `json:"expect"`
}

type simulation struct {
	about
	model.CreateSimulationTestInput
}

type classification struct {
	about
	model.CreateClassificationTestInput
}

// testRows are the rows of tests and folders. byKey has the tests by key.
type testRows struct {
	folders []*model.AgentTestFolder
	tests   []*model.AgentTestRow
	byKey   map[string]*model.AgentTestRow
}

// collectTestRows returns the rows of the tests of all agents, with creation times up to at.
func (s seeding) collectTestRows(all []agentTests, at time.Time) (testRows, error) {
	rows := testRows{byKey: map[string]*model.AgentTestRow{}}
	for _, group := range all {
		if err := s.addTestRows(&rows, group, at); err != nil {
			return testRows{}, fmt.Errorf("tests of agent %s: %w", group.Agent, err)
		}
	}
	return rows, nil
}

func (s seeding) addTestRows(rows *testRows, group agentTests, at time.Time) error {
	agentID, err := s.agents.lookup(group.Agent)
	if err != nil {
		return err
	}
	folders := ids{}
	for _, f := range group.Folders {
		f.AgentID = agentID
		folder, err := model.NewAgentTestFolder(f.CreateAgentTestFolderInput, at)
		if err != nil {
			return fmt.Errorf("folder %s: %w", f.Key, err)
		}
		folders[f.Key] = folder.ID
		rows.folders = append(rows.folders, folder)
	}
	place := func(key *string) (*string, error) {
		if key == nil {
			return nil, nil
		}
		id, err := folders.lookup(*key)
		return &id, err
	}
	add := func(key string, row *model.AgentTestRow, err error) error {
		if err != nil {
			return fmt.Errorf("test %s: %w", key, err)
		}
		// Lists show the newest test first, so the files are in that order.
		row.CreatedAt = at.Add(-time.Duration(len(rows.tests)) * time.Minute)
		row.UpdatedAt = row.CreatedAt
		rows.tests, rows.byKey[key] = append(rows.tests, row), row
		return nil
	}
	for _, in := range group.Simulations {
		input, err := s.simulation(group, in.CreateSimulationTestInput)
		if err == nil {
			input.FolderID, err = place(in.FolderID)
		}
		if err != nil {
			return fmt.Errorf("test %s: %w", in.Key, err)
		}
		test, err := model.NewSimulationTest(input, at)
		if err := add(in.Key, test.Row(), err); err != nil {
			return err
		}
	}
	for _, in := range group.Classifications {
		input := in.CreateClassificationTestInput
		input.AgentID = agentID
		if input.FolderID, err = place(in.FolderID); err != nil {
			return fmt.Errorf("test %s: %w", in.Key, err)
		}
		test, err := model.NewClassificationTest(input, at)
		if err := add(in.Key, test.Row(), err); err != nil {
			return err
		}
	}
	return nil
}

// defaultMaxTurns is the schema's default.
const defaultMaxTurns = 10

// simulation completes a test of the files. It replaces keys by ids, except the key of the folder, and applies the
// agent's defaults.
func (s seeding) simulation(group agentTests, in model.CreateSimulationTestInput) (model.CreateSimulationTestInput,
	error) {
	in.AgentID = s.agents[group.Agent]
	if in.MaxTurns == 0 {
		in.MaxTurns = defaultMaxTurns
	}
	variables := maps.Clone(group.Variables)
	if len(in.Variables) > 0 {
		if err := json.Unmarshal(in.Variables, &variables); err != nil {
			return in, err
		}
	}
	text, err := json.Marshal(variables)
	if err != nil {
		return in, err
	}
	in.Variables = text
	if in.ToolMocking == nil {
		in.ToolMocking = group.ToolMocking
	}
	mocking := *in.ToolMocking
	mocking.MockedTools, mocking.MockedSubAgents = nil, nil
	for _, mock := range in.ToolMocking.MockedTools {
		if mock.ToolID, err = s.tools.lookup(mock.ToolID); err != nil {
			return in, err
		}
		mocking.MockedTools = append(mocking.MockedTools, mock)
	}
	for _, mock := range in.ToolMocking.MockedSubAgents {
		if mock.SubAgentID, err = s.subAgents.lookup(group.Agent + "." + mock.SubAgentID); err != nil {
			return in, err
		}
		mocking.MockedSubAgents = append(mocking.MockedSubAgents, mock)
	}
	in.ToolMocking = &mocking
	return in, nil
}
