package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/agentgraph/agentgraph/app"
	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/db/schema"
)

// connections compares the connections of a replica with those that the server allows.
func (c *Doctor) connections(contents schema.Contents) finding {
	// MaxConnections for writes, as many for reads, and three for notifications, locks and the queue.
	perReplica := 2*int(c.MaxConnections) + 3
	found := fmt.Sprintf("the server allows %d, and a replica opens at most %d", contents.MaxConnections, perReplica)
	if contents.MaxConnections < perReplica {
		return warning("connections", found,
			"raise max_connections of Postgres, lower AGENTGRAPH_MAX_CONNECTIONS, or use a pooler")
	}
	return ok("connections", "%s", found)
}

// indexes returns a problem if the schema has lost indexes, or if some are invalid.
func (c *Doctor) indexes(ctx context.Context) finding {
	const name = "indexes"
	migrator, err := schema.NewMigrator(ctx, c.DatabaseURL)
	if err != nil {
		return problem(name, err.Error(), "check DATABASE_URL")
	}
	defer func() { _ = migrator.Close() }()
	faults, err := migrator.IndexFaults(ctx)
	switch {
	case err != nil:
		return problem(name, err.Error(), "check DATABASE_URL")
	case len(faults) == 0:
		return ok(name, "none is missing or invalid")
	}
	found, repairs := make([]string, len(faults)), make([]string, len(faults))
	for i, f := range faults {
		found[i], repairs[i] = f.String(), f.Repair
	}
	return problem(name, strings.Join(found, ", "), "run in psql: "+strings.Join(repairs, "; "))
}

// store returns a problem if stored secrets were encrypted with another secret key, or if serve could not open the
// database. A pooler in transaction mode needs an address for sessions, which must lead to the same database.
func (c *Doctor) store(ctx context.Context) []finding {
	const name = "sessions"
	key, _ := c.Key() // an invalid key is another finding
	store, err := db.Open(ctx, c.DatabaseURL, db.Options{SessionAddress: c.SessionDatabaseURL, SecretKey: key,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return []finding{problem(name, err.Error(), "check DATABASE_URL and AGENTGRAPH_SESSION_DATABASE_URL")}
	}
	defer store.Close()
	var findings []finding
	if err := store.CheckSecretKey(ctx); err != nil {
		findings = append(findings, problem("stored secrets", err.Error(),
			"set AGENTGRAPH_SECRET_KEY to the key with which they were stored, or set the headers and rotate the webhooks' "+
				"secrets again"))
	}
	if c.SessionDatabaseURL != "" {
		findings = append(findings, ok(name, "AGENTGRAPH_SESSION_DATABASE_URL leads to the same database"))
	}
	return findings
}

// bus checks that a NATS server accepts a connection, if signals use NATS.
func (c *Doctor) bus(ctx context.Context) []finding {
	const name, advice = "NATS", "check AGENTGRAPH_NATS_URL, AGENTGRAPH_NATS_CREDENTIALS and AGENTGRAPH_NATS_SUBJECT"
	if err := c.busFlags.Validate(); err != nil { // serve does not start with these settings
		return []finding{problem(name, err.Error(), advice)}
	}
	nats := c.nats(nil)
	if nats == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := nats.Check(ctx); err != nil {
		return []finding{problem(name, err.Error(), advice)}
	}
	return []finding{ok(name, "a server accepts connections")}
}

// bucket writes, reads, lists and deletes an object in the bucket with the documents, if there is one.
func (c *Doctor) bucket(ctx context.Context) []finding {
	const name = "document bucket"
	if c.DocumentBucket == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	b, err := c.Bucket()
	if err == nil {
		err = b.Check(ctx)
	}
	if err != nil {
		return []finding{problem(name, strings.ReplaceAll(err.Error(), "\n", ": "), "check AGENTGRAPH_DOCUMENT_BUCKET, AWS_ACCESS_KEY_ID and "+
			"AWS_SECRET_ACCESS_KEY, and the rights to write, read, list and delete objects")}
	}
	return []finding{ok(name, "can be written, read, listed and deleted from")}
}

// engine returns a problem if serve could not make its engine, for example because the folder of a static embedding
// model does not exist.
func (c *Doctor) engine() []finding {
	_, _, release, err := app.NewEngine(c.options(nil, slog.New(slog.DiscardHandler)))
	if err != nil {
		return []finding{problem("engine", err.Error(), "correct the settings of the models: serve does not start with them")}
	}
	release()
	return nil
}

// ports checks that the addresses to listen on are free and differ, or that an agentgraph already serves on them.
func (c *Doctor) ports(ctx context.Context) (findings []finding) {
	var first net.Listener
	for _, port := range []struct{ name, address string }{{"port", c.Listen}, {"metrics", c.observeFlags.Listen}} {
		if port.address == "" {
			continue
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", port.address)
		if err != nil && first != nil {
			_ = first.Close()
			if again, retried := new(net.ListenConfig).Listen(ctx, "tcp", port.address); retried == nil {
				_ = again.Close()
				findings = append(findings, problem(port.name, port.address+" is also the address to listen on",
					"choose another one with AGENTGRAPH_METRICS_LISTEN"))
				continue
			}
		}
		if err == nil {
			defer func() { _ = listener.Close() }()
			first = listener
		}
		findings = append(findings, c.port(ctx, port.name, port.address, err))
	}
	return findings
}

func (c *Doctor) port(ctx context.Context, name, address string, err error) finding {
	if err == nil {
		return ok(name, "%s is free", address)
	}
	if serves(ctx, name, address) {
		return ok(name, "agentgraph serves on %s", address)
	}
	return problem(name, fmt.Sprintf("cannot listen on %s: %v", address, err),
		"stop the program that uses the address, or choose another one with AGENTGRAPH_LISTEN or AGENTGRAPH_METRICS_LISTEN")
}

// serves reports whether an agentgraph serves its API at the address. With the name "metrics", it reports whether one
// serves its metrics there.
func serves(ctx context.Context, name, address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "" || net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	path := "/healthz"
	if name == "metrics" {
		path = "/metrics"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	if name == "metrics" {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxMetrics))
		return response.StatusCode == http.StatusOK && bytes.Contains(text, []byte("agentgraph_build_info"))
	}
	return response.StatusCode == http.StatusOK && response.Header.Get("X-Api-Version") != ""
}
