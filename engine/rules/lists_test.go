package rules_test

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

	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// listed is a criterion with a conversation. Its author did not know the rules.
type listed struct {
	Criterion        string
	Tools, SubAgents []string
	Transcript       []struct {
		Role, Text, Name, To string
		Arguments            json.RawMessage
	}
	// Holds is the verdict of a careful reader.
	Holds bool
}

// readList reads a list of testdata, or of the directory in AGENTGRAPH_LISTS, which need not have all lists.
func readList(t *testing.T, name string) (list []listed) {
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
		var each listed
		require.NoError(t, json.Unmarshal(lines.Bytes(), &each))
		list = append(list, each)
	}
	require.NoError(t, lines.Err())
	require.NotEmpty(t, list)
	return list
}

// conversation returns the conversation of a listed criterion. A transfer to a destination that is not a person counts
// as a failed transfer.
func (l listed) conversation() *rules.Conversation {
	run, endedBy := &model.AgentTestRun{}, rules.Contact
	call := func(name string, arguments json.RawMessage, failure *string) {
		at := int32(len(run.Messages) - 1)
		run.ToolCalls = append(run.ToolCalls, &model.ToolCall{ID: model.NewID("call"), TechnicalName: name,
			Arguments: model.JSONObject(arguments), MessageSequence: at, Error: failure})
	}
	for _, m := range l.Transcript {
		switch m.Role {
		case "agent":
			run.Messages = append(run.Messages, model.TestMessage{Role: model.MessageRoleAssistant, Text: m.Text})
		case "contact":
			run.Messages = append(run.Messages, model.TestMessage{Role: model.MessageRoleUser, Text: m.Text})
		case "tool", "subAgent":
			call(m.Name, m.Arguments, nil)
		case "transfer":
			var failure *string
			if m.To != "human" {
				failure = new("no person is there")
			}
			call("transfer_call", nil, failure)
		case "end":
			endedBy = rules.Agent
		}
	}
	held := rules.NewConversation(run, 0, endedBy)
	for _, name := range append(l.Tools, l.SubAgents...) {
		held.Targets = append(held.Targets, rules.Target{Name: name})
	}
	return held
}

// requireDocumented requires that a row of agent-tests.md has these figures. The first is for a whole list, the second
// for the part that was set aside. With AGENTGRAPH_LISTS it only logs them.
func requireDocumented(t *testing.T, row string, figures [2]string) {
	t.Helper()
	t.Logf("%s: %q", row, figures)
	if os.Getenv("AGENTGRAPH_LISTS") != "" {
		return
	}
	text, err := os.ReadFile("../../docs/internals/decisions/agent-tests.md")
	require.NoError(t, err)
	_, line, isThere := strings.Cut(string(text), "\n| "+row+" |")
	require.True(t, isThere, row)
	line, _, _ = strings.Cut(line, "\n")
	require.True(t, strings.HasSuffix(line, "| "+strings.Join(figures[:], " | ")+" |"), "%s: %q", row, figures)
}

// If the program can decide a criterion, a judge that always says yes must not make a false one pass.
func TestDecidableCriteriaOfTheListAreDecided(t *testing.T) {
	t.Parallel()
	var wrongly, passes [2]string
	for i, name := range []string{"decidable", "heldout_decidable"} {
		list := readList(t, name)
		wrong, falsePasses, untrue := 0, 0, 0
		for _, each := range list {
			verdict := rules.Decide(each.conversation(), each.Criterion)
			if !each.Holds {
				untrue++
			}
			switch {
			case verdict == nil && !each.Holds:
				falsePasses++
				t.Logf("%s: left to the judge: %s", name, each.Criterion)
			case verdict != nil && verdict.Passed != each.Holds:
				wrong++
				t.Logf("%s: wrong: %s: %s", name, each.Criterion, verdict.Rationale)
			}
		}
		wrongly[i] = fmt.Sprintf("%d of %d", wrong, len(list))
		passes[i] = fmt.Sprintf("%d of %d", falsePasses, untrue)
	}
	requireDocumented(t, "criteria that the program decides wrongly", wrongly)
	requireDocumented(t, "false criteria that a program can decide: passes with a judge that says yes to all", passes)
}

func TestUndecidableCriteriaOfTheListAreLeftToTheJudge(t *testing.T) {
	t.Parallel()
	var decided [2]string
	for i, name := range []string{"undecidable", "heldout_undecidable"} {
		list, n := readList(t, name), 0
		for _, each := range list {
			if verdict := rules.Decide(each.conversation(), each.Criterion); verdict != nil {
				n++
				t.Logf("%s: decided: %s: %s", name, each.Criterion, verdict.Rationale)
			}
		}
		decided[i] = fmt.Sprintf("%d of %d", n, len(list))
	}
	requireDocumented(t, "criteria that need a judge, and that the program decides", decided)
}
