package agenttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

const (
	// cancelTimeout bounds the request that cancels an execution or a search.
	cancelTimeout = 3 * time.Second
	// endTimeout bounds all requests after an interruption. GitHub kills a job ten seconds after its first signal.
	endTimeout = 6 * time.Second
)

var (
	errCancelTimeout    = fmt.Errorf("no answer within %s", cancelTimeout)
	errEndTimeout       = fmt.Errorf("no answer within %s", endTimeout)
	errInterruptedAgain = errors.New("interrupted again")
)

// outlive returns a context for what a command still does once ctx has ended. It lasts for endTimeout longer, or until
// the next signal.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		defer signal.Stop(signals)
		select {
		case <-signals:
			end(errInterruptedAgain)
		case <-time.After(endTimeout):
			end(errEndTimeout)
		case <-longer.Done():
		}
	})
	return longer, func() {
		stop()
		end(nil)
	}
}

// start sends a mutation that starts an execution or a search. It outlives ctx: without the id, they could not be
// cancelled.
func start(ctx context.Context, server *client.Client, document string, input client.Variables, into any) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	longer, stop := outlive(ctx)
	defer stop()
	err := server.Mutate(longer, document, client.Variables{"input": input}, nil, into)
	if err != nil && ctx.Err() != nil && client.IsTemporary(err) {
		return client.Exit(client.ExitCancelled, fmt.Errorf("cancelled during the start, which may have reached the "+
			"server: %w", err))
	}
	return err
}
