package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/agentgraph/agentgraph/gateway/stored"
)

// Bounds of waitSeconds. A request must end before the timeouts of clients and proxies, which are often a minute.
const (
	standardWait = 40
	maxWait      = 50
)

// waitSeconds is an input of tools that wait. The work continues even without the client.
var waitSeconds = &ast.FieldDefinition{
	Name: "waitSeconds", Type: ast.NamedType("Int", nil),
	Description: fmt.Sprintf("How long to wait for the end, 0 to %d seconds. Afterwards the work continues, and you can "+
		"wait again.", maxWait),
	DefaultValue: &ast.Value{Raw: fmt.Sprint(standardWait), Kind: ast.IntValue},
}

// waitOf removes waitSeconds from the input, and returns it within its bounds.
func waitOf(input map[string]any) time.Duration {
	seconds, given := input[waitSeconds.Name].(int64)
	delete(input, waitSeconds.Name)
	if !given {
		seconds = standardWait
	}
	return time.Duration(min(max(seconds, 0), maxWait)) * time.Second
}

// progress is a state of work: of an execution of tests, or of a search with steps.
type progress struct {
	Status string
	Counts struct{ Total, Queued, Running float64 }
	Steps  []struct{ Judged *int }
}

// wait follows the work of a subscription until it ends, the time is over, or the server drains. It sends progress to
// clients that want it, and reports whether the work ended.
func (t *Transport) wait(ctx context.Context, r *sdk.CallToolRequest, o *stored.Operation, input map[string]any,
	most time.Duration) bool {
	ctx, cancel := context.WithTimeout(withNewBuffer(ctx), most)
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
