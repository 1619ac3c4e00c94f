package live_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/agentgraph/agentgraph/live"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// eventStore stores numbers by position, and returns a few at a time.
type eventStore struct {
	mu     sync.Mutex
	kept   []live.Stored[int]
	broken error
	reads  int
}

const pageSize = 3

func (s *eventStore) put(n int) live.Stored[int] {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := live.Stored[int]{Value: n, At: live.Position(n), Size: 1}
	s.kept = append(s.kept, kept)
	return kept
}

func (s *eventStore) read(_ context.Context, after, known live.Position) ([]live.Stored[int], live.Position, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if err := s.broken; err != nil {
		s.broken = nil
		return nil, after, err
	}
	behind := slices.IndexFunc(s.kept, func(k live.Stored[int]) bool { return k.At > after })
	if behind < 0 {
		return nil, max(after, known), nil
	}
	page := slices.Clone(s.kept[behind:min(behind+pageSize, len(s.kept))])
	return page, page[len(page)-1].At, nil
}

// all reads a channel until it is closed, and returns all values.
func all(values <-chan int) []int {
	var got []int
	for value := range values {
		got = append(got, value)
	}
	return got
}

func upTo(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i + 1
	}
	return numbers
}

func nothing() {}

func TestFollowersReceiveEverythingOnceAndInOrder(t *testing.T) {
	t.Parallel()
	s := &eventStore{broken: errors.New("the store is locked")}
	log := live.NewLog(live.NewMemoryBudget(1<<20), s.read)
	log.Begin(0)
	const count, each = 5_000, 20
	got := make([][]int, each)
	var reading sync.WaitGroup
	var left atomic.Int32
	follow := func(i int, at live.Position) {
		values := live.Channel(t.Context(), log.Follow(at, func() { left.Add(1) }))
		reading.Go(func() { got[i] = all(values) })
	}
	for n := range count {
		if n%(count/each) == 0 {
			follow(n/(count/each), 0) // this follower also reads all stored events
		}
		log.Add(s.put(n + 1))
	}
	log.Close()
	reading.Wait()
	for i := range got {
		require.Equal(t, upTo(count), got[i], "follower %d", i)
	}
	require.EqualValues(t, each, left.Load())
	require.False(t, log.IsFollowed())
}

func TestFollowersWhoKeepUpReadNothing(t *testing.T) {
	t.Parallel()
	s := &eventStore{}
	log := live.NewLog(live.NewMemoryBudget(1<<20), s.read)
	log.Begin(7)
	values := make([]<-chan int, 10)
	for i := range values {
		values[i] = live.Channel(t.Context(), log.Follow(7, nothing))
	}
	for n := 8; n < 20; n++ {
		log.Add(s.put(n))
		for _, from := range values {
			require.Equal(t, n, <-from)
		}
	}
	require.Zero(t, s.reads)
	log.Close(100)
	for _, from := range values {
		require.Equal(t, []int{100}, all(from))
	}
}

// Values from AddTransient can miss a slow follower. Stored values reach every follower.
func TestLateFollowersReadStoredEvents(t *testing.T) {
	t.Parallel()
	s := &eventStore{}
	log := live.NewLog(live.NewMemoryBudget(1<<30), s.read)
	log.Begin(0)
	f := log.Follow(0, nothing)
	feed, ctx := fed(t)
	values := live.Channel(ctx, f)
	const count = 3_000 // more than a log holds
	for n := range count {
		log.AddTransient(-n, 0)
		log.Add(s.put(n + 1))
	}
	log.Close()
	var kept, said []int
	for {
		event, err := feed.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		feed.Deliver(event)
		if n := <-values; n > 0 {
			kept = append(kept, n)
		} else {
			said = append(said, n)
		}
	}
	require.Equal(t, upTo(count), kept)
	require.NotEmpty(t, said)
	require.Less(t, len(said), count)
}

