package form_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
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

// Texts and files have separate bounds. If several files have one name, the last one counts, as with texts.
func TestTextsAndFilesAreBoundedSeparately(t *testing.T) {
	t.Parallel()
	limits := form.Limits{File: 2_000, Rest: 1_000}
	sent := func(parts ...string) (*form.Form, error) {
		body := ""
		for _, part := range parts {
			body += "--x\r\nContent-Disposition: form-data; name=\"a\"" + part + "\r\n"
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body+"--x--\r\n"))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		return form.Read(httptest.NewRecorder(), r, limits, time.Time{})
	}
	text := func(length int) string { return "\r\n\r\n" + strings.Repeat("t", length) }
	file := func(length int, fill string) string {
		return "; filename=\"a.txt\"\r\n\r\n" + strings.Repeat(fill, length)
	}
	for _, parts := range [][]string{{text(1_001)}, {file(2_001, "f")}, {file(1_001, "f"), file(1_000, "g")}} {
		_, err := sent(parts...)
		require.ErrorAs(t, err, new(*form.TooLargeError))
	}
	read, err := sent(text(1_000), file(500, "f"), file(700, "g"))
	require.NoError(t, err)
	defer read.Close()
	upload, given, err := read.Upload("a")
	require.NoError(t, err)
	require.True(t, given)
	content, err := io.ReadAll(upload.File)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("g", 700), string(content))
}

func TestFilesAreKeptOnDisk(t *testing.T) { //nolint:paralleltest // it changes the directory for temporary files
	directory := t.TempDir()
	t.Setenv("TMPDIR", directory)
	body := "--x\r\nContent-Disposition: form-data; name=\"a\"; filename=\"a.txt\"\r\n\r\nfile\r\n--x--\r\n"
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	read, err := form.Read(httptest.NewRecorder(), r, form.Limits{File: 100, Rest: 100}, time.Time{})
	require.NoError(t, err)
	files, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Len(t, files, 1)
	read.Close()
	files, err = os.ReadDir(directory)
	require.NoError(t, err)
	require.Empty(t, files)
}
