// Command raw shows the cost of a frontend's reads without a gateway: each read is one hand-written statement, in which
// Postgres builds the JSON.
package main

import (
	"context"
	_ "embed"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/agentgraph/agentgraph/lab/bench/peers"
)

var (
	//go:embed W1.sql
	oneAgent string
	//go:embed W2.sql
	page string
	//go:embed W3.sql
	resource string
)

func main() { peers.Main(run) }

func run(ctx context.Context, p peers.Peer) error {
	config, err := pgxpool.ParseConfig(p.DatabaseURL)
	if err != nil {
		return err
	}
	config.MaxConns = int32(p.Pool)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /W1/{id}", p.Authenticated(func(w http.ResponseWriter, r *http.Request, company string) error {
		return answer(r.Context(), w, pool, oneAgent, company, r.PathValue("id"))
	}))
	mux.HandleFunc("GET /W2", p.Authenticated(func(w http.ResponseWriter, r *http.Request, company string) error {
		return answer(r.Context(), w, pool, page, company)
	}))
	mux.HandleFunc("GET /Agent/{id}", p.Authenticated(func(w http.ResponseWriter, r *http.Request, company string) error {
		return answer(r.Context(), w, pool, resource, company, r.PathValue("id"))
	}))
	return p.Serve(mux)
}

// answer writes the single value of the single row. pgx prepares the statement once for each connection.
func answer(ctx context.Context, w http.ResponseWriter, pool *pgxpool.Pool, statement string, args ...any) error {
	rows, err := pool.Query(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if rows.Next() {
		if _, err := w.Write(rows.RawValues()[0]); err != nil {
			return err
		}
	}
	return rows.Err()
}
