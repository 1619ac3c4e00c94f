package evaluation

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// heldOut is a directory with other lists. For them, the tests only print figures.
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
	defer func() { require.NoError(t, file.Close()) }()
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

// listedQuote is a quote that is supposed to be from the conversation.
type listedQuote struct {
	Transcript []struct {
		Role, Text, Name  string
		Arguments, Result json.RawMessage
	}
	Quote    string
	Faithful bool
}

// isTaken reports whether a message of the conversation contains the quote.
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

func TestFaithfulQuotesOfTheListAreAccepted(t *testing.T) {
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

// listedTurn is a message of a simulated contact.
type listedTurn struct {
	Language, Scenario, AgentTurn, ContactTurn string
	History                                    []struct{ Role, Text string }
}

// refusal returns why the rules refuse the message.
func (l listedTurn) refusal() error {
	var messages []model.TestMessage
	for _, m := range l.History {
		role := model.MessageRoleUser
		if m.Role == "agent" {
			role = model.MessageRoleAssistant
		}
		messages = append(messages, written(role, m.Text))
	}
	return offRole(l.ContactTurn, l.Scenario, append(messages, written(model.MessageRoleAssistant, l.AgentTurn)))
}

// Rules alone detect most messages that are outside of the contact's role. The review after a run finds the others.
func TestRulesDetectContactsOutOfRole(t *testing.T) {
	t.Parallel()
	known := read.Set("en fr de es it pt")
	var missed, refused []string
	all, noticed := map[bool]int{}, map[bool]int{}
	for _, l := range readList[listedTurn](t, "offrole") {
		all[known[l.Language]]++
		if l.refusal() != nil {
			noticed[known[l.Language]]++
		} else {
			missed = append(missed, l.Language+": "+l.ContactTurn)
		}
	}
	right := readList[listedTurn](t, "inrole")
	for _, l := range right {
		if err := l.refusal(); err != nil {
			refused = append(refused, l.ContactTurn+": "+err.Error())
		}
	}
	t.Logf("off role: %d of %d noticed in known languages, %d of %d in others; in role: %d of %d refused", noticed[true],
		all[true], noticed[false], all[false], len(refused), len(right))
	if heldOut != "" {
		return
	}
	t.Logf("missed: %q\nrefused: %q", missed, refused)
	require.GreaterOrEqual(t, noticed[true]*10, all[true]*8)
	require.GreaterOrEqual(t, noticed[false]*10, all[false]*7)
	require.LessOrEqual(t, len(refused), 2)
}
