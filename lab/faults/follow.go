package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/jackc/pgx/v5"
)

// follower follows a chat over server-sent events. When the stream ends, it resumes after its last message at the next
// replica.
type follower struct {
	*client
	id string

	mu   sync.Mutex
	last int
	// seen counts how often each message arrived, by its number. phases has the phase in which it first arrived.
	seen   map[int]int
	phases map[int]*phase
}

const subscription = `subscription ($chat: ID!, $after: Int!) { simulationChatMessages(simulationChatId: $chat,
	afterSequence: $after) { sequence } }`

// follow reads until ctx ends.
func (f *follower) follow(ctx context.Context) {
	for pause(ctx, retryEvery) {
		f.read(ctx)
	}
}

// read reads one stream until it ends.
func (f *follower) read(ctx context.Context) {
	f.mu.Lock()
	after := f.last
	f.mu.Unlock()
	body, _ := json.Marshal(map[string]any{"query": subscription, "variables": map[string]any{"chat": f.id,
		"after": after}})
	address := f.next()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address+"/graphql", bytes.NewReader(body))
	if err != nil {
		return
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("X-Api-Key", f.key)
	response, err := f.http.Do(request)
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		text, isData := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		var event struct {
			Data struct {
				SimulationChatMessages struct{ Sequence int }
			}
		}
		if isData && json.Unmarshal(text, &event) == nil && event.Data.SimulationChatMessages.Sequence > 0 {
			f.recordMessage(event.Data.SimulationChatMessages.Sequence)
		}
	}
}

func (f *follower) recordMessage(sequence int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.seen[sequence]++; f.seen[sequence] == 1 {
		f.phases[sequence] = f.ledger.current()
	}
	f.last = max(f.last, sequence)
}

// watchers follow all chats from their start.
type watchers struct {
	wait   sync.WaitGroup
	cancel context.CancelFunc
}

// watch follows the chats that the company starts, until ctx ends.
func (w *company) watch(ctx context.Context) *watchers {
	ctx, cancel := context.WithCancel(ctx)
	a := &watchers{cancel: cancel}
	a.wait.Go(func() {
		followed := map[int]bool{}
		for pause(ctx, retryEvery) {
			w.mu.Lock()
			for i, f := range w.followers {
				if f != nil && !followed[i] {
					followed[i] = true
					a.wait.Go(func() { f.follow(ctx) })
				}
			}
			w.mu.Unlock()
		}
	})
	return a
}

// finish waits until each follower has read all existing messages, and records in the ledger what it saw.
func (w *company) finish(ctx context.Context, a *watchers, address string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	written, err := counts(ctx, conn, "SELECT chat_id, count(*) FROM simulation_chat_messages GROUP BY 1")
	if err != nil {
		return err
	}
	late, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for _, f := range w.followers {
		for f != nil && f.reached() < written[f.id] && pause(late, retryEvery) {
		}
	}
	a.cancel()
	a.wait.Wait()
	for _, f := range w.followers {
		for sequence := 1; f != nil && sequence <= written[f.id]; sequence++ {
			o := w.ledger.begin("event", fmt.Sprintf("%s message %d", f.id, sequence))
			o.isAcked, o.recorded = true, f.seen[sequence]
			if o.recorded > 0 {
				o.phase = f.phases[sequence]
			}
		}
	}
	return nil
}

func (f *follower) reached() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}
