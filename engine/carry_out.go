package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/rules"
	"github.com/agentgraph/agentgraph/model"
)

// applyCalls carries out the calls of an answer and appends their results to the request: first tools and sub-agents,
// concurrently, then the transfer, then the end. The model can correct wrong calls once. Wrong calls are announced and
// recorded like the others.
func (c *conversation) applyCalls(ctx context.Context, asked []llm.ToolCall, emit func(event) bool) error {
	if len(asked) > maxCalls {
		return c.fault("made %d calls in one answer, more than the limit of %d", len(asked), maxCalls)
	}
	calls := make([]*call, len(asked))
	var wrong *call
	for i := range asked {
		calls[i] = c.prepare(ctx, asked[i])
		if calls[i].validationErr != nil {
			wrong = calls[i]
		}
	}
	if wrong != nil && c.corrected {
		return c.fault("made an invalid call again, although it was asked to correct the first one: %s: %s",
			content.Cut(wrong.requested.Name, maxName),
			content.Cut(wrong.validationErr.Error(), rules.MaxFault))
	}
	c.corrected = c.corrected || wrong != nil
	var first, transfers []*call
	for _, call := range calls {
		switch {
		case call.target == &endTarget && call.validationErr == nil:
		case call.target != nil && call.target.Kind == model.ToolCallKindCallTransfer:
			transfers = append(transfers, call)
		default:
			first = append(first, call)
		}
	}
	if err := c.carryOut(ctx, first, maxCallsAtOnce, emit); err != nil {
		return err
	}
	if err := c.carryOut(ctx, transfers, 1, emit); err != nil {
		return err
	}
	c.endIfRequested(calls)
	for _, call := range calls {
		c.req.Messages = append(c.req.Messages, llm.Message{Role: llm.RoleTool, ToolCallID: call.requested.ID,
			Text: call.answer})
	}
	return nil
}

// finalCalls returns the calls that transfer or end the conversation. It is used for the last answer that the model may
// give in a turn: the other calls are not carried out, because the model could not read their results.
func (c *conversation) finalCalls(calls []llm.ToolCall) []llm.ToolCall {
	return slices.DeleteFunc(slices.Clone(calls), func(call llm.ToolCall) bool {
		t := c.targets[call.Name]
		return t == nil || t != &endTarget && t.Kind != model.ToolCallKindCallTransfer
	})
}

// prepare parses and checks a call without carrying it out. It numbers a valid call of a mocked target.
func (c *conversation) prepare(ctx context.Context, asked llm.ToolCall) *call {
	call := &call{requested: asked, target: c.targets[asked.Name]}
	var err error
	call.arguments, call.argumentsJSON, err = content.ParseArguments(asked.Arguments)
	switch {
	case call.target == nil:
		names := strings.Join(slices.Sorted(maps.Keys(c.targets)), ", ")
		err = fmt.Errorf("there is no tool %q, only %s", content.Cut(asked.Name, maxName), names)
	case err == nil:
		if err = c.validate(ctx, call); err != nil && c.reloadSchema(ctx, call.target) {
			err = c.validate(ctx, call)
		}
	}
	if err != nil {
		call.validationErr, call.failed = err, true
		call.answer = failureMessage(err.Error()) + " Correct the call; do not repeat what you said."
		return call
	}
	if id := call.target.TargetID; id != nil && call.target.mock != nil && c.mockedCalls != nil {
		call.number = c.mockedCalls[*id]
		c.mockedCalls[*id]++
	}
	return call
}

// validate returns an error for the model if the arguments are invalid for the call's target.
func (c *conversation) validate(ctx context.Context, call *call) error {
	if err := c.checks.Validate(ctx, call.target.parameters, call.arguments); err != nil {
		return err
	}
	if name := call.target.requiredText; name != "" {
		if text, _ := call.arguments.Text(name); strings.TrimSpace(text) == "" {
			return fmt.Errorf("the arguments are invalid: %s: is blank", name)
		}
	}
	return nil
}

// reloadSchema reads the schema of an MCP server's tool again, and returns whether it changed. The model sees the new
// schema. Calls that are not real do not reach the server.
func (c *conversation) reloadSchema(ctx context.Context, t *target) bool {
	canReach := t.Effect == model.CallEffectReal || t.Effect == model.CallEffectUnavailable
	if !canReach || t.tool == nil || t.tool.McpServerID == nil {
		return false
	}
	current, err := c.effects.reload(ctx, t.tool)
	if err != nil || string(current.Parameters) == string(t.tool.Parameters) {
		return false
	}
	t.tool, t.parameters = current, json.RawMessage(current.Parameters)
	for i := range c.req.Tools {
		if c.req.Tools[i].Name == t.TechnicalName {
			c.req.Tools[i].Parameters = t.parameters
		}
	}
	return true
}

