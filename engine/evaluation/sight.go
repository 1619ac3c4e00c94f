package evaluation

import (
	"cmp"
	"time"

	"github.com/agentgraph/agentgraph/engine"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

// maxSeen bounds the instructions that the judge is shown, and the documents, in bytes each.
const maxSeen = 40_000

// material is what the judge is shown beside a conversation, if the test says so.
type material struct {
	// Date is that of the conversation.
	Date string `json:"date,omitempty"`
	// Instructions are those of the agent.
	Instructions string `json:"instructions,omitempty"`
	// Documents are the passages that the agent found, each once.
	Documents []passage `json:"documents,omitempty"`
	// LeftOutDocuments is how many are too many to be shown.
	LeftOutDocuments int `json:"leftOutDocuments,omitempty"`
}

type passage struct {
	Document string `json:"document"`
	Text     string `json:"text"`
}

// show adds to the transcript of a run what its test lets the judge see. given is the number of its messages that the
// test started from.
func (t *transcript) show(run *model.AgentTestRun, given int, values content.Values) {
	test := run.Snapshot.Test
	if test.Sees(model.JudgeSightDate) {
		t.Date = dateOf(run, given).UTC().Format("2006-01-02, Monday")
	}
	if test.Sees(model.JudgeSightPrompt) {
		// An agent that held the conversation had a prompt that could be rendered.
		if told := engine.Instruct(run.Snapshot.Agent, values); told.Text != nil {
			t.Instructions, _ = shortenMiddle(*told.Text, maxSeen)
		}
	}
	if test.Sees(model.JudgeSightDocuments) {
		t.Documents, t.LeftOutDocuments = passagesOf(run.ToolCalls)
	}
}

// dateOf is when the conversation of a run was held.
func dateOf(run *model.AgentTestRun, given int) time.Time {
	for _, m := range run.Messages[given:] {
		if m.Timestamp != nil {
			return *m.Timestamp
		}
	}
	return *cmp.Or(run.StartedAt, &run.CreatedAt)
}

// passagesOf returns what retrievals found, in their order, and how much of it is left out.
func passagesOf(calls []*model.ToolCall) (shown []passage, leftOut int) {
	seen, size := map[string]bool{}, 0
	for _, call := range calls {
		for _, chunk := range engine.RetrievedBy(call) {
			if seen[chunk.ChunkID] {
				continue
			}
			seen[chunk.ChunkID] = true
			if size += len(chunk.Content); size > maxSeen {
				leftOut++
				continue
			}
			shown = append(shown, passage{chunk.DocumentName, chunk.Content})
		}
	}
	return shown, leftOut
}
