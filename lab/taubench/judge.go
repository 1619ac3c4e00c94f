package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/apply"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// checksOf returns the checks of each task, as "agentgraph test import --from tau2-bench" makes them.
func checksOf(ctx context.Context, trials []trial) (map[int][]model.TestCheck, error) {
	folder, err := os.MkdirTemp("", "taubench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	tasks, tests := filepath.Join(folder, "tasks.json"), filepath.Join(folder, "tests.yaml")
	text, err := json.Marshal(tau2Tasks(trials))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(tasks, text, 0o600); err != nil {
		return nil, err
	}
	convert := &apply.TestImport{Output: tests}
	convert.From, convert.File, convert.Agent = "tau2-bench", []string{tasks}, "tau-bench"
	command := &cobra.Command{}
	command.SetContext(ctx)
	command.SetOut(io.Discard)
	if err := convert.Run(command); err != nil {
		return nil, err
	}
	return readChecks(tests)
}

// tau2Tasks returns the tasks in the format of tau2-bench, tau-bench's successor.
func tau2Tasks(trials []trial) (tasks []any) {
	type fields = map[string]any
	seen := map[int]bool{}
	for _, t := range trials {
		if seen[t.Task] {
			continue
		}
		seen[t.Task] = true
		actions := []any{}
		for _, action := range t.Info.Task.Actions {
			actions = append(actions, fields{"name": action.Name, "arguments": action.Arguments})
		}
		tasks = append(tasks, fields{
			"id":            strconv.Itoa(t.Task),
			"user_scenario": fields{"instructions": t.Info.Task.Instruction},
			"evaluation_criteria": fields{
				"actions": actions, "communicate_info": t.Info.Task.Outputs, "reward_basis": []string{"DB", "COMMUNICATE"},
			},
		})
	}
	return tasks
}

// readChecks returns the checks in a file of tests, by the numbers of their tasks.
func readChecks(file string) (map[int][]model.TestCheck, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		return nil, err
	}
	var tests struct {
		AgentTests []struct {
			Simulations []struct {
				Name   string
				Checks []model.TestCheck
			}
		}
	}
	if err := json.Unmarshal(text, &tests); err != nil {
		return nil, err
	}
	checks := map[int][]model.TestCheck{}
	for _, test := range tests.AgentTests[0].Simulations {
		number, err := strconv.Atoi(strings.TrimPrefix(test.Name, "Task "))
		if err != nil {
			return nil, err
		}
		for i := range test.Checks {
			if said := test.Checks[i].Expect.Says; said != nil {
				said.Role = model.MessageRoleAssistant // the default
			}
		}
		checks[number] = test.Checks
	}
	return checks, nil
}

// conversation returns a trial as a run's conversation.
func (t *trial) conversation() *rules.Conversation {
	run := &model.AgentTestRun{}
	results := map[string]string{}
	for _, m := range t.Messages {
		results[m.CallID] = m.Content
	}
	endedBy := rules.Limit
	for _, m := range t.Messages {
		switch m.Role {
		case "user":
			run.TurnCount++
			run.Messages = append(run.Messages, model.TestMessage{Role: model.MessageRoleUser, Text: m.Content})
			if strings.Contains(m.Content, "###STOP###") {
				endedBy = rules.Contact
			}
		case "assistant":
			for _, call := range m.Calls {
				result := results[call.ID]
				made := &model.ToolCall{
					ID: call.ID, Kind: model.ToolCallKindTool, TechnicalName: call.Function.Name,
					Arguments: model.JSONObject(call.Function.Arguments), Result: &result,
					MessageSequence: int32(len(run.Messages) - 1),
				}
				if strings.HasPrefix(result, "Error") {
					made.Error = &result // a call with an error changes nothing
				}
				run.ToolCalls = append(run.ToolCalls, made)
				if call.Function.Name == "transfer_to_human_agents" {
					endedBy = rules.Agent
				}
			}
			if m.Content != "" {
				run.Messages = append(run.Messages, model.TestMessage{Role: model.MessageRoleAssistant, Text: m.Content})
			}
		}
	}
	if endedBy == rules.Limit {
		run.TurnCount = model.MaxTurns // tau-bench gives no reward if the conversation does not end
	}
	return rules.NewConversation(run, 0, endedBy)
}

// judged compares the verdicts of the checks with the published rewards.
type judged struct {
	rewarded, notRewarded     int
	falsePasses, falseFailure []string
}

func judge(ctx context.Context, trials []trial, checks map[int][]model.TestCheck) (*judged, error) {
	j := &judged{}
	checker := rules.NewChecker()
	for _, t := range trials {
		if len(checks[t.Task]) == 0 {
			return nil, fmt.Errorf("task %d has no checks", t.Task)
		}
		held, failed := t.conversation(), ""
		for _, check := range checks[t.Task] {
			found, err := checker.Check(ctx, &check.Expect, held)
			if err != nil {
				return nil, fmt.Errorf("task %d, trial %d: %w", t.Task, t.Trial, err)
			}
			if !found.Passed && failed == "" {
				failed = fmt.Sprintf("%s: %s", check.Description(), found.Observed)
			}
		}
		j.add(t, failed)
	}
	return j, nil
}

// add counts the verdict on a trial. failed describes the first check that does not hold.
func (j *judged) add(t trial, failed string) {
	which := fmt.Sprintf("task %d, trial %d", t.Task, t.Trial)
	if t.Reward == 1 {
		j.rewarded++
		if failed != "" {
			j.falseFailure = append(j.falseFailure, which+": "+failed)
		}
		return
	}
	j.notRewarded++
	if failed == "" {
		j.falsePasses = append(j.falsePasses, which)
	}
}

func (j *judged) print(out io.Writer) {
	fmt.Fprintf(out, "  false passes: %d of %d that tau-bench fails\n", len(j.falsePasses), j.notRewarded)
	for _, which := range j.falsePasses {
		fmt.Fprintf(out, "    %s\n", which)
	}
	fmt.Fprintf(out, "  false failures: %d of %d that tau-bench passes\n", len(j.falseFailure), j.rewarded)
	for _, which := range j.falseFailure {
		fmt.Fprintf(out, "    %s\n", which)
	}
}
