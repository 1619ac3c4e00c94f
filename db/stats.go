package db

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/db/queue"
)

// Stats describes the current use of the database by this process.
type Stats struct {
	Writes, Reads *pgxpool.Stat
	// Topics is the number of rows that are followed, Followers the number of their followers.
	Topics, Followers int
	Bus               notify.Stats
}

// Backlog is the number of jobs of one kind in one state.
type Backlog = queue.Backlog

// Stats returns the current use of the database by this process, without a query.
func (s *Store) Stats() Stats {
	stats := Stats{Writes: s.db.Writes().Stat(), Reads: s.db.Readers().Stat(), Bus: s.hub.Stats()}
	s.topics.mu.Lock()
	defer s.topics.mu.Unlock()
	stats.Topics = len(s.topics.open)
	for _, p := range s.topics.open {
		stats.Followers += p.followers
	}
	return stats
}

// Backlog counts the jobs of all companies.
func (s *Store) Backlog(ctx context.Context) ([]Backlog, error) {
	return s.queue.Backlog(ctx)
}
