package evaluation

import (
	"context"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

// InstructionsOfRuns returns the instructions of the model in each run, by its id: the agent's in a simulation, the
// classifier's in a classification. It reads the runs' snapshots in one statement. Runs that have not started have no
// instructions. The same is true of runs whose agent had no value for a mandatory field.
func (v *Evaluator) InstructionsOfRuns(ctx context.Context, t *db.Tenant,
	ids []string) (map[string]engine.Instructions, error) {
	runs, err := t.RunsWithSnapshots(ctx, ids, "started_at", "row_values")
	if err != nil {
		return nil, err
	}
	instructions := make(map[string]engine.Instructions, len(runs))
	for _, run := range runs {
		if run.StartedAt == nil || run.Snapshot.Agent == nil || run.Snapshot.Test == nil || fillRow(run) != nil {
			continue
		}
		agent, test := run.Snapshot.Agent, run.Snapshot.Test
		if test.Kind == model.AgentTestKindClassification {
			instructions[run.ID] = engine.Instructions{Text: new(classifyInstruction)}
			continue
		}
		variables, err := content.ValuesOf(test.Variables)
		if err != nil {
			return nil, err
		}
		opening, err := engine.Begin(agent, "", variables, *run.StartedAt)
		if err != nil {
			continue
		}
		instructions[run.ID] = engine.Instruct(agent, opening.Values)
	}
	return instructions, nil
}
