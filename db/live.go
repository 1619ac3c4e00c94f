package db

import (
	"context"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"github.com/agentgraph/agentgraph/db/fair"
	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/db/pg"
	"github.com/agentgraph/agentgraph/live"
)

const (
	// Delays before reading again. They double up to lastRetry if rows are not visible yet, and up to lastReconnect if the
	// database does not answer.
	firstRetry    = 2 * time.Millisecond
	lastRetry     = 250 * time.Millisecond
	lastReconnect = 5 * time.Second
	// maxEventBytes bounds the memory for events of all topics.
	maxEventBytes = 64 << 20
	// pageBytes bounds how much a slow follower reads at once, except for a single larger row. Thousands of followers may
	// hold a page until their clients take it.
	pageBytes = 64 << 10
)

// lateReads is how many followers of a process read rows at once, for each processor, because they fell behind or began
// at an earlier position. lateShare is how many of them may belong to one company. Such a read can take milliseconds of
// a processor, and a client can open a thousand streams.
const (
	lateReads = 3
	lateShare = 1
)

// topics are the rows that this process follows. All followers of a row share one reader.
type topics struct {
	store  *Store
	budget *live.MemoryBudget
	// late has the slots of lateReads.
	late   *fair.Gate
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	// sweep checks all topics on a slow timer. It holds the mutex sweeping during the check.
	sweep    *time.Timer
	sweeping sync.Mutex

	mu   sync.Mutex
	open map[topicKey]*topic
}

type topicKey struct {
	table *followedTable
	notify.Key
}

// topic is a row that is followed. It has a goroutine only while there is something to read.
type topic struct {
	topics  *topics
	key     topicKey
	reader  reader
	signals *notify.Subscription
	ctx     context.Context
	cancel  context.CancelFunc
	// followers counts the followers. The mutex of topics guards it.
	followers int
	// version is the version of the row that was last read.
	version atomic.Int32

	mu sync.Mutex
	// hasBegun is set once the start position is known. Nothing is read before that.
	hasBegun, isRunning, isClosed bool
	// isDue is set if the reader has to poll again. isWoken is set if the rows may have changed.
	isDue, isWoken bool
}

type reader interface {
	// poll delivers events, and reads new rows if isWoken.
	poll(ctx context.Context, p *topic, isWoken bool) (pollResult, error)
	// closeFollowers closes the followers' channels.
	closeFollowers()
}

// pollResult determines when a reader reads again.
type pollResult int

const (
	waitForSignal pollResult = iota
	// readNow means that there is more to read.
	readNow
	// retrySoon means that there must be a change that is not visible yet.
	retrySoon
	topicEnded
)

func newTopics(s *Store) *topics {
	ctx, cancel := context.WithCancel(context.Background())
	all := &topics{store: s, budget: live.NewMemoryBudget(maxEventBytes), ctx: ctx, cancel: cancel,
		late: fair.New(lateReads*runtime.GOMAXPROCS(0), lateShare*runtime.GOMAXPROCS(0)),
		open: map[topicKey]*topic{}}
	all.sweep = time.AfterFunc(sweepDelay(), all.look)
	all.sweep.Stop()
	return all
}

// close ends all readers and waits for them.
func (s *topics) close() {
	s.cancel()
	s.sweep.Stop()
	s.mu.Lock()
	for _, p := range s.open {
		p.close()
	}
	clear(s.open)
	s.mu.Unlock()
	s.work.Wait()
}

// acquireTopic returns the topic of the row with the id. If there is none, it makes one with newReader. The topic
// listens for signals from then on, so no later change is missed. The caller must release the topic.
func (t *Tenant) acquireTopic(table *followedTable, id string, newReader func(*Tenant,
	*live.MemoryBudget) reader) *topic {
	s := t.store.topics
	key := topicKey{table, t.signalOf(id)}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p, ok := s.open[key]; ok {
		p.followers++
		return p
	}
	if len(s.open) == 0 {
		s.sweep.Reset(sweepDelay())
	}
	p := &topic{topics: s, key: key, reader: newReader(t.store.Tenant(t.CompanyID()), s.budget), followers: 1}
	p.ctx, p.cancel = context.WithCancel(pg.WithConnectionsOf(s.ctx, t.CompanyID()))
	p.signals = t.store.hub.Watch(key.Key, p.alert)
	s.open[key] = p
	return p
}

func (p *topic) release() {
	p.topics.mu.Lock()
	p.followers--
	isLast := p.followers == 0
	p.topics.mu.Unlock()
	if isLast {
		p.remove()
	}
}

// remove removes the topic, unless it has new followers. The next follower gets a new topic.
func (p *topic) remove() {
	p.topics.mu.Lock()
	defer p.topics.mu.Unlock()
	if p.topics.open[p.key] == p {
		if p.followers > 0 && !p.hasEnded() {
			return // a new follower came
		}
		delete(p.topics.open, p.key)
	}
	p.close()
}

func (p *topic) hasEnded() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.isClosed
}

func (p *topic) close() {
	p.mu.Lock()
	p.isClosed = true
	p.mu.Unlock()
	p.cancel()
	p.signals.Close()
}

