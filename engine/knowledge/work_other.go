//go:build !linux

package knowledge

import "time"

// threadClock returns a function that returns the wall time since then, because only Linux lets other threads read a
// thread's clock.
func threadClock() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
