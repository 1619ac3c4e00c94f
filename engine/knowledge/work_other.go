//go:build !linux

package knowledge

import "time"

// threadClock returns a function that returns the time since the call of threadClock. It is wall time, because only
// Linux lets other threads read a thread's CPU clock.
func threadClock() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