// carryOut starts the calls in order, at most atOnce concurrently, and returns when all are done. It returns an error
// only if ctx ended or emit returned false.
func (c *conversation) carryOut(ctx context.Context, calls []*call, atOnce int, emit func(event) bool) error {
	if len(calls) == 0 {
		return nil
	}
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	events := make(chan event)
	go func() {
		defer close(events)
		var running sync.WaitGroup
		slots := make(chan struct{}, atOnce)
		for _, call := range calls {
			slots <- struct{}{}
			if inner.Err() != nil {
				break
			}
			started := c.newRecord(call)
			events <- event{started: &started, isUnreadable: call.arguments == nil}
			running.Go(func() {
				c.perform(inner, call, func(e event) { events <- e })
				events <- event{finished: &finished{call.record, call.cause, call.warnings}}
				<-slots
			})
		}
		running.Wait()
	}()
	left := false
	for e := range events {
		if !left && !emit(e) {
			left = true
			cancel()
		}
	}
	if left {
		return errConsumerStopped
	}
	return ctx.Err()
}

// newRecord returns the record of a call before it is made.
func (c *conversation) newRecord(call *call) model.ToolCall {
	call.record = model.ToolCall{
		ID: model.NewID("call"), Kind: model.ToolCallKindTool, TechnicalName: content.Clip(call.requested.Name,
			maxTechnicalName),
		Arguments: call.argumentsJSON, DelegationID: c.delegation, StartedAt: c.effects.now(), Real: new(false),
	}
	if t := call.target; t != nil && t != &endTarget {
		call.record.Kind, call.record.TargetID, call.record.TechnicalName = t.Kind, t.TargetID, t.TechnicalName
		call.record.Mocked = call.validationErr == nil && t.Effect == model.CallEffectMocked
		c.resume(&call.record)
	}
	return call.record
}

func (c *conversation) perform(ctx context.Context, call *call, emit func(event)) {
	result, err := c.execute(ctx, call, emit)
	call.record.DurationMs = int32(max(call.delay, c.effects.now().Sub(call.record.StartedAt)).Milliseconds())
	c.callBytes.Add(int64(len(call.argumentsJSON)))
	if err == nil {
		result = content.Cut(result, maxResult)
		c.callBytes.Add(int64(len(result)))
		call.record.Result, call.answer = &result, result
		return
	}
	text := content.Cut(messageForModel(err), maxError)
	isBrokenOff := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	switch call.failed = true; {
	case ctx.Err() != nil && call.record.IsReal() && isBrokenOff:
		call.record.Begin()
		text = *call.record.Error
	case ctx.Err() != nil && !call.record.IsReal():
		text = "the turn ended before the call did"
		call.record.Error = &text
	default:
		call.record.Error = &text
	}
	if !errors.As(err, new(callError)) {
		call.cause = err
	}
	if call.validationErr == nil {
		call.answer = failureMessage(text)
	}
}

func (c *conversation) execute(ctx context.Context, call *call, emit func(event)) (string, error) {
	t := call.target
	var reloaded *model.Tool
	switch {
	case call.validationErr != nil:
		return "", callError(call.validationErr.Error())
	case t.Kind == model.ToolCallKindCallTransfer:
		return c.handOver(ctx, call)
	case c.callBytes.Load() > maxAllCalls:
		return "", errAllCalls
	case t.Effect == model.CallEffectMocked:
		return c.answerFromMock(ctx, call)
	case t.Effect == model.CallEffectDenied && t.tool != nil && t.tool.Approval == model.ToolApprovalDeny:
		return "", errToolDenied
	case t.Effect == model.CallEffectDenied:
		return "", errDenied
	case t.Kind == model.ToolCallKindSubAgent:
		return c.delegate(ctx, call, emit)
	case t.Effect == model.CallEffectUnavailable && t.tool.McpServerID != nil:
		var err error
		if reloaded, err = c.effects.reload(ctx, t.tool); err != nil || reloaded.MissingSince != nil {
			return "", cmp.Or(err, error(errToolGone))
		}
	case t.Effect == model.CallEffectUnavailable:
		return "", callError("the tool has no endpoint, so it cannot be called")
	}
	tool := cmp.Or(reloaded, t.tool)
	if tool.Approval == model.ToolApprovalAsk {
		if err := c.effects.approve(ctx, c.path[len(c.path)-1], tool, &call.record); err != nil {
			return "", err
		}
	}
	if err := c.beginReal(ctx, call); err != nil {
		return "", err
	}
	return c.effects.call(ctx, tool, call.record.Arguments)
}

// beginReal records that a real call is about to be made, so that an interrupted turn shows it.
func (c *conversation) beginReal(ctx context.Context, call *call) error {
	if err := c.effects.beginCall(ctx, &call.record); err != nil {
		return err
	}
	call.record.Real = new(true)
	return nil
}

// endIfRequested ends the conversation after a transfer, or if a call asks for the end. If another call of the same
// answer failed and nothing was transferred, the conversation continues, so that the agent sees the failure.
func (c *conversation) endIfRequested(calls []*call) {
	failed := slices.ContainsFunc(calls, func(call *call) bool { return call.failed })
	if reason := c.transfer.doneReason(); reason != nil {
		c.endReason = reason
	}
	for _, call := range calls {
		switch {
		case call.target != &endTarget || call.validationErr != nil:
		case failed && c.endReason == nil:
			call.answer = failureMessage("the conversation continues, because another call of the same answer failed")
		default:
			call.answer = "The conversation ends. Say goodbye."
			if c.endReason == nil {
				c.endReason = reasonIn(call.arguments)
			}
		}
	}
	if c.endReason != nil {
		c.req.Tools = nil
	}
}
