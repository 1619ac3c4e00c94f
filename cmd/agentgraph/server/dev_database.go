package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/cli"
	"github.com/agentgraph/agentgraph/db/local"
	"github.com/agentgraph/agentgraph/db/schema"
)

// devDatabase is the database that dev uses.
type devDatabase struct {
	address string
	// name describes the database in messages.
	name string
	// stop must be called when the program ends.
	stop func() error
}

// database returns the database. Without an address it starts a private server, and calls end if that server stops
// unexpectedly.
func (c *Dev) database(ctx context.Context, directory string, in io.Reader, log io.Writer,
	end context.CancelCauseFunc) (devDatabase, error) {
	if c.DatabaseURL != "" {
		name, err := c.confirmDatabase(ctx, in, log)
		return devDatabase{address: c.DatabaseURL, name: name, stop: func() error { return nil }}, err
	}
	server, err := local.Start(ctx, local.Options{Dir: databaseDirectory(directory), Durable: !c.Ephemeral,
		TookOver: func() {
			_, _ = fmt.Fprintln(log, "Another agentgraph process, which ran the private database, has ended. This process "+
				"restarted the database.")
		}})
	if err != nil {
		return devDatabase{}, err
	}
	if c.Reset {
		if err := server.Reset(ctx); err != nil {
			return devDatabase{}, errors.Join(err, server.Stop())
		}
	}
	go func() {
		select {
		case <-server.Ended():
			end(errDatabaseEnded)
		case <-ctx.Done():
		}
	}()
	name := "private, in " + databaseDirectory(directory)
	if server.Attached() {
		name += ", which another agentgraph started"
	}
	return devDatabase{address: server.URL(), name: name, stop: server.Stop}, nil
}

var errDatabaseEnded = errors.New("the private database server stopped unexpectedly. Read postgres.log in the " +
	"data directory, and start agentgraph again")

// confirmDatabase returns a description of the database in DATABASE_URL. If the database has tables of other programs
// and none of agentgraph, a flag or the user at the terminal must allow its use.
func (c *Dev) confirmDatabase(ctx context.Context, in io.Reader, log io.Writer) (string, error) {
	contents, err := schema.Inspect(ctx, c.DatabaseURL)
	if err != nil {
		return "", err
	}
	if err := contents.Err(); err != nil {
		return "", err
	}
	name := contents.Database
	if config, err := pgx.ParseConfig(c.DatabaseURL); err == nil {
		name = fmt.Sprintf("%s on %s as %s (DATABASE_URL)", contents.Database, config.Host, contents.User)
	}
	if contents.IsOurs || len(contents.Others) == 0 || c.UseDatabaseURL {
		return name, nil
	}
	holds := fmt.Sprintf("the database %s holds %s", name, describeTables(contents.Others))
	if cli.IsTerminal(in) && cli.IsTerminal(log) {
		_, _ = fmt.Fprintf(log, "%s\nAdd agentgraph's tables and a demo company? [y/N] ", upperFirst(holds))
		if cli.Confirm(ctx, in) {
			return name, nil
		}
		return "", errors.New("nothing was written. Unset DATABASE_URL to let dev use a private database")
	}
	return "", errors.New(holds + ". Nothing was written. Pass --use-database-url to add agentgraph's tables and a " +
		"demo company, or unset DATABASE_URL to use a private database")
}

// describeTables lists some of the tables, with their total number.
func describeTables(tables []string) string {
	const shown = 3
	if len(tables) <= shown {
		return "other tables: " + strings.Join(tables, ", ")
	}
	return fmt.Sprintf("%d other tables: %s, …", len(tables), strings.Join(tables[:shown], ", "))
}

func upperFirst(text string) string { return strings.ToUpper(text[:1]) + text[1:] }
