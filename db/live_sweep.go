package db

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/agentgraph/agentgraph/db/notify"
)

const (
	// Because a signal may be lost, topics are checked again after 5 to 10 s.
	minSweepDelay = 5 * time.Second
	maxSweepDelay = 10 * time.Second
	// missedDelay is the wait between signals that may have been missed and a check of all topics.
	missedDelay = 20 * time.Millisecond
	// sweepSize bounds the rows of one statement.
	sweepSize = 1_000
	// sweepTimeout bounds one statement.
	sweepTimeout = 10 * time.Second
)

// followedTable describes a table whose rows are followed. version is an expression whose value grows with every
// relevant change. hasEnded is an expression that is true when no more changes follow.
type followedTable struct{ name, version, hasEnded string }

var (
	followedChats = &followedTable{"simulation_chats", "last_sequence",
		`status = 'Ended' OR EXISTS (SELECT 1 FROM agents AS deleted
		WHERE deleted.company_id = simulation_chats.company_id AND deleted.id = agent_id AND deleted.deleted_at IS NOT NULL)`}
	followedExecutions    = &followedTable{"agent_test_executions", "version", "finished_at IS NOT NULL"}
	followedBlameSearches = &followedTable{"blame_searches", "version", "finished_at IS NOT NULL"}
	// The reader compares the documents of a dataset each time.
	followedDatasets  = &followedTable{"datasets", "-1", "false"}
	followedCampaigns = &followedTable{"campaigns", "version + coalesce(revision, 0)",
		"status = 'Archived' OR deleted_at IS NOT NULL"}
)

func sweepDelay() time.Duration { return minSweepDelay + rand.N(maxSweepDelay-minSweepDelay) }

// look notifies the topics whose rows have changed or were deleted. One statement covers many topics of all companies.
func (s *topics) look() {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	byTable := map[*followedTable][]*topic{}
	s.mu.Lock()
	for key, p := range s.open {
		byTable[key.table] = append(byTable[key.table], p)
	}
	if len(s.open) > 0 {
		s.sweep.Reset(sweepDelay())
		s.work.Add(1)
		defer s.work.Done()
	}
	s.mu.Unlock()
	for table, all := range byTable {
		for len(all) > 0 {
			some := all[:min(len(all), sweepSize)]
			all = all[len(some):]
			s.lookAt(table, some)
		}
	}
}

func (s *topics) lookAt(table *followedTable, some []*topic) {
	companies, ids := make([]string, len(some)), make([]string, len(some))
	for i, p := range some {
		companies[i], ids[i] = p.key.CompanyID, p.key.ID
	}
	ctx, cancel := context.WithTimeout(s.ctx, sweepTimeout)
	defer cancel()
	rows := []struct {
		CompanyID, ID string
		Version       int32
		HasEnded      bool
	}{}
	// Each row is found by its company and its id, so a topic never sees another company's row.
	err := s.store.db.Program().NewSelect().TableExpr(table.name).ColumnExpr("company_id, id").
		ColumnExpr(table.version+" AS version").ColumnExpr(table.hasEnded+" AS has_ended").
		Where("(company_id, id) IN (SELECT * FROM unnest(?::text[], ?::text[]))", pgdialect.Array(companies),
			pgdialect.Array(ids)).
		Scan(ctx, &rows)
	if err != nil {
		return // the database may answer the next time
	}
	same := make(map[notify.Key]int32, len(rows))
	for _, row := range rows {
		if !row.HasEnded {
			same[notify.Key{CompanyID: row.CompanyID, ID: row.ID}] = row.Version
		}
	}
	for _, p := range some {
		if version, found := same[p.key.Key]; !found || version != p.version.Load() {
			p.wake(true)
		}
	}
}
