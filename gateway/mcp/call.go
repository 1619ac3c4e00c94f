package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/stored"
	"github.com/agentgraph/agentgraph/model"
)

// mocks is the input for mocks. Its member calls allows or refuses real calls, and the value refusing refuses them. An
// assistant must ask for real calls: if its input has mocks without this member, they are refused.
const (
	mocks    = "toolMocking"
	calls    = "sideEffects"
	refusing = string(model.SideEffectsDeny)
)

// readyTool is a tool whose operations were checked against the schema.
type readyTool struct {
	tool
	// The stored operations that the tool names. Each is nil if the tool names none.
	operation, follow, answer *stored.Operation
	scopes                    []model.APIKeyScope
	// mutateTool describes the tool to credentials with the scope mutate, if the tool does more for them.
	mutateTool *sdk.Tool
}

// addTools checks the table of tools, and adds those that this server offers.
func (t *Transport) addTools(all *ast.QueryDocument) error {
	for _, one := range tools {
		if one.run != nil && (!t.HasSchema || one.name == "query" && !t.HasQuery) {
			continue
		}
		ready, err := t.prepare(all, one)
		if err != nil {
			return fmt.Errorf("tool %s: %w", one.name, err)
		}
		described, err := t.describe(ready)
		if err != nil {
			return fmt.Errorf("tool %s: %w", one.name, err)
		}
		if t.IsReadOnly && !described.Annotations.ReadOnlyHint {
			continue
		}
		t.tools[one.name] = ready
		if one.mutateAbout != "" && !t.IsReadOnly {
			ready.mutateTool = newMutateTool(described, one.mutateAbout)
		}
		t.server.AddTool(described, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return t.call(ctx, r, ready), nil
		})
	}
	return nil
}

func (t *Transport) prepare(all *ast.QueryDocument, one tool) (*readyTool, error) {
	ready := &readyTool{tool: one, scopes: []model.APIKeyScope{model.APIKeyScopeBrowse}}
	for _, part := range []struct {
		into         **stored.Operation
		name, result string
	}{
		{&ready.operation, one.operation, one.result}, {&ready.follow, one.follow, one.followResult},
		{&ready.answer, one.answer, one.answerResult},
	} {
		if part.name == "" {
			continue
		}
		o, err := stored.New(t.schema, all, part.name, part.result)
		if err != nil {
			return nil, err
		}
		*part.into = o
		if len(ready.input) == 0 {
			ready.input = slices.Clone(o.Variables)
		}
		ready.scopes = append(ready.scopes, o.Scopes()...)
	}
	for i, field := range ready.input {
		if field.Name == "first" {
			bounded := *field
			bounded.Directives = pageBounds
			ready.input[i] = &bounded
		}
	}
	switch {
	case ready.follow != nil:
		ready.input = append(ready.input, waitSeconds)
	case ready.suspends:
		ready.input = append(ready.input, approvalSeconds)
	}
	return ready, (&stored.Decoder{Types: t.schema.Types}).Readable(ready.input)
}

// describe returns the tool as clients see it.
func (t *Transport) describe(one *readyTool) (*sdk.Tool, error) {
	d := stored.Describer{Schema: t.schema, IsBrief: true}
	input := d.InputObject(one.input, true)
	if mocking := input.Properties[mocks]; mocking != nil {
		mocking.Properties[calls].Default = json.RawMessage(`"` + refusing + `"`)
	}
	isReading := one.operation == nil || one.operation.Kind == ast.Query
	described := &sdk.Tool{
		Name: one.name, Title: one.title, Description: one.about, InputSchema: encoded(input),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: isReading, IdempotentHint: isReading || one.isIdempotent,
			DestructiveHint: &one.isDestructive, OpenWorldHint: &one.isOpen},
	}
	if result := cmp.Or(one.answer, one.operation); result != nil {
		last := result.Fields[len(result.Fields)-1]
		output := d.Object(t.schema.Types[last.Definition.Type.Name()], last.SelectionSet, "")
		output.Type = "object" // clients require it, even next to anyOf
		described.OutputSchema = encoded(output)
	}
	return described, d.Err
}

// encoded returns a schema as JSON. Every list of tools would otherwise encode all schemas again, which takes most of
// its time.
func encoded(schema *jsonschema.Schema) json.RawMessage {
	text, _ := json.Marshal(schema) // a described schema always encodes
	return text
}

// newMutateTool returns a description of the tool for credentials with the scope mutate.
func newMutateTool(one *sdk.Tool, about string) *sdk.Tool {
	changed, isDestructive, isOpen := *one, true, true
	changed.Description = about
	changed.Annotations = &sdk.ToolAnnotations{DestructiveHint: &isDestructive, OpenWorldHint: &isOpen}
	return &changed
}