func fed(t *testing.T) (*live.Feed, context.Context) {
	feed := &live.Feed{}
	return feed, live.WithFeed(t.Context(), feed)
}

func TestFollowersWithoutBudgetReadFromTheStore(t *testing.T) {
	t.Parallel()
	s := &eventStore{}
	log := live.NewLog(live.NewMemoryBudget(0), s.read)
	log.Begin(0)
	values := live.Channel(t.Context(), log.Follow(0, nothing))
	for n := range 50 {
		log.Add(s.put(n + 1))
	}
	log.Close()
	require.Equal(t, upTo(50), all(values))
	require.Positive(t, s.reads)
}

func TestDeletedRowsEndTheirFollowers(t *testing.T) {
	t.Parallel()
	log := live.NewLog(live.NewMemoryBudget(0), func(_ context.Context, after, _ live.Position) ([]live.Stored[int],
		live.Position,
		error) {
		return nil, after, nil // the rows were deleted
	})
	log.Begin(5)
	values := live.Channel(t.Context(), log.Follow(0, nothing))
	log.Close()
	require.Empty(t, all(values))
}

func TestCancelledFollowersAreClosed(t *testing.T) {
	t.Parallel()
	log := live.NewLog(live.NewMemoryBudget(1<<20), (&eventStore{}).read)
	log.Begin(0)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{}, 2)
	gone := func() { left <- struct{}{} }
	idle := live.Channel(ctx, log.Follow(0, gone))
	_ = live.Channel(live.WithFeed(ctx, &live.Feed{}), log.Follow(0, gone))
	leave()
	<-left
	<-left
	require.Empty(t, all(idle))
	require.False(t, log.IsFollowed())
}

// Followers in the same group share one answer to an event.
func TestAnswersAreShared(t *testing.T) {
	t.Parallel()
	s := &eventStore{}
	log := live.NewLog(live.NewMemoryBudget(1<<20), s.read)
	log.Begin(0)
	const followers = 30
	var made [3]atomic.Int32
	var answering sync.WaitGroup
	answers := make([]string, followers)
	all := make([]*live.Feed, followers)
	for i := range all {
		feed, ctx := fed(t)
		live.Channel(ctx, log.Follow(0, nothing))
		all[i] = feed
	}
	log.Add(s.put(1))
	for i, feed := range all {
		answering.Go(func() {
			event, err := feed.Next(t.Context())
			if err != nil {
				return
			}
			group := i % 3
			answers[i] = string(event.Render(t.Context(), fmt.Sprint(group), func() ([]byte, bool) {
				made[group].Add(1)
				return []byte(strings.Repeat("x", group)), group != 2
			}))
		})
	}
	answering.Wait()
	for i, answer := range answers {
		require.Equal(t, strings.Repeat("x", i%3), answer)
	}
	require.EqualValues(t, 1, made[0].Load())
	require.EqualValues(t, 1, made[1].Load())
	require.EqualValues(t, followers/3, made[2].Load(), "unshared answers are computed for each follower")
}

// All bytes return to the budget when all followers have received the events.
func TestBytesReturnToTheBudget(t *testing.T) {
	t.Parallel()
	s := &eventStore{}
	const most = 400 // one event
	log := live.NewLog(live.NewMemoryBudget(most), s.read)
	log.Begin(0)
	feed, ctx := fed(t)
	values := live.Channel(ctx, log.Follow(0, nothing))
	for n := range 10 {
		log.Add(s.put(n + 1))
		event, err := feed.Next(ctx)
		require.NoError(t, err)
		text := event.Render(ctx, "all", func() ([]byte, bool) {
			feed.Deliver(event)
			return fmt.Append(nil, <-values), true
		})
		require.Equal(t, fmt.Sprint(n+1), string(text))
		event, err = feed.Next(ctx)
		require.NoError(t, err)
		require.Nil(t, event)
	}
	require.Zero(t, s.reads)
}
