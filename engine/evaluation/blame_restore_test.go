package evaluation

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/model"
)

// Restoring the change of a sentence makes that place equal to the old prompt.
func TestRestoredSentencesAreAsInTheOldPrompt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		good, bad, restored string
		changes             int
	}{
		"end of a line":       {good: "A a. Park there.\n\nB b.", bad: "A a.\n\nB b.", changes: 1},
		"end of an item":      {good: "- A a. Park there.\n- B b.\n", bad: "- A a.\n- B b.\n", changes: 1},
		"begin of an item":    {good: "- Park there. A a.\n- B b.\n", bad: "- A a.\n- B b.\n", changes: 2},
		"begin of a line":     {good: "Park there. A a.\nB b.\n", bad: "A a.\nB b.\n", changes: 1},
		"two ends":            {good: "A a. Park there. Then wait.\nB b.", bad: "A a.\nB b.", changes: 2},
		"middle":              {good: "A a. Park there. B b.", bad: "A a. B b.", changes: 1},
		"moved within a line": {good: "Park there. A a. B b.\n", bad: "A a. Park there. B b.\n", changes: 1},
		"moved to another section": {good: "# One\nPark there. A a.\n\n# Two\nB b.\n",
			bad: "# One\nA a.\n\n# Two\nB b. Park there.\n", changes: 1},
		"moved item":         {good: "- Park there.\n- A a.\n- B b.\n", bad: "- A a.\n- B b.\n- Park there.\n", changes: 1},
		"all words replaced": {good: "A a.\n* Park behind the house.\n", bad: "A a.\n* Say sorry.\n", changes: 1},
		"sentence replaced":  {good: "A a. Park behind the house. B b.", bad: "A a. Say sorry. B b.", changes: 1},
		"heading renamed":    {good: "# Way\nA a.\nB b.", bad: "# Parking\nA a.\nB b.", changes: 1},
		"heading and sentence": {good: "A a.\n\n## Returns\nPark behind the house.\n\n## Next\nB b.",
			bad:     "A a.\n\n## Refunds\nSay sorry soon.\n\n## Next\nB b.",
			changes: 2, restored: "A a.\n\n## Refunds\nPark behind the house.\n\n## Next\nB b."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := &db.BlamedRuns{AgentID: "a", Good: &model.AgentTestRun{}, Bad: &model.AgentTestRun{}}
			runs.Good.PromptVersion, runs.Bad.PromptVersion = 1, 2
			changes := promptDiffs{}.changes(t.Context(), map[db.AgentVersion]string{{AgentID: "a", Version: 1}: c.good,
				{AgentID: "a", Version: 2}: c.bad}, runs)
			require.Len(t, changes, c.changes)
			all := make([]int32, len(changes))
			for i, change := range changes {
				all[i] = change.Number
			}
			require.Equal(t, c.bad, model.RestorePrompt(c.bad, changes, nil))
			require.Equal(t, c.good, model.RestorePrompt(c.bad, changes, all))
			if c.restored != "" {
				require.Equal(t, c.restored, model.RestorePrompt(c.bad, changes, slices.Clone(all[1:])))
			}
		})
	}
}
