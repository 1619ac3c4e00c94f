package server

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
	"github.com/agentgraph/agentgraph/model"
)

// NewJudge returns the command "judge".
func NewJudge() *cobra.Command {
	return cli.Group("judge", "Measure how well a model judges tests.", newJudgeEval())
}

type judgeEval struct {
	agentFlags
	File        string
	Votes       int
	Concurrency int
	cli.OutputFlag
}

func newJudgeEval() *cobra.Command {
	c := &judgeEval{}
	return cli.New(c, &cobra.Command{
		Use: "eval", Short: "Measure the judge on conversations with known verdicts. The command fails if the judge " +
			"passes a criterion that does not hold.",
		Example: `AGENTGRAPH_JUDGE_MODEL=gpt-4.1 agentgraph judge eval
agentgraph judge eval ours.yaml --votes 3 --json`,
	}, []cli.Argument{
		{Into: &c.File, Name: "file", Optional: true, Help: "YAML or JSON with conversations and verdicts. Without it, " +
			"the command uses the 60 verdicts that are part of the program."},
	}, c.models(), c.testModels(), cli.Flags{
		{Into: &c.Votes, Name: "votes", Default: "1", Help: "How many votes of the judge decide each criterion: 1, 3 or 5."},
		{Into: &c.Concurrency, Name: "concurrency", Default: "5", Help: "How many criteria may be judged at once, 1 to 50."},
	}, &c.OutputFlag)
}

func (c *judgeEval) Validate() error {
	return cmp.Or(
		cli.Refuse(c.Votes != 1 && c.Votes != 3 && c.Votes != 5, "--votes must be 1, 3 or 5"),
		cli.Refuse(c.Concurrency < 1 || c.Concurrency > 50, "--concurrency must be 1 to 50"),
		c.validateModels(),
	)
}

// labelled is a conversation with known verdicts. Messages and calls have the format of the JSON report of "test run".
type labelled struct {
	Name      string              `json:"name"`
	Messages  []model.TestMessage `json:"messages"`
	ToolCalls []labelledCall      `json:"toolCalls"`
	// EndedBy is agent, contact or limit; empty means contact.
	EndedBy   string  `json:"endedBy"`
	EndReason *string `json:"endReason"`
	Criteria  []struct {
		Criterion string `json:"criterion"`
		Holds     *bool  `json:"holds"`
	} `json:"criteria"`
}

type labelledCall struct {
	TechnicalName   string           `json:"technicalName"`
	Arguments       model.JSONObject `json:"arguments"`
	Result          *string          `json:"result"`
	Error           *string          `json:"error"`
	MessageSequence int32            `json:"messageSequence"`
	// Mocked is a part of reports.
	Mocked bool `json:"mocked"`
}

func (l labelled) run() *model.AgentTestRun {
	run := &model.AgentTestRun{Messages: l.Messages, EndReason: l.EndReason}
	for i, call := range l.ToolCalls {
		run.ToolCalls = append(run.ToolCalls, &model.ToolCall{
			ID: fmt.Sprintf("call_%d", i), Kind: model.ToolCallKindTool, TechnicalName: call.TechnicalName,
			Arguments: call.Arguments,
			Result:    call.Result, Error: call.Error, MessageSequence: call.MessageSequence,
		})
	}
	return run
}

//go:embed judged.yaml
var shippedVerdicts []byte

func readLabelled(text []byte) ([]labelled, error) {
	var decoded any
	if err := cli.DecodeYAML(text, &decoded); err != nil {
		return nil, err
	}
	asJSON, err := json.Marshal(decoded)
	if err != nil {
		return nil, err
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(asJSON, &entries); err != nil {
		return nil, err
	}
	all := make([]labelled, len(entries))
	for i, entry := range entries {
		decoder := json.NewDecoder(bytes.NewReader(entry))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&all[i])
		if err == nil {
			err = all[i].validate()
		}
		if err != nil {
			return nil, fmt.Errorf("conversation %d (%s): %s", i, all[i].Name,
				strings.Replace(err.Error(), "json: unknown field", "unknown key", 1))
		}
	}
	if len(all) == 0 {
		return nil, errors.New("the file has no conversations")
	}
	return all, nil
}

func (l labelled) validate() error {
	if len(l.Messages) == 0 || len(l.Criteria) == 0 {
		return errors.New("messages and criteria must not be empty")
	}
	if !slices.Contains([]string{"", "agent", "contact", "limit"}, l.EndedBy) {
		return errors.New("endedBy must be agent, contact or limit")
	}
	for i, call := range l.ToolCalls {
		answer := int(call.MessageSequence) + 1
		if answer < 0 || answer >= len(l.Messages) || l.Messages[answer].Role != model.MessageRoleAssistant {
			return fmt.Errorf("the messageSequence of call %d (%s) must be the position of a message that the agent "+
				"answers, from 0 on", i, call.TechnicalName)
		}
	}
	for _, criterion := range l.Criteria {
		if criterion.Criterion == "" || criterion.Holds == nil {
			return errors.New("each criterion needs the keys criterion and holds")
		}
	}
	return nil
}

