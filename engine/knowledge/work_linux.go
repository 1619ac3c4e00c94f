package knowledge

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadClock returns what tells, to any thread, how long the calling thread has computed since.
func threadClock() func() time.Duration {
	// Linux numbers the clocks of threads so: pthread_getcpuclockid(3) does the same.
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
