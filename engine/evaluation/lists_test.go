package evaluation

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/read"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// readList reads a list of testdata, or of the directory in AGENTGRAPH_LISTS, which need not have all lists.
func readList[T any](t *testing.T, name string) (list []T) {
	t.Helper()
	directory := os.Getenv("AGENTGRAPH_LISTS")
	if directory == "" {
		directory = "testdata"
	}
	file, err := os.Open(filepath.Join(directory, name+".jsonl"))
	if errors.Is(err, fs.ErrNotExist) && os.Getenv("AGENTGRAPH_LISTS") != "" {
		return nil
	}
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

// requireDocumented requires that a row of agent-tests.md has the figures. The share own comes from the lists that the
// rules were written with. The share kept comes from the lists that were set aside. With AGENTGRAPH_LISTS,
// requireDocumented only logs the figures.
func requireDocumented(t *testing.T, row string, own, kept share) {
	t.Helper()
	t.Logf("%s: %v; %v kept apart", row, own, kept)
	if os.Getenv("AGENTGRAPH_LISTS") != "" {
		return
	}
	text, err := os.ReadFile("../../docs/internals/decisions/agent-tests.md")
	require.NoError(t, err)
	_, line, isThere := strings.Cut(string(text), "\n| "+row+" |")
	require.True(t, isThere, row)
	line, _, _ = strings.Cut(line, "\n")
	require.True(t, strings.HasSuffix(line, fmt.Sprintf("| %v | %v |", own, kept)), "%s: %v, %v", row, own, kept)
}

// share is how many of all cases meet a condition.
type share struct{ some, all int }

func (s share) String() string { return fmt.Sprintf("%d of %d", s.some, s.all) }

func (s *share) count(is bool) {
	if s.all++; is {
		s.some++
	}
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
	taken := func(list string) (faithful, other share) {
		for _, q := range readList[listedQuote](t, list) {
			is := q.isTaken()
			if is != q.Faithful {
				t.Logf("%s: faithful %v, taken %v: %q", list, q.Faithful, is, q.Quote)
			}
			if q.Faithful {
				faithful.count(is)
			} else {
				other.count(is)
			}
		}
		return faithful, other
	}
	faithful, other := taken("quotes")
	keptFaithful, keptOther := taken("heldout_quotes")
	requireDocumented(t, "faithful quotes taken", faithful, keptFaithful)
	requireDocumented(t, "false quotes taken", other, keptOther)
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
	return roleViolation(l.ContactTurn, l.Scenario, append(messages, written(model.MessageRoleAssistant, l.AgentTurn)))
}

// Rules alone detect most messages that are outside of the contact's role. The review after a run finds the others.
func TestRulesDetectContactsOutOfRole(t *testing.T) {
	t.Parallel()
	refused := func(list string, in func(language string) bool) (noticed share) {
		for _, l := range readList[listedTurn](t, list) {
			if in(l.Language) {
				err := l.refusal()
				noticed.count(err != nil)
				t.Logf("%s, %s, %v: %q", list, l.Language, err, l.ContactTurn)
			}
		}
		return noticed
	}
	documented := func(row, list string, in func(string) bool) {
		requireDocumented(t, row, refused(list, in), refused("heldout_"+list, in))
	}
	all := func(string) bool { return true }
	known := read.Set("en fr de es it pt")
	documented("contacts out of their role, noticed by rules, in English, French, German, Spanish, Italian and Portuguese",
		"offrole", func(language string) bool { return known[language] })
	documented("the same in other languages", "offrole", func(language string) bool { return !known[language] })
	documented("contacts in their role that are refused", "inrole", all)
	documented("second list, ten languages: contacts out of their role, noticed by rules", "offrole.2", all)
	documented("second list: contacts in their role that are refused", "inrole.2", all)
}
