package form_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway/form"
)

// A client that sends its whole body before it reads still receives the refusal.
func TestTooLargeBodyIsAnswered(t *testing.T) {
	t.Parallel()
	limits := form.Limits{File: 8 << 20, Rest: 1 << 20}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := form.Read(w, r, limits, time.Now().Add(time.Minute))
		if errors.As(err, new(*form.TooLargeError)) {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	}))
	t.Cleanup(server.Close)
	const size = 10 << 20
	head := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n"
	file := append([]byte(head), bytes.Repeat([]byte("a"), size)...)
	file = append(file, "\r\n--x--\r\n"...)
	for name, framed := range map[string]string{
		"named length": fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(file), file),
		"chunked":      fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(file), file),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
			require.NoError(t, err)
			defer func() { _ = conn.Close() }()
			_, err = conn.Write([]byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\n" +
				framed))
			require.NoError(t, err)
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
		})
	}
}
