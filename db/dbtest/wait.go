package dbtest

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Awaited bounds what is waited for; what is awaited comes at once.
const Awaited = 2 * time.Minute

// Receive waits for the next of the events; of a channel that is closed that is the zero value.
func Receive[E any](t testing.TB, events <-chan E) E {
	t.Helper()
	select {
	case event := <-events:
		return event
	case <-time.After(Awaited):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}

// Output is what a program writes, for a test that reads it meanwhile.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns what was written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
