package app_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
)

// A body that never arrives whole fails at the request's time limit, although some REST requests may run longer.
func TestRESTBodiesMustArriveInTime(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	_, key := g.company(t, "Slow")
	settings := gateway.DefaultSettings()
	settings.RequestTimeout = 500 * time.Millisecond
	address := strings.TrimPrefix(serveWith(t, g.store, settings), "http://")
	for _, path := range []string{"/SimulationChat/send-message", "/Dataset", "/graphql"} {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: test\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\n"+
			"Content-Length: 100\r\n\r\n{", path, key)
		require.NoError(t, err)
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err, path)
		require.Equal(t, http.StatusBadRequest, response.StatusCode, path)
		require.NoError(t, response.Body.Close())
	}
}
