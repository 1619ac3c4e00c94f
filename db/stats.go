package db

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/agentgraph/agentgraph/db/notify"
	"github.com/agentgraph/agentgraph/db/queue"
)

// Stats are what a process has to do with its database now.
type Stats struct {
	Writes, Reads *pgxpool.Stat
	// Topics are what is followed, Followers who follows them.
	Topics, Followers int
	Bus               notify.Stats
}

// Backlog is how many jobs of a kind are in a state.
type Backlog = queue.Backlog

// Stats returns what the process has to do with its database now. It asks the database nothing.
func (s *Store) Stats() Stats {
	stats := Stats{Writes: s.db.Writes().Stat(), Reads: s.db.Readers().Stat(), Bus: s.hub.Stats()}
	s.topics.mu.Lock()
	defer s.topics.mu.Unlock()
	stats.Topics = len(s.topics.open)
	for _, p := range s.topics.open {
		stats.Followers += p.users
	}
	return stats
}

// Backlog counts the jobs of all companies.
func (s *Store) Backlog(ctx context.Context) ([]Backlog, error) {
	backlog, err := s.queue.Backlog(ctx)
	return backlog, err
}
