package engine

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// script is a model with prepared answers. The first line of the prompt selects its answers.
type script struct {
	answers map[string][]answer

	mutex sync.Mutex
	asked map[string][]llm.Request
}

type answer struct {
	texts []string
	calls []llm.ToolCall
	err   error
	// hook runs before the answer.
	hook func(context.Context)
}

func (*script) Name() string { return "scripted" }

func (s *script) Chat(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		a := s.next(req)
		if a.hook != nil {
			a.hook(ctx)
		}
		if ctx.Err() != nil {
			yield(llm.Chunk{}, ctx.Err())
			return
		}
		for _, text := range a.texts {
			if !yield(llm.Chunk{Text: text}, nil) {
				return
			}
		}
		if a.err != nil {
			yield(llm.Chunk{}, a.err)
			return
		}
		finish := llm.FinishStop
		if len(a.calls) > 0 {
			finish = llm.FinishToolCalls
		}
		yield(llm.Chunk{Finish: finish, ToolCalls: a.calls}, nil)
	}
}

// next returns the next answer. Once all have been given, it repeats the last one.
func (s *script) next(req llm.Request) answer {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.asked == nil {
		s.asked = map[string][]llm.Request{}
	}
	prompt, _, _ := strings.Cut(req.System, "\n")
	n := len(s.asked[prompt])
	s.asked[prompt] = append(s.asked[prompt], req)
	answers, ok := s.answers[prompt]
	if !ok {
		return answer{err: fmt.Errorf("no script for %q", prompt)}
	}
	return answers[min(n, len(answers)-1)]
}

func say(texts ...string) answer { return answer{texts: texts} }

// do returns an answer that makes calls. Names and arguments alternate.
func do(namesAndArguments ...string) answer {
	var a answer
	for i := 0; i < len(namesAndArguments); i += 2 {
		a.calls = append(a.calls, llm.ToolCall{
			ID: fmt.Sprintf("c%d", i/2), Name: namesAndArguments[i], Arguments: namesAndArguments[i+1],
		})
	}
	return a
}

func (a answer) saying(texts ...string) answer {
	a.texts = texts
	return a
}

// scene is a turn of the agent "Main" with effects that the test controls.
type scene struct {
	script  script
	main    *Speaker
	others  map[string]*Speaker
	mocking model.ToolMocking
	history []llm.Message
	made    map[string]int32
	// before has the calls of earlier turns.
	before  []*model.ToolCall
	effects effects
	limits  limits

	mutex sync.Mutex
	// effected has the real calls in the order in which they were made, and waited has the delays.
	effected []string
	waited   []time.Duration
	// started has the names of the real calls that were started.
	started []string
}

// newScene returns an agent with the tools book and look, the sub-agent ask_expert and the transfer.
func newScene(answers ...answer) *scene {
	s := &scene{
		script: script{answers: map[string][]answer{"Main": answers}},
		main: &Speaker{
			Agent: &model.Agent{ID: "main", Prompt: "Main", IsCallTransferEnabled: true, Channel: model.ChannelPhone},
			Tools: []*model.Tool{
				newTool("book", `{"type":"object","properties":{"day":{"type":"string"},"seats":{"type":"integer"}},"required":["day"]}`), newTool("look", `{"type":"object"}`)},
			SubAgents: []*model.SubAgent{
				{ID: "sub_expert", DelegateAgentID: "expert", TechnicalName: "ask_expert", Description: "Knows"},
			},
		},
		others: map[string]*Speaker{"expert": {
			Agent: &model.Agent{ID: "expert", Prompt: "Expert of {clinic}", IsCallTransferEnabled: true,
				Channel: model.ChannelPhone},
			Tools: []*model.Tool{newTool("dig", `{"type":"object"}`)},
		}},
		limits: limits{modelCalls: 8, depth: 5, replyTimeout: time.Minute},
	}
	s.effects = effects{
		now:  func() time.Time { return at },
		wait: func(_ context.Context, d time.Duration) error { s.note(&s.waited, d); return nil },
		call: func(_ context.Context, tool *model.Tool, arguments model.JSONObject) (string, error) {
			s.effect(tool.TechnicalName + string(arguments))
			return "result of " + tool.TechnicalName, nil
		},
		open: func(_ context.Context, sub *model.SubAgent) (*Speaker, error) {
			if other := s.others[sub.DelegateAgentID]; other != nil {
				return other, nil
			}
			return nil, model.Missing("agent", sub.DelegateAgentID)
		},
		transfer: func(_ context.Context, reason string) error {
			s.effect("transfer: " + reason)
			return nil
		},
		beginCall: func(_ context.Context, call *model.ToolCall) error {
			s.mutex.Lock()
			defer s.mutex.Unlock()
			s.started = append(s.started, call.TechnicalName)
			return nil
		},
	}
	return s
}

