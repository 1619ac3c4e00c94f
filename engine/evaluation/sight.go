package evaluation

import (
	"cmp"
	"time"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

// maxSeen bounds the instructions, and the documents, that the judge sees, in bytes each.
const maxSeen = 40_000

// judgeContext is the judge's optional input in addition to a conversation.
type judgeContext struct {
	// Date is the date of the conversation.
	Date string `json:"date,omitempty"`
	// Instructions are the agent's instructions.
	Instructions string `json:"instructions,omitempty"`
	// Documents are the passages that the agent found, each once.
	Documents []passage `json:"documents,omitempty"`
	// LeftOutDocuments is the number of passages that had no room.
	LeftOutDocuments int `json:"leftOutDocuments,omitempty"`
}

type passage struct {
	Document string `json:"document"`
	Text     string `json:"text"`
}

// addContext adds the material that the test shows to the judge. givenCount is the number of the run's first messages
// that come from the test.
func (t *transcript) addContext(run *model.AgentTestRun, givenCount int, values content.Values) {
	test := run.Snapshot.Test
	if test.Sees(model.JudgeSightDate) {
		t.Date = dateOf(run, givenCount).UTC().Format("2006-01-02, Monday")
	}
	if test.Sees(model.JudgeSightPrompt) {
		// The agent held the conversation, so its prompt can be rendered.
		if given := engine.Instruct(run.Snapshot.Agent, values); given.Text != nil {
			t.Instructions, _ = shortenMiddle(*given.Text, maxSeen)
		}
	}
	if test.Sees(model.JudgeSightDocuments) {
		t.Documents, t.LeftOutDocuments = passagesOf(run.ToolCalls)
	}
}

// dateOf returns the date of the conversation of a run.
func dateOf(run *model.AgentTestRun, given int) time.Time {
	for _, m := range run.Messages[given:] {
		if m.Timestamp != nil {
			return *m.Timestamp
		}
	}
	return *cmp.Or(run.StartedAt, &run.CreatedAt)
}

// passagesOf returns the passages that retrievals found, in order, and the number of passages left out.
func passagesOf(calls []*model.ToolCall) (shown []passage, leftOut int) {
	seen, size := map[string]bool{}, 0
	for _, call := range calls {
		for _, chunk := range engine.RetrievedBy(call) {
			if seen[chunk.ChunkID] {
				continue
			}
			seen[chunk.ChunkID] = true
			if size+len(chunk.Content) > maxSeen {
				leftOut++
				continue
			}
			size += len(chunk.Content)
			shown = append(shown, passage{chunk.DocumentName, chunk.Content})
		}
	}
	return shown, leftOut
}
