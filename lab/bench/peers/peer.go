// Package peers has the common code of the Go servers that agentgraph is compared with.
package peers

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

// Peer has the settings that the benchmark passes to a server in the environment.
type Peer struct {
	// Listen is the address to serve on.
	Listen string
	// DatabaseURL names the database, and Pool bounds the connections to it.
	DatabaseURL string
	Pool        int
	// Companies maps keys, as sent in X-Api-Key, to companies.
	Companies map[string]string
}

// FromEnvironment reads LISTEN, DATABASE_URL, POOL and KEYS, which is the path of a file.
func FromEnvironment() (Peer, error) {
	p := Peer{Listen: os.Getenv("LISTEN"), DatabaseURL: os.Getenv("DATABASE_URL")}
	var err error
	if p.Pool, err = strconv.Atoi(os.Getenv("POOL")); err != nil {
		return p, err
	}
	keys, err := os.ReadFile(os.Getenv("KEYS"))
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(keys, &p.Companies)
}

// Handler answers a request of the company.
type Handler func(w http.ResponseWriter, r *http.Request, company string) error

// Authenticated refuses requests without a known key, and responds with 500 if handle returns an error.
func (p Peer) Authenticated(handle Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		company, known := p.Companies[r.Header.Get("X-Api-Key")]
		if !known {
			http.Error(w, "the key is not known", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := handle(w, r, company); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}

// Serve serves until a signal stops the program.
func (p Peer) Serve(handler http.Handler) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	server := &http.Server{Handler: handler}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", p.Listen)
	if err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Main runs a server until it ends.
func Main(run func(context.Context, Peer) error) {
	peer, err := FromEnvironment()
	if err == nil {
		err = run(context.Background(), peer)
	}
	if err != nil {
		log.Fatal(err)
	}
}
