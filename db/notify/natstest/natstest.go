// Package natstest runs a NATS server in a test.
package natstest

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

// Server is a NATS server. A test can stop it and cut its connections.
type Server struct {
	// URL is its address, with user and password.
	URL string

	t       testing.TB
	options server.Options
	running *server.Server
}

// user and password are the only credentials that a Server accepts.
const user, password = "agentgraph", "a-secret-of-the-test"

// Start runs a server on a free port until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, options: server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, Username: user, Password: password, NoLog: true, NoSigs: true,
	}}
	s.Run()
	t.Cleanup(s.Stop)
	return s
}

// Run starts the server. After Stop it starts it again at the same address.
func (s *Server) Run() {
	s.t.Helper()
	options := s.options
	running, err := server.NewServer(&options)
	require.NoError(s.t, err)
	go running.Start()
	require.True(s.t, running.ReadyForConnections(time.Minute), "the NATS server does not start")
	s.running = running
	s.options.Port = options.Port
	s.URL = "nats://" + user + ":" + password + "@" + running.Addr().String()
}

// Stop ends the server. Run starts it again.
func (s *Server) Stop() {
	s.running.Shutdown()
	s.running.WaitForShutdown()
}

// Cut breaks all connections.
func (s *Server) Cut() error {
	connections, err := s.running.Connz(nil)
	if err != nil {
		return err
	}
	for _, c := range connections.Conns {
		// A connection that has already ended counts as cut.
		_ = s.running.DisconnectClientByID(c.Cid)
	}
	return nil
}
