package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

// CallTool calls the endpoint or the MCP server of a tool outside of any conversation, or answers from the sample of
// its endpoint. It returns BAD_INPUT if the arguments do not match the tool's parameters, and UNPROCESSABLE if the tool
// has no endpoint or its MCP server no longer offers it. The failure of a call is part of the outcome.
func (e *Engine) CallTool(ctx context.Context, t *db.Tenant, in model.CallToolInput) (*model.CallToolPayload, error) {
	tool, err := t.Tool(ctx, in.ToolID)
	if err == nil && tool.MissingSince != nil {
		tool, err = e.reload(ctx, t, tool)
	}
	if err != nil {
		return nil, err
	}
	text, err := in.Arguments.MarshalJSON()
	if err != nil {
		return nil, err
	}
	call := &call{}
	if call.arguments, call.argumentsJSON, err = content.ParseArguments(string(text)); err == nil {
		if err = e.checks.Validate(ctx, []byte(tool.Parameters), call.arguments); err != nil && tool.McpServerID != nil {
			if tool, err = e.reload(ctx, t, tool); err != nil {
				return nil, err
			}
			err = e.checks.Validate(ctx, []byte(tool.Parameters), call.arguments)
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var faults model.Fields
		faults.Add("arguments", "%s", strings.TrimPrefix(err.Error(), "the arguments ")) // the field already names them
		return nil, faults.Err()
	}
	s := &Speaker{Agent: &model.Agent{}, Tools: []*model.Tool{tool}}
	call.target = s.targets(&model.ToolMocking{}, false)[0].sample(e.samples)
	if call.target.Effect == model.CallEffectUnavailable {
		return nil, model.Errorf(model.Unprocessable, "tool %q has no endpoint to call, or its MCP server no longer offers "+
			"it", tool.ID)
	}
	call.record.Arguments = call.argumentsJSON
	c := &conversation{turn: &turn{checks: e.checks, effects: e.effects(t, tool.ID, "")}, path: []string{""}}
	// The caller of CallTool is the person who approves the call.
	c.effects.approve = func(context.Context, string, *model.Tool, *model.ToolCall) error { return nil }
	began := c.effects.now()
	result, err := c.execute(ctx, call, func(event) {})
	outcome := &model.CallToolPayload{Tool: tool, DurationMs: int32(c.effects.now().Sub(began) / time.Millisecond),
		IsSample: call.target.Effect == model.CallEffectMocked}
	if err != nil {
		if !errors.As(err, new(callError)) {
			e.log.WarnContext(ctx, "call failed", "tool", tool.ID, "name", tool.TechnicalName, "error", err,
				llm.ErrorAttr(err), "traceId", e.traceID(ctx))
		}
		outcome.Error = new(content.Cut(messageForModel(err), maxError))
	} else {
		outcome.Result = new(content.Cut(result, maxResult))
	}
	return outcome, nil
}
