package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/gateway"
)

// A client that sends no body, or only half of one, gets an error, with or without a key.
func TestMissingBodiesGetAnError(t *testing.T) {
	t.Parallel()
	f := start(t, settings(func(s *gateway.Settings) { s.RequestTimeout = time.Second }))
	for headers, status := range map[string]int{
		"": http.StatusUnauthorized, "X-Api-Key: wrong\r\n": http.StatusUnauthorized, "X-Api-Key: " + goodKey +
			"\r\n": http.StatusBadRequest,
	} {
		for path, status := range map[string]int{"/graphql": status, "/elsewhere": map[bool]int{true: http.StatusNotFound,
			false: status}[status == http.StatusBadRequest]} {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(f.url, "http://"))
			require.NoError(t, err)
			_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n%sContent-Length: "+
				"100\r\n\r\n{", path, headers)
			require.NoError(t, err)
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err, "%s %s", path, headers)
			_, _ = io.Copy(io.Discard, response.Body)
			require.NoError(t, response.Body.Close())
			require.Equal(t, status, response.StatusCode, "%s %s", path, headers)
			require.NoError(t, conn.Close())
		}
	}
	require.Equal(t, http.StatusOK, f.post(t, "{ hello }").status)
}

func TestLongErrorsAreTruncated(t *testing.T) {
	t.Parallel()
	f := start(t)
	for _, query := range []string{
		"{ hello " + strings.Repeat("@a ", 1900) + "}",
		"{ " + strings.Repeat("x", 20_000) + " }",
		"{ " + strings.Repeat("hello @"+strings.Repeat("d", 500)+" ", 50) + " }",
	} {
		a := f.post(t, query)
		require.LessOrEqual(t, len(a.text), 32<<10)
		errs := a.json["errors"].([]any)
		require.LessOrEqual(t, len(errs), 11)
		if len(errs) == 11 {
			require.Regexp(t, "^and [0-9]+ more errors$", errs[10].(map[string]any)["message"])
		}
	}
}

func TestJSONIsBoundedBeforeItIsDecoded(t *testing.T) {
	t.Parallel()
	f := start(t)
	deep := strings.Repeat("[", 65) + strings.Repeat("]", 65)
	wide := `{"a":1` + strings.Repeat(`,"b":1`, 10_000) + `}`
	many := `{"a":[{}` + strings.Repeat(",{}", 9_000) + `],"b":[{}` + strings.Repeat(",{}", 1_000) + `]}`
	large := `{"a":[[1` + strings.Repeat(strings.Repeat(",1", 9_000)+`],[1`, 6) + `]]}`
	for part, variables := range map[string]string{
		"64 levels": `{"a":` + deep + `}`, "more than 10,000 elements": wide, "10,000 objects": many, "50,000 members": large,
		"an object or a list has": `{"a":[1` + strings.Repeat(",1", 10_000) + `]}`,
	} {
		for _, c := range []call{
			{method: "POST", path: "/graphql", body: `{"query":"{ hello }","variables":` + variables + `}`},
			{method: "GET", path: "/graphql?query=%7Bhello%7D&variables=" + strings.ReplaceAll(variables, " ", "")},
		} {
			if c.method == "GET" && len(c.path) > 8<<10 {
				continue
			}
			a := f.do(t, c)
			require.Equal(t, http.StatusBadRequest, a.status)
			err, _ := a.fault(t)
			require.Contains(t, err["message"], part)
		}
	}
	allowed := `{"query":"{ hello }","variables":{"a":` + strings.Repeat("[", 60) + `"{[[[\"{"` + strings.Repeat("]", 60) +
		`}}`
	require.Equal(t, http.StatusOK, f.do(t, call{method: "POST", path: "/graphql", body: allowed}).status)
}

func TestSecondKeyIsRefused(t *testing.T) {
	t.Parallel()
	f := start(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url+"/graphql?query=%7Bhello%7D", nil)
	require.NoError(t, err)
	request.Header.Add("X-Api-Key", goodKey)
	request.Header.Add("X-Api-Key", "other")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusBadRequest, response.StatusCode)
}

// Concurrent readiness requests share one check, and all are answered in time.
func TestConcurrentReadinessChecksShareOne(t *testing.T) {
	t.Parallel()
	var looks atomic.Int32
	release := make(chan struct{})
	f := start(t, func(o *gateway.Options) {
		o.Ready = func(ctx context.Context) error {
			looks.Add(1)
			<-release // the check ignores its context
			return ctx.Err()
		}
	})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			a := f.do(t, call{method: "GET", path: "/readyz", headers: []string{"X-Api-Key:"}})
			assert.Equal(t, http.StatusServiceUnavailable, a.status)
			assert.JSONEq(t, `{"status":"not ready","reasons":["the database does not answer"]}`, a.text)
		})
	}
	all.Wait()
	require.EqualValues(t, 1, looks.Load())
	require.Eventually(t, func() bool { return strings.Contains(f.log.String(), `"code":"UNAVAILABLE"`) }, patience,
		time.Millisecond)
	require.NotContains(t, f.log.String(), `"code":"INTERNAL"`)
	close(release)
}

// callers is a listener whose connections have the given remote addresses.
type callers struct {
	net.Listener
	from chan string
}

type caller struct {
	net.Conn
	from net.Addr
}

func (c caller) RemoteAddr() net.Addr { return c.from }

func (c callers) Accept() (net.Conn, error) {
	from, more := <-c.from
	if !more {
		return nil, net.ErrClosed
	}
	address, err := net.ResolveTCPAddr("tcp", from)
	if err != nil {
		return nil, err
	}
	here, _ := net.Pipe()
	return caller{here, address}, nil
}

func TestConnectionsAreLimited(t *testing.T) {
	t.Parallel()
	from := make(chan string, 20)
	listener := gateway.Connections{All: 6, PerAddress: 2}.Listen(&http.Server{}, callers{from: from})
	accept := func(address string) net.Conn {
		from <- address
		from <- "10.0.0.9:1" // a private address is admitted whenever there is room
		conn, err := listener.Accept()
		require.NoError(t, err)
		if conn.RemoteAddr().String() == "10.0.0.9:1" {
			require.NoError(t, conn.Close())
			return nil
		}
		marker, err := listener.Accept()
		require.NoError(t, err)
		require.NoError(t, marker.Close())
		return conn
	}
	first := accept("203.0.113.7:1000")
	require.NotNil(t, first)
	require.NotNil(t, accept("203.0.113.7:1001"))
	require.Nil(t, accept("203.0.113.7:1002"), "a third connection from an address")
	require.NoError(t, first.Close())
	require.NoError(t, first.Close(), "which counts once")
	require.NotNil(t, accept("203.0.113.7:1003"))
	require.Nil(t, accept("203.0.113.7:1004"))
	require.NotNil(t, accept("[2001:db8:1:2::1]:1"))
	require.NotNil(t, accept("[2001:db8:1:2:ffff::2]:1"))
	require.Nil(t, accept("[2001:db8:1:2::3]:1"), "from the same network")
	last := accept("192.168.1.1:1")
	require.NotNil(t, last)
	from <- "192.168.1.1:2"
	sixth, err := listener.Accept()
	require.NoError(t, err)
	from <- "192.168.1.1:3"
	close(from)
	_, err = listener.Accept()
	require.ErrorIs(t, err, net.ErrClosed, "a seventh connection is closed immediately")
	require.NoError(t, sixth.Close())
}