// Run measures the judge and prints the figures. The exit code is 1 if the judge passed a criterion that does not hold,
// and 3 if it did not decide one.
func (c *judgeEval) Run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	text := shippedVerdicts
	if c.File != "" {
		var err error
		if text, err = cli.ReadFile(c.File); err != nil {
			return client.Exit(client.ExitUsage, err)
		}
	}
	conversations, err := readLabelled(text)
	if err != nil {
		return client.Exit(client.ExitUsage, fmt.Errorf("%s: %w", c.File, err))
	}
	measured, err := c.measure(ctx, conversations)
	if err != nil {
		return err
	}
	if c.JSON {
		err = cli.WriteJSON(cmd.OutOrStdout(), measured)
	} else {
		err = measured.write(cmd.OutOrStdout())
	}
	switch {
	case err != nil:
		return err
	case measured.FalsePasses > 0:
		return client.Exit(client.ExitFailed, fmt.Errorf("the judge passed %d criteria that do not hold",
			measured.FalsePasses))
	case measured.Undecided > 0:
		return client.Exit(client.ExitServer, fmt.Errorf("the judge did not decide %d criteria", measured.Undecided))
	}
	return nil
}

func (c *judgeEval) measure(ctx context.Context, conversations []labelled) (*judgeMeasured, error) {
	if c.Judge.Model == "" && c.IsOffline() {
		return nil, client.Exit(client.ExitUsage, errors.New("no judge is configured: set OPENAI_API_KEY, or "+
			"AGENTGRAPH_JUDGE_MODEL with AGENTGRAPH_JUDGE_API_KEY"))
	}
	_, evaluator, release, err := app.NewEngine(c.options(nil, slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	defer release()
	measured := &judgeMeasured{Model: cmp.Or(c.Judge.Model, c.Provider.Model), Votes: c.Votes}
	for _, conversation := range conversations {
		for _, criterion := range conversation.Criteria {
			measured.Verdicts = append(measured.Verdicts, judgeVerdict{Conversation: conversation.Name,
				Criterion: criterion.Criterion, Holds: *criterion.Holds, conversation: conversation})
		}
	}
	var group errgroup.Group
	group.SetLimit(c.Concurrency)
	for i := range measured.Verdicts {
		v := &measured.Verdicts[i]
		group.Go(func() error {
			result, err := evaluator.JudgeAlone(ctx, v.conversation.run(), cmp.Or(v.conversation.EndedBy, "contact"),
				v.Criterion, c.Votes)
			if err != nil {
				v.Error = err.Error()
				return ctx.Err()
			}
			v.Passed, v.Rationale, v.Agreement = &result.Passed, result.Rationale, result.Agreement
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, client.ExitWith(ctx, err)
	}
	measured.count()
	return measured, nil
}

// judgeMeasured has the figures of a judge.
type judgeMeasured struct {
	Model       string `json:"model"`
	Votes       int    `json:"votes"`
	Right       int    `json:"right"`
	FalsePasses int    `json:"falsePasses"`
	// FalseFailures counts the criteria that hold and that the judge failed.
	FalseFailures int `json:"falseFailures"`
	Undecided     int `json:"undecided"`
	// Accuracy is the share of correct verdicts. Nil without verdicts.
	Accuracy *float64 `json:"accuracy"`
	// Kappa is Cohen's kappa, at most 1: the agreement with the known verdicts, corrected for agreement by chance. Nil
	// without verdicts, or if chance alone would always agree.
	Kappa    *float64       `json:"kappa"`
	Verdicts []judgeVerdict `json:"verdicts"`
	holding  int
}

type judgeVerdict struct {
	Conversation string   `json:"conversation"`
	Criterion    string   `json:"criterion"`
	Holds        bool     `json:"holds"`
	Passed       *bool    `json:"passed"`
	Agreement    *float64 `json:"agreement"`
	Rationale    string   `json:"rationale"`
	Error        string   `json:"error,omitempty"`
	conversation labelled
}

func (m *judgeMeasured) count() {
	holding, passed := 0, 0
	for _, v := range m.Verdicts {
		switch {
		case v.Passed == nil:
			m.Undecided++
			continue
		case *v.Passed == v.Holds:
			m.Right++
		case v.Holds:
			m.FalseFailures++
		default:
			m.FalsePasses++
		}
		if v.Holds {
			holding++
		}
		if *v.Passed {
			passed++
		}
	}
	m.holding = holding
	decided := len(m.Verdicts) - m.Undecided
	if decided == 0 {
		return
	}
	n := float64(decided)
	accuracy := float64(m.Right) / n
	byChance := (float64(holding)*float64(passed) + (n-float64(holding))*(n-float64(passed))) / (n * n)
	m.Accuracy = &accuracy
	if byChance < 1 {
		m.Kappa = new((accuracy - byChance) / (1 - byChance))
	}
}

func (m *judgeMeasured) write(out io.Writer) error {
	var text bytes.Buffer
	for _, v := range m.Verdicts {
		switch {
		case v.Passed == nil:
			fmt.Fprintf(&text, "! %s: %s\n  %s\n", client.Printable(v.Conversation), client.Printable(v.Criterion),
				client.Printable(v.Error))
		case *v.Passed != v.Holds:
			outcome := map[bool]string{true: "passed, although it does not hold", false: "failed, although it holds"}[*v.Passed]
			fmt.Fprintf(&text, "✗ %s: %s\n  %s: %s\n", client.Printable(v.Conversation), client.Printable(v.Criterion), outcome,
				client.Printable(v.Rationale))
		}
	}
	decided := len(m.Verdicts) - m.Undecided
	fmt.Fprintf(&text, "%s: %d of %d verdicts are right", m.Model, m.Right, decided)
	if m.Kappa != nil {
		fmt.Fprintf(&text, " (Cohen's kappa %.2f)", *m.Kappa)
	}
	fmt.Fprintf(&text, "\nFalse passes: %d of %d that do not hold\nFalse failures: %d of %d that hold\nWithout a "+
		"verdict: %d\n", m.FalsePasses, decided-m.holding, m.FalseFailures, m.holding, m.Undecided)
	_, err := text.WriteTo(out)
	return err
}
