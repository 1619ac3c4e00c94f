// Package peers is what the Go servers that agentgraph is measured beside share: how they are told what to serve.
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

// Peer is what the benchmark tells a server by the environment.
type Peer struct {
	// Listen is the address to serve on.
	Listen string
	// DatabaseURL and Pool say which database, and with how many connections at most.
	DatabaseURL string
	Pool        int
	// Companies are those that the keys, which come in X-Api-Key, stand for.
	Companies map[string]string
}

// FromEnvironment reads LISTEN, DATABASE_URL, POOL and KEYS, the name of a file.
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

// Authenticated refuses requests without a key, and says what went wrong with the others.
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

// Serve serves until the program is told to end.
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
