//go:build !linux

package knowledge

import "time"

// threadClock returns what tells how long ago it was called: other systems have no clock that tells it of a thread.
func threadClock() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
