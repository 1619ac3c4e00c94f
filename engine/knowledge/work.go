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

// workLook is how often the work of a reader is looked at.
const workLook = 20 * time.Millisecond

// maxWork bounds what reading a file of so many bytes may take, in processor time: several times what honest files do.
// A clock on the wall would blame the file for a busy machine.
func maxWork(size int) time.Duration {
	return time.Second + 2*time.Duration(size>>10)*time.Second>>10
}

// earnedKey is where a context has what earn adds, an *atomic.Int64 in nanoseconds.
type earnedKey struct{}

// earn lets a reader go on for longer, for it got something from the file.
func earn(ctx context.Context, more time.Duration) {
	ctx.Value(earnedKey{}).(*atomic.Int64).Add(int64(more))
}

// limitWork binds the caller to its thread, and returns a context that ends, with errWork as its cause, once that
// thread has computed for as long as a file of so many bytes may take and for what was earned. The returned function
// must be called by the same goroutine; it returns the document's fault if there is one.
func limitWork(ctx context.Context, size int) (context.Context, func() error) {
	runtime.LockOSThread()
	spent, earned := threadClock(), new(atomic.Int64)
	most := func() time.Duration { return maxWork(size) + time.Duration(earned.Load()) }
	ctx, cancel := context.WithCancelCause(context.WithValue(ctx, earnedKey{}, earned))
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		look := time.NewTicker(workLook)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
				if spent() > most() {
					cancel(errWork)
				}
			}
		}
	}()
	return ctx, func() error {
		cancel(nil)
		// The thread's clock must not be read once others may have the thread.
		<-stopped
		runtime.UnlockOSThread()
		if errors.Is(context.Cause(ctx), errWork) {
			return unreadable(fmt.Sprintf("reading the file takes more than %.1f seconds of work, too much for what it holds", most().Seconds()))
		}
		return nil
	}
}
