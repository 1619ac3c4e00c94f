package gateway

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// While a client does not read a response, the gateway renders one more response and then waits.
func TestBacklogBoundsPendingResponses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b backlog
		entered := make(chan struct{}, 100)
		enter := func(ctx context.Context) {
			if b.acquire(ctx) {
				entered <- struct{}{}
			}
		}
		run := func() int {
			synctest.Wait()
			return len(entered)
		}
		for range 20 {
			go enter(t.Context())
		}
		require.Equal(t, 2, run())
		gone, leave := context.WithCancel(t.Context())
		go enter(gone)
		require.Equal(t, 2, run())
		leave()
		b.startWrite()
		b.startWrite()
		require.Equal(t, 2, run(), "two responses wait to be written")
		b.release()
		require.Equal(t, 3, run(), "one waits")
		b.release()
		require.Equal(t, 4, run())
		for range 18 {
			b.startWrite()
			b.release()
		}
		require.Equal(t, 20, run(), "canceled waiters do not count")
		require.Empty(t, b.waiting)
		for range 2 * maxInProgress {
			go enter(t.Context())
		}
		require.Equal(t, 20+maxInProgress, run(), "a client that reads its responses may have more at once")
		for range 2 * maxInProgress {
			b.startWrite()
			b.release()
		}
	})
}

// When a company's responses hold too much memory, its client that has waited longest is dropped. Other companies are
// not affected.
func TestSlowestClientIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newResponseMemory(Settings{ResponseBytes: 1 << 20})
		dropped := make(chan string, 10)
		wait := func(companyID, name string, bytes int64) *outgoing {
			o := m.open(companyID, func() { dropped <- name })
			o.addBytes(bytes)
			o.startWrite(bytes)
			<-time.After(slowAfter)
			synctest.Wait()
			return o
		}
		wait("other", "other", smallResponse)
		first, second := wait("company", "first", 1<<20), wait("company", "second", 1<<20)
		wait("company", "small", smallResponse-1)
		require.Empty(t, dropped)
		wait("company", "third", 1<<20+1)
		require.Equal(t, "first", <-dropped)
		require.Empty(t, dropped)
		first.close()
		second.close()
		wait("company", "fourth", 1<<20)
		require.Empty(t, dropped, "others have read")
		wait("another", "another", 2<<20)
		require.Equal(t, "third", <-dropped, "all together hold too much, and this company holds most")
	})
}
