package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/stored"
	"github.com/agentgraph/agentgraph/model"
)

// Bounds of waitSeconds. A request must end before the timeouts of clients and proxies, which are often a minute.
const (
	standardWait = 40
	maxWait      = 50
)

// waitBounds are the bounds of waitSeconds in the input schema. pageBounds are the bounds of the page size.
var waitBounds, pageBounds = boundsOf(0, maxWait), boundsOf(1, 100)

func boundsOf(least, most int) ast.DirectiveList {
	return ast.DirectiveList{{Name: "bounds", Arguments: ast.ArgumentList{
		{Name: "min", Value: &ast.Value{Raw: fmt.Sprint(least), Kind: ast.IntValue}},
		{Name: "max", Value: &ast.Value{Raw: fmt.Sprint(most), Kind: ast.IntValue}},
	}}}
}

// waitSeconds is an input of tools that wait. The work continues even without the client.
var waitSeconds = &ast.FieldDefinition{
	Name: "waitSeconds", Type: ast.NamedType("Int", nil),
	Description: fmt.Sprintf("How long to wait for the end, 0 to %d seconds. Afterwards the work continues, and you can "+
		"wait again.", maxWait),
	DefaultValue: &ast.Value{Raw: fmt.Sprint(standardWait), Kind: ast.IntValue}, Directives: waitBounds,
}

// approvalSeconds is waitSeconds of a tool that waits for the approval of calls.
var approvalSeconds = &ast.FieldDefinition{
	Name: waitSeconds.Name, Type: waitSeconds.Type, DefaultValue: waitSeconds.DefaultValue, Directives: waitBounds,
	Description: fmt.Sprintf("How long to wait for a person's approval of a call, 0 to %d seconds.", maxWait),
}

// approvalPoll is the time between checks whether a call waits for a person.
const approvalPoll = 2 * time.Second

// waitsForPerson is the message when the agent's answer waits for a person.
const waitsForPerson = "a call of the agent waits for a person's approval, and the agent answers after that. Ask the " +
	"person to approve or deny the call in the console. Then read the answer with get_chat. Until then, get_chat lists " +
	"the call in pendingApprovals. Do not send the message again."

// runOrSuspend runs an operation that waits for an agent's answer. It ends the operation once a call waits for a person
// and the time limit is over. When the server drains, the limit is 0. The gateway then continues after the person's
// answer.
func (t *Transport) runOrSuspend(ctx context.Context, r *sdk.CallToolRequest, o *stored.Operation,
	input map[string]any, limit time.Duration) (json.RawMessage, *model.Error) {
	if t.awaitsApproval(ctx, input) { // another message would give up the call
		return nil, model.Errorf(model.Conflict, waitsForPerson)
	}
	running, suspend := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		t.watchApproval(running, r, input, limit, suspend)
	}()
	result, err := t.run(running, o, input)
	suspend()
	<-watched
	if err != nil && (err.Code == model.Conflict || err.Code == model.Unavailable) && t.awaitsApproval(ctx, input) {
		return nil, model.Errorf(model.Conflict, waitsForPerson)
	}
	return result, err
}

// watchApproval calls suspend once a call waits for a person and the time limit is over. When the server drains, the
// limit is 0. Until ctx ends, it sends progress to clients that want it.
func (t *Transport) watchApproval(ctx context.Context, r *sdk.CallToolRequest, input map[string]any,
	limit time.Duration, suspend func()) {
	begin, closing := time.Now(), t.Closing()
	poll := time.NewTicker(approvalPoll)
	defer poll.Stop()
	for last := -1.0; ; {
		select {
		case <-ctx.Done():
			return
		case <-closing:
			limit, closing = 0, nil
		case <-poll.C:
		}
		if time.Since(begin) >= limit && t.awaitsApproval(ctx, input) {
			suspend()
			return
		}
		if token := r.Params.GetProgressToken(); token != nil {
			last++
			_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: last,
				Message: "The agent has not answered yet"}) // a client that has left needs none
		}
	}
}

// awaitsApproval reports whether a call in the chat of the input waits for a person.
func (t *Transport) awaitsApproval(ctx context.Context, input map[string]any) bool {
	ctx = t.Unrecorded(ctx)
	for after := map[string]any(nil); ; {
		result, err := t.run(ctx, t.waiting, after)
		var page struct {
			Nodes    []struct{ ID any }
			PageInfo struct {
				HasNextPage bool
				EndCursor   string
			}
		}
		if err != nil || json.Unmarshal(result, &page) != nil {
			return false
		}
		for _, chat := range page.Nodes {
			if chat.ID == input["chatId"] {
				return true
			}
		}
		if !page.PageInfo.HasNextPage {
			return false
		}
		after = map[string]any{"after": page.PageInfo.EndCursor}
	}
}

// waitOf removes waitSeconds from the input, and returns it, or an error if it is out of bounds.
func waitOf(input map[string]any) (time.Duration, *model.Error) {
	seconds, given := input[waitSeconds.Name].(int64)
	delete(input, waitSeconds.Name)
	switch {
	case !given:
		seconds = standardWait
	case seconds < 0 || seconds > maxWait:
		return 0, invalid(model.Fields{waitSeconds.Name: {fmt.Sprintf("must be 0 to %d", maxWait)}})
	}
	return time.Duration(seconds) * time.Second, nil
}

// progress is the state of an execution of tests, which has Counts, or of a search for a cause, which has Steps.
type progress struct {
	Status string
	Counts struct{ Total, Queued, Running float64 }
	Steps  []struct{ Judged *int }
}

// wait follows the work of a subscription until it ends, the time is over, or the server drains. It sends progress to
// clients that want it, and reports whether the work ended.
func (t *Transport) wait(ctx context.Context, r *sdk.CallToolRequest, o *stored.Operation, input map[string]any,
	limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(withNewBuffer(ctx), limit)
	defer cancel()
	closing := t.Closing()
	go func() {
		select {
		case <-closing:
			cancel()
		case <-ctx.Done():
		}
	}()
	exec := callOf(ctx).exec
	operation, errs := exec.CreateOperationContext(ctx, params(ctx, o, input))
	if errs != nil {
		return false // the answer will have the same error
	}
	next, following := exec.DispatchOperation(ctx, operation)
	for last := -1.0; ; {
		response := next(following)
		if response == nil {
			return ctx.Err() == nil
		}
		state, found := o.Extract(response.Data)
		if len(response.Errors) > 0 || !found {
			return false
		}
		var at progress
		_ = json.Unmarshal(state, &at) // the stored operation selects the members
		last = at.send(ctx, r, last)
	}
}

// send tells the client how far the work is. It sends nothing if the client did not ask for progress, or if nothing has
// ended since the last message.
func (p progress) send(ctx context.Context, r *sdk.CallToolRequest, last float64) float64 {
	done, total, what := p.Counts.Total-p.Counts.Queued-p.Counts.Running, p.Counts.Total, "runs"
	if total == 0 {
		done, what = float64(len(p.Steps)), "steps"
	}
	token := r.Params.GetProgressToken()
	if token == nil || done <= last {
		return last
	}
	message := fmt.Sprintf("%s: %.0f %s have ended", p.Status, done, what)
	_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: total,
		Message: message}) // a client that has left needs none
	return done
}