// call answers a tool call. Every error is a result, so that the assistant reads what to do next.
func (t *Transport) call(ctx context.Context, r *sdk.CallToolRequest, one *readyTool) *sdk.CallToolResult {
	principal, _ := model.PrincipalOf(ctx)
	if scope := missingScope(principal, one.scopes); scope != "" {
		return errorResult(model.Errorf(model.Forbidden, "the credential does not have the scope %s", scope))
	}
	input, err := t.decode(r.Params.Arguments, one.input)
	callOf(ctx).decoded()
	if err != nil {
		return errorResult(err)
	}
	if one.run != nil {
		return one.run(t, ctx, input)
	}
	if mocking, given := input[mocks].(map[string]any); given && mocking[calls] == nil {
		mocking[calls] = refusing
	}
	seconds, err := waitOf(input)
	if err != nil {
		return errorResult(err)
	}
	var result json.RawMessage
	if one.suspends {
		if result, err = t.runOrSuspend(ctx, r, one.operation, input, seconds); err != nil {
			return errorResult(err, t.linkTo(ctx, one.link, nil, input))
		}
	} else if one.operation != nil {
		if result, err = t.run(ctx, one.operation, input); err != nil {
			return errorResult(err)
		}
	}
	note := ""
	if one.follow != nil {
		mergeMembers(result, input)
		isOver := t.wait(ctx, r, one.follow, input, seconds)
		if result, err = t.run(ctx, one.answer, input); err != nil {
			return errorResult(err)
		}
		if !isOver {
			note = "It is still in progress: call " + one.continueTool + " with the same ids to read on."
		}
	}
	warning := ""
	if one.warn != nil {
		warning = one.warn(result)
	}
	return jsonResult(result, note, warning, t.linkTo(ctx, one.link, result, input))
}

// decode reads the arguments of a call. An error names every invalid argument.
func (t *Transport) decode(arguments json.RawMessage, fields ast.FieldList) (map[string]any, *model.Error) {
	if len(arguments) == 0 || stored.IsNull(arguments) {
		arguments = json.RawMessage("{}")
	}
	if err := model.CheckJSON(arguments); err != nil {
		return nil, model.Errorf(model.BadInput, "the arguments are too complex: %v", err)
	}
	if at := model.HalfPair(arguments); at >= 0 {
		return nil, model.Errorf(model.BadInput, "the arguments have half of a surrogate pair at byte %d: send whole "+
			"characters", at)
	}
	d := stored.Decoder{Types: t.schema.Types, Strict: true, ListsKnown: true}
	input := d.Object("", arguments, fields)
	if len(d.Faults) > 0 {
		return nil, invalid(d.Faults)
	}
	return input, nil
}

// invalid returns the error for faulty arguments.
func invalid(faults model.Fields) *model.Error {
	return &model.Error{Code: model.BadInput, Message: "the arguments are invalid", Fields: faults}
}

// params returns a request for the operation. It picks the operation's variables from the input.
func params(ctx context.Context, o *stored.Operation, input map[string]any) *graphql.RawParams {
	variables := map[string]any{}
	for _, v := range o.Variables {
		if value, given := input[v.Name]; given {
			variables[v.Name] = value
		}
	}
	return request(ctx, o.Text, o.Name, variables)
}

func request(ctx context.Context, document, operation string, variables map[string]any) *graphql.RawParams {
	now := graphql.Now()
	return &graphql.RawParams{Query: document, OperationName: operation, Variables: variables,
		Headers: callOf(ctx).request.Header, ReadTime: graphql.TraceTiming{Start: now, End: now}}
}

func callOf(ctx context.Context) *httpCall {
	call, _ := ctx.Value(callKey{}).(*httpCall)
	return call
}

// withNewBuffer returns a context with a buffer of its own, since a request may run several operations.
func withNewBuffer(ctx context.Context) context.Context { return model.WithBuffer(ctx, new([]byte)) }

// run runs a stored operation, and returns its result.
func (t *Transport) run(ctx context.Context, o *stored.Operation, input map[string]any) (json.RawMessage,
	*model.Error) {
	response := stored.Execute(withNewBuffer(ctx), callOf(ctx).exec, params(ctx, o, input))
	if err := failure(response); err != nil {
		if named := o.CallerFields(err.Fields, nil); named != nil {
			err.Fields = named
		}
		return nil, err
	}
	result, found := o.Extract(response.Data)
	if !found {
		return nil, model.Errorf(model.NotFound, "there is nothing with this id")
	}
	return result, nil
}

// failure returns the first error of a response, or nil.
func failure(response *graphql.Response) *model.Error {
	if response == nil {
		return model.Errorf(model.Unavailable, "the request was cancelled or took too long")
	}
	if len(response.Errors) == 0 {
		return nil
	}
	return stored.ErrorOf(response.Errors[0])
}
