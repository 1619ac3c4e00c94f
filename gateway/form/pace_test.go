package form_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway/form"
)

// A client that falls behind the pace is refused. A client that keeps up may take longer in total.
func TestSlowBodiesAreRefused(t *testing.T) {
	t.Parallel()
	const part = 256 << 10
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// As in the gateway, the deadline of the whole request is later than the deadline of each part.
		_, err := form.Read(w, r, form.Limits{File: 8 << 20, Rest: 1 << 20, Pace: time.Second}, time.Now().Add(time.Hour))
		if errors.Is(err, form.ErrTooSlow) {
			w.WriteHeader(http.StatusRequestTimeout)
		}
	}))
	t.Cleanup(server.Close)
	for name, test := range map[string]struct {
		size, parts, status int
	}{
		"drips": {1, 3_600, http.StatusRequestTimeout}, "keeps the pace": {part, 6, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			require.NoError(t, err)
			defer func() { _ = conn.Close() }()
			head := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n"
			_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; "+
				"boundary=x\r\nTransfer-Encoding: chunked\r\n\r\n")
			require.NoError(t, err)
			go func() {
				write := chunkTo(conn)
				write(head)
				for range test.parts {
					<-time.After(time.Second / 4)
					if !write(strings.Repeat("a", test.size)) {
						return
					}
				}
				write("\r\n--x--\r\n")
				_, _ = io.WriteString(conn, "0\r\n\r\n")
			}()
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, test.status, response.StatusCode)
		})
	}
}

// chunkTo returns a function that writes a chunk and reports whether the connection is still open.
func chunkTo(conn net.Conn) func(text string) bool {
	return func(text string) bool {
		_, err := fmt.Fprintf(conn, "%x\r\n%s\r\n", len(text), text)
		return err == nil
	}
}
