package server

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/gateway"
	"github.com/agentgraph/agentgraph/observe"
)

// closeTimeout bounds how long the program waits at its end to send the last spans.
const closeTimeout = 5 * time.Second

// Validate refuses an invalid address, profiles without an address, OTEL_* variables that cannot be used, and negative
// durations.
func (f observeFlags) Validate() error {
	if f.Listen != "" {
		if err := checkListen("--metrics-listen", f.Listen); err != nil {
			return err
		}
	}
	return cmp.Or(
		cli.Refuse(f.Pprof && f.Listen == "", "--pprof needs --metrics-listen, because profiles are served on that address"),
		observe.CheckTraces(),
		cli.Refuse(f.SlowOperation < 0 || f.SlowStatement < 0, "--slow-operation and --slow-statement must not be negative"),
	)
}

// sampleNoMemory disables the sampling of allocations in this process. Only heap profiles need the samples. Sampling
// takes 2 % of the processor time of a chat turn.
var sampleNoMemory = sync.OnceFunc(func() { runtime.MemProfileRate = 0 })

// start returns an Observer for the flags and the OTEL_* variables, and a function that closes it.
func (f observeFlags) start(ctx context.Context, version string, log *slog.Logger) (*observe.Observer, func(), error) {
	if !f.Pprof {
		sampleNoMemory()
	}
	f.Version, f.Log = version, log
	observer, err := observe.Start(ctx, f.Options)
	if err != nil {
		return nil, nil, err
	}
	return observer, func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if err := observer.Close(closing); err != nil {
			log.Warn("could not send the last spans or metrics before exit", "error", err)
		}
	}, nil
}

// withSlowLog returns the settings with the threshold from which an operation is logged as slow.
func (f observeFlags) withSlowLog(settings gateway.Settings) gateway.Settings {
	settings.SlowOperation = f.SlowOperation
	return settings
}
