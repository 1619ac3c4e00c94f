package evaluation

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// heldOut is the directory of other lists, for which figures are printed only.
var heldOut = os.Getenv("AGENTGRAPH_LISTS")

// readList reads a list of testdata, or of the directory in AGENTGRAPH_LISTS.
func readList[T any](t *testing.T, name string) (list []T) {
	t.Helper()
	directory := heldOut
	if directory == "" {
		directory = "testdata"
	}
	file, err := os.Open(filepath.Join(directory, name+".jsonl"))
	require.NoError(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var each T
		require.NoError(t, json.Unmarshal(lines.Bytes(), &each))
		list = append(list, each)
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, list)
	return list
}

// listedQuote is a quote, with the conversation that it is said to be from.
type listedQuote struct {
	Transcript []struct {
		Role, Text, Name  string
		Arguments, Result json.RawMessage
	}
	Quote    string
	Faithful bool
}

// isTaken reports whether a message of the conversation has the quote.
func (q listedQuote) isTaken() bool {
	var calls []transcriptCall
	var messages []transcriptMessage
	for _, m := range q.Transcript {
		switch m.Role {
		case "tool", "subAgent":
			result := string(m.Result)
			_ = json.Unmarshal(m.Result, &result)
			calls = append(calls, transcriptCall{id: "call", Name: m.Name, Arguments: model.JSONObject(m.Arguments),
				Result: &result})
		case "agent":
			messages, calls = append(messages, transcriptMessage{Speaker: rules.Agent, Text: m.Text, Calls: calls}), nil
		case "contact":
			messages = append(messages, transcriptMessage{Speaker: rules.Contact, Text: m.Text})
		}
	}
	messages = append(messages, transcriptMessage{Speaker: rules.Agent, Calls: calls})
	for _, m := range messages {
		if found, _ := m.find(q.Quote, nil); found != "" {
			return true
		}
	}
	return false
}

func TestQuotesOfTheListAreTakenIfFaithful(t *testing.T) {
	t.Parallel()
	list := readList[listedQuote](t, "quotes")
	var refused, taken []string
	faithful := 0
	for _, q := range list {
		is := q.isTaken()
		switch {
		case q.Faithful && !is:
			refused = append(refused, q.Quote)
		case !q.Faithful && is:
			taken = append(taken, q.Quote)
		}
		if q.Faithful {
			faithful++
		}
	}
	t.Logf("%d of %d faithful quotes taken, %d of %d false ones", faithful-len(refused), faithful, len(taken),
		len(list)-faithful)
	if heldOut != "" {
		return
	}
	t.Logf("refused: %q\ntaken: %q", refused, taken)
	require.Empty(t, taken)
	require.LessOrEqual(t, len(refused), faithful/20)
}
