package knowledge

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// errWork is the cause of a context that limitWork ended.
var errWork = errors.New("too much work")

// workCheck is the time between two checks of how much processor time a reader has used.
const workCheck = 20 * time.Millisecond

// maxWork bounds the processor time for reading a file of this size. Ordinary files need a fraction of it. Wall time is
// not bounded, because it is longer on a busy machine.
func maxWork(size int) time.Duration {
	return time.Second + 2*time.Duration(size>>10)*time.Second>>10
}

// earnedKey is the context key of the time that a reader has earned, an *atomic.Int64 in nanoseconds.
type earnedKey struct{}

// earn gives a reader additional time, because the reader has read something from the file.
func earn(ctx context.Context, more time.Duration) {
	ctx.Value(earnedKey{}).(*atomic.Int64).Add(int64(more))
}

// limitWork locks the caller to its thread. The returned context ends with the cause errWork once the thread has used
// more processor time than maxWork and the earned time. The same goroutine must call the returned function, which
// returns an error if the context ended in this way.
func limitWork(ctx context.Context, size int) (context.Context, func() error) {
	runtime.LockOSThread()
	spent, earned := threadClock(), new(atomic.Int64)
	most := func() time.Duration { return maxWork(size) + time.Duration(earned.Load()) }
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, earnedKey{}, earned))
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(workCheck)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if spent() > most() {
					cancel(errWork)
				}
			}
		}
	}()
	return ctx, func() error {
		cancel(nil)
		// Another goroutine may get the thread now, so its clock must no longer be read.
		<-stopped
		runtime.UnlockOSThread()
		if errors.Is(context.Cause(ctx), errWork) {
			return unreadable(fmt.Sprintf("reading the file takes more than %.1f seconds of work, too much for a file of its "+
				"size", most().Seconds()))
		}
		return nil
	}
}
