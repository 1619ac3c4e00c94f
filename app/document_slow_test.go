package app_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/db/dbtest"
	"github.com/agentgraph/agentgraph/gateway"
)

// An upload that makes no progress ends, even if the request's time limit is longer.
func TestStalledUploadIsRefused(t *testing.T) {
	t.Parallel()
	store := dbtest.New(t)
	settings := gateway.DefaultSettings()
	settings.RequestTimeout = 500 * time.Millisecond
	g := &gatewayUnderTest{url: serveWith(t, store, settings), store: store}
	_, key := g.company(t, "SLOW")
	for _, path := range []string{"/Dataset/dataset_none/document", "/graphql"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			// http.Client cannot be used: it may return the error of a failed write instead of the response.
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.url, "http://"))
			require.NoError(t, err)
			defer func() { _ = conn.Close() }()
			go func() {
				_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nX-Api-Key: %s\r\n"+
					"GraphQL-Require-Preflight: 1\r\n"+
					"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 1000000\r\n\r\n"+
					"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n", path, key)
				for err == nil {
					<-time.After(often)
					_, err = io.WriteString(conn, "a")
				}
			}()
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			text, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, http.StatusRequestTimeout, response.StatusCode, "%s", text)
			require.Contains(t, string(text), "the body arrived too slowly")
		})
	}
}
