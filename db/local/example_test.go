package local_test

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"

	"github.com/agentgraph/agentgraph/db/local"
)

// A private Postgres that ends with the program, in a directory that nobody else uses.
func Example() {
	directory, err := os.MkdirTemp("", "example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(directory) }()
	_ = os.Chmod(directory, 0o755) // the server does not run as root
	ctx := context.Background()
	server, err := local.Start(ctx, local.Options{Dir: directory})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Stop() }()
	conn, err := pgx.Connect(ctx, server.URL())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = conn.Close(ctx) }()
	var answer int
	fmt.Println(conn.QueryRow(ctx, "SELECT 6 * 7").Scan(&answer), answer)
	// Output: <nil> 42
}
