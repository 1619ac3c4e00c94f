// Package notify wakes the replicas that share a database.
package notify

import "github.com/jackc/pgx/v5/pgxpool"

// Hub carries signals between replicas.
type Hub struct{ pool *pgxpool.Pool }

// New returns a Hub on the pool.
func New(pool *pgxpool.Pool) *Hub { return &Hub{pool: pool} }

// Close ends it.
func (h *Hub) Close() {}
