package dbtest

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// WaitTimeout bounds every wait. It is generous, because a wait is only long if the test fails.
const WaitTimeout = 2 * time.Minute

// Receive returns the next event, or the zero value if the channel is closed.
func Receive[E any](t testing.TB, events <-chan E) E {
	t.Helper()
	select {
	case event := <-events:
		return event
	case <-time.After(WaitTimeout):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}

// Output collects the output of a program, and can be read while the program runs.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns everything written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