// begin sets the row version from which a new topic reads.
func (p *topic) begin(version int32, isOver bool, begin func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.hasBegun {
		begin()
		p.version.Store(version)
		p.hasBegun = true
		p.isDue, p.isWoken = p.isDue || isOver, p.isWoken || isOver
	}
	p.start()
}

// alert receives a signal of the hub. After missed signals, all topics are checked together.
func (p *topic) alert(isMissed bool) {
	if isMissed {
		p.topics.sweep.Reset(missedDelay)
		return
	}
	p.wake(false)
}

func (p *topic) wake(isWoken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isDue, p.isWoken = true, p.isWoken || isWoken
	p.start()
}

// start runs the reader when it is due. The caller holds mu.
func (p *topic) start() {
	if p.isDue && p.hasBegun && !p.isRunning && !p.isClosed {
		p.isRunning = true
		p.topics.work.Go(p.run)
	}
}

// takeDue reports whether the reader has to poll, and whether rows may have changed. It resets both.
func (p *topic) takeDue() (isDue, isWoken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	isDue, isWoken = p.isDue, p.isWoken
	p.isDue, p.isWoken = false, false
	select {
	case <-p.signals.Woken():
		isDue, isWoken = true, true
	default:
	}
	p.isRunning = isDue
	return isDue, isWoken
}

// run polls until nothing is due.
func (p *topic) run() {
	for isDue, isWoken := p.takeDue(); isDue; isDue, isWoken = p.takeDue() {
		var retry time.Duration
		for {
			next, err := p.reader.poll(p.ctx, p, isWoken)
			switch {
			case p.ctx.Err() != nil:
				return
			case pg.IsMissing(err), err == nil && next == topicEnded:
				p.endTopic()
				return
			case err != nil:
				retry = min(max(2*retry, firstRetry), lastReconnect)
			case next == retrySoon:
				retry = min(max(2*retry, firstRetry), lastRetry)
			case next == readNow:
				retry = 0
			}
			if err == nil && next == waitForSignal {
				break
			}
			isWoken = true
			select {
			case <-p.ctx.Done():
			case <-time.After(retry):
			}
		}
	}
}

// endTopic ends the topic for current and future followers.
func (p *topic) endTopic() {
	p.mu.Lock()
	p.isClosed = true
	p.mu.Unlock()
	p.reader.closeFollowers()
	p.remove()
}

// newLog returns a log of the tenant's topic. Followers that are behind read with read.
func newLog[E any](t *Tenant, budget *live.MemoryBudget, read live.Read[E]) *live.Log[E] {
	late := t.store.topics.late
	return live.NewLog(budget, func(ctx context.Context, after, known live.Position) ([]live.Stored[E], live.Position,
		error) {
		if err := late.Enter(ctx, t.CompanyID()); err != nil {
			return nil, after, err
		}
		defer late.Leave(t.CompanyID())
		return read(ctx, after, known)
	})
}

// catchUp calls read and adds the results to a log, up to the known position, if the log has followers.
func catchUp[V any](ctx context.Context, log *live.Log[V], known live.Position, read live.Read[V]) error {
	if !log.IsFollowed() {
		log.Begin(known)
		return nil
	}
	for after := log.End(); after < known; after = log.End() {
		events, upTo, err := read(ctx, after, known)
		if err != nil {
			return err
		}
		for i := range events {
			events[i].Size = sizeOf(events[i].Value)
		}
		log.Add(events...)
		log.Skip(upTo)
	}
	return nil
}

// readCurrent returns a function that reads the current state of the row with the id, if it is newer than the position.
func readCurrent[R any](find func(ctx context.Context, id string) (R, error), id string,
	positionOf func(R) live.Position) live.Read[R] {
	return func(ctx context.Context, after, _ live.Position) ([]live.Stored[R], live.Position, error) {
		row, err := find(ctx, id)
		if pg.IsMissing(err) {
			return nil, after, io.EOF
		}
		if err != nil || positionOf(row) <= after {
			return nil, after, err
		}
		return []live.Stored[R]{{Value: row, At: positionOf(row)}}, positionOf(row), nil
	}
}

// eventsOf returns events for rows that changed after the position, in the order of their changes, with the position of
// the last one. Without rows, it returns the known position.
func eventsOf[R any](rows []R, at func(R) live.Position, after, known live.Position) ([]live.Stored[R], live.Position) {
	stored := make([]live.Stored[R], len(rows))
	for i, row := range rows {
		after = at(row)
		stored[i] = live.Stored[R]{Value: row, At: after}
	}
	if len(rows) == 0 {
		after = max(after, known)
	}
	return stored, after
}

// pageOf selects rows in order, up to the limit. Without the last row, they have less than pageBytes. size is an SQL
// expression for the bytes of a row.
func pageOf[R any](t *Tenant, rows *[]*R, where pg.Selection, order, size string, limit int64) *bun.SelectQuery {
	sized := t.db.Select((*R)(nil)).Apply(where).ColumnExpr("?TableAlias.*").
		ColumnExpr("coalesce(sum(?) OVER (ORDER BY ? ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before",
			bun.Safe(size), bun.Safe(order)).
		OrderExpr(order).Limit(limit)
	return t.db.Select(rows).ModelTableExpr("(?) AS ?TableAlias", sized).Where("before < ?", pageBytes).OrderExpr(order)
}
