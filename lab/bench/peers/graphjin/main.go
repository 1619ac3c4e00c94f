// Command graphjin serves the benchmark's reads with GraphJin as a library, in production mode: GraphJin accepts only
// operations from its allow list, and compiles each of them once, to one statement. pgx prepares the statement for each
// connection.
package main

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"slices"

	"github.com/dosco/graphjin/core/v3"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"github.com/agentgraph/agentgraph/lab/bench/peers"
)

//go:embed *.graphql
var operations embed.FS

func main() { peers.Main(run) }

func run(_ context.Context, p peers.Peer) error {
	db, err := sql.Open("pgx", p.DatabaseURL)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(p.Pool)
	db.SetMaxIdleConns(p.Pool)
	gateway, err := core.NewGraphJinWithFS(&core.Config{
		Production: true, EnableSchema: true, EnableCamelcase: true, DefaultLimit: 100,
	}, db, allowed{})
	if err != nil {
		return err
	}
	return p.Serve(p.Authenticated(func(w http.ResponseWriter, r *http.Request, _ string) error {
		var in struct {
			Query     string
			Variables json.RawMessage
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return err
		}
		result, err := gateway.GraphQL(r.Context(), in.Query, in.Variables, nil)
		if err != nil {
			return err
		}
		// The data is sent as Postgres returned it, because encoding it again would take time.
		_, err = w.Write(slices.Concat([]byte(`{"data":`), result.Data, []byte("}")))
		return err
	}))
}

// allowed is GraphJin's file system: its schema, and the allowed operations as name.gql.
type allowed struct{}

func (allowed) Get(name string) ([]byte, error) { return operations.ReadFile(file(name)) }

func (allowed) Put(string, []byte) error { return errors.New("the allowed operations are read-only") }

func (allowed) Exists(name string) (bool, error) {
	_, err := fs.Stat(operations, file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func file(name string) string {
	base := path.Base(name)
	if path.Ext(base) == ".gql" {
		return base[:len(base)-len("gql")] + "graphql"
	}
	return base
}
