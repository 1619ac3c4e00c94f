package knowledge

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadClock starts a clock for the current thread. The returned function returns how much processor time that thread
// has used since. Any thread may call the function.
func threadClock() func() time.Duration {
	// Linux encodes a thread's clock this way, as pthread_getcpuclockid(3) does.
	clock := int32(^unix.Gettid()<<3 | 6)
	read := func() time.Duration {
		var at unix.Timespec
		if unix.ClockGettime(clock, &at) != nil {
			return 0
		}
		return time.Duration(at.Nano())
	}
	start := read()
	return func() time.Duration { return read() - start }
}
