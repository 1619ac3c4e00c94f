//go:build !linux

package knowledge

import "time"

// threadClock returns a function that reports the wall time since, because only Linux lets others read a thread's
// clock.
func threadClock() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