func newTool(name, schema string) *model.Tool {
	return &model.Tool{
		ID: "tool_" + name, TechnicalName: name, Description: "To " + name, Parameters: model.JSONObject(schema),
		Endpoint: &model.ToolEndpoint{Method: model.HTTPMethodPost, URL: "https://example.com/" + name},
	}
}

func (s *scene) effect(what string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.effected = append(s.effected, what)
}

func (s *scene) note(to *[]time.Duration, d time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	*to = append(*to, d)
}

// outcome is the outcome of a turn.
type outcome struct {
	text  string
	reply *Reply
	// calls has the calls in the order in which they started.
	calls []model.ToolCall
	// order has the starts (+) and ends (-) of calls, in order.
	order    []string
	warnings []string
	causes   []error
	err      error
}

func (s *scene) chooseModel(*model.Agent) (llm.Model, error) { return &s.script, nil }

func (s *scene) conversation(t *testing.T) *conversation {
	t.Helper()
	turn := &turn{
		chooseModel: s.chooseModel, limits: s.limits, effects: s.effects, checks: rules.NewChecker(),
		variables: content.Values{"clinic": "Lakeside", "name": "Ana"}, mocking: &s.mocking,
	}
	turn.transfer.restore(s.before)
	made := s.made
	if made == nil {
		made = map[string]int32{}
	}
	c, err := turn.converse(s.main, append(s.history, llm.Message{Role: llm.RoleUser, Text: "Hello"}), made)
	require.NoError(t, err)
	return c
}

func (s *scene) play(t *testing.T) outcome {
	t.Helper()
	return s.playUntil(t.Context(), t)
}

// playUntil plays the turn with a context, and checks the rules of every turn.
func (s *scene) playUntil(ctx context.Context, t *testing.T) outcome {
	t.Helper()
	var o outcome
	place := map[string]int{}
	open := 0
	for e, err := range s.conversation(t).events(ctx) {
		require.True(t, o.reply == nil && o.err == nil, "nothing follows the end")
		switch {
		case err != nil:
			o.err = err
		case e.reply != nil:
			o.reply = e.reply
		case e.started != nil:
			require.Nil(t, e.started.Result)
			require.Nil(t, e.started.Error)
			place[e.started.ID] = len(o.calls)
			o.calls = append(o.calls, *e.started)
			o.order = append(o.order, "+"+e.started.TechnicalName)
			open++
		case e.finished != nil:
			call := e.finished.call
			require.NotEqual(t, call.Result == nil, call.Error == nil, "either a result or an error")
			i, known := place[call.ID]
			require.True(t, known)
			o.calls[i] = call
			o.order = append(o.order, "-"+call.TechnicalName)
			o.warnings = append(o.warnings, e.finished.warnings...)
			if e.finished.cause != nil {
				o.causes = append(o.causes, e.finished.cause)
			}
			open--
		default:
			o.text += e.text
		}
	}
	require.Zero(t, open, "every call that began has ended")
	for _, requests := range s.script.asked {
		for _, req := range requests {
			requireAnswered(t, req)
		}
	}
	return o
}

// requireAnswered requires that every call has its result before any other message.
func requireAnswered(t *testing.T, req llm.Request) {
	t.Helper()
	for i, m := range req.Messages {
		for j, call := range m.ToolCalls {
			require.Equal(t, llm.RoleTool, req.Messages[i+1+j].Role)
			require.Equal(t, call.ID, req.Messages[i+1+j].ToolCallID)
		}
	}
}

// resultsBefore returns the results of calls that the agent Main saw before its answer with that number.
func (s *scene) resultsBefore(number int) []string {
	var told []string
	for _, m := range s.script.asked["Main"][number].Messages {
		if m.Role == llm.RoleTool {
			told = append(told, m.Text)
		}
	}
	return told
}

// requireFault requires that an error is the fault of the model, and returns its text.
func requireFault(t *testing.T, err error) string {
	t.Helper()
	var known *model.Error
	require.ErrorAs(t, err, &known)
	require.Equal(t, model.UpstreamFailed, known.Code)
	return known.Error()
}

// retrieves returns an effect that finds the same chunks for every question.
func retrieves(found ...*model.RetrievedChunk) func(context.Context, *model.KnowledgeBaseChat,
	string) ([]*model.RetrievedChunk, error) {
	return func(context.Context, *model.KnowledgeBaseChat, string) ([]*model.RetrievedChunk, error) {
		return found, nil
	}
}
