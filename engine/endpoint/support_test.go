package endpoint

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/agentgraph/agentgraph/model"
)

// proxied counts the requests to the proxy that the environment names.
var proxied atomic.Int64

func TestMain(m *testing.M) {
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied.Add(1) }))
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		_ = os.Setenv(name, proxy.URL)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if code == 0 && proxied.Load() > 0 {
			log.Print("a call went to the proxy of the environment")
			code = 1
		}
		os.Exit(code)
	}), goleak.IgnoreCurrent())
}

// caller returns a Caller that may call these addresses.
func caller(t *testing.T, allow ...string) *Caller {
	t.Helper()
	c, err := New(Options{Allow: allow})
	require.NoError(t, err)
	c.maxResponse = 4096
	t.Cleanup(c.Close)
	return c
}

// local returns a Caller that may call the servers of tests.
func local(t *testing.T) *Caller {
	t.Helper()
	return caller(t, "127.0.0.1")
}

// serve starts a server and returns its address.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// serveRaw starts a server that answers each request with exactly these bytes, and then closes the connection. With
// hold, it waits until the client closes the connection.
func serveRaw(t *testing.T, answer string, hold bool) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = conn.Close() }()
				reader := bufio.NewReader(conn)
				req, err := http.ReadRequest(reader)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				_, _ = io.WriteString(conn, answer)
				if hold {
					_, _ = io.Copy(io.Discard, reader)
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return "http://" + listener.Addr().String()
}

// resolve makes the Caller use a name server of the test. answer gets the number of the lookup of a name, from 0.
func resolve(t *testing.T, c *Caller, answer func(name string, nth int) string) {
	t.Helper()
	server, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	require.NoError(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		asked := map[string]int{}
		buffer := make([]byte, 1024)
		for {
			n, client, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			var message dnsmessage.Message
			if message.Unpack(buffer[:n]) != nil || len(message.Questions) != 1 {
				continue
			}
			question := message.Questions[0]
			name := strings.TrimSuffix(question.Name.String(), ".")
			message.Header = dnsmessage.Header{ID: message.ID, Response: true, RecursionAvailable: true}
			message.Additionals = nil
			header := dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET}
			text := answer(name, asked[name])
			switch ip, err := netip.ParseAddr(text); {
			case err != nil:
				message.RCode = dnsmessage.RCodeNameError
			case ip.Is4() && question.Type == dnsmessage.TypeA:
				asked[name]++
				message.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: ip.As4()}}}
			case ip.Is6() && question.Type == dnsmessage.TypeAAAA:
				asked[name]++
				message.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}}}
			}
			packed, err := message.Pack()
			if err != nil {
				continue
			}
			_, _ = server.WriteTo(packed, client)
		}
	})
	t.Cleanup(func() {
		_ = server.Close()
		serving.Wait()
	})
	c.guard.dialer.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn,
		error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

func endpoint(method model.HTTPMethod, url string) model.ToolEndpoint {
	return model.ToolEndpoint{Method: method, URL: url, TimeoutSeconds: 20}
}

// get calls an address without arguments.
func get(t *testing.T, c *Caller, url string) (string, error) {
	t.Helper()
	return c.Call(t.Context(), endpoint(model.HTTPMethodGet, url), nil, nil)
}

// fails requires an *Error with the cause, and returns it.
func fails(t *testing.T, err error, cause Cause) *Error {
	t.Helper()
	var failure *Error
	require.ErrorAs(t, err, &failure)
	require.Equal(t, cause, failure.Cause, "%v: %v", failure, errors.Unwrap(failure))
	require.NotContains(t, failure.Message, "127.0.0.")
	return failure
}
