package gateway

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"

	"golang.org/x/time/rate"

	"github.com/agentgraph/agentgraph/model"
)

// Connections bounds the open connections of a listener, in total and per address; 0 means no bound. Private addresses
// count only toward the total, because they belong to proxies with many clients.
type Connections struct{ All, PerAddress int }

// Listen wraps the listener of a server whose handler is a Server. Connections beyond the bounds are closed as soon as
// they arrive. Responses of up to 64 KiB are sent in one piece.
func (c Connections) Listen(server *http.Server, listener net.Listener) net.Listener {
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, conn)
	}
	return &boundedListener{Listener: listener, limits: c, open: map[netip.Addr]int{}}
}

type connKey struct{}

type boundedListener struct {
	net.Listener
	limits Connections

	mu   sync.Mutex
	all  int
	open map[netip.Addr]int
}

// Accept waits for a connection within the bounds.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address, isPublic := publicAddress(conn.RemoteAddr().String())
		if !l.acquire(address, isPublic) {
			_ = conn.Close()
			continue
		}
		return &clientConn{Conn: conn, release: sync.OnceFunc(func() { l.release(address, isPublic) })}, nil
	}
}

func (l *boundedListener) acquire(address netip.Addr, isPublic bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limits.All > 0 && l.all >= l.limits.All || isPublic && l.limits.PerAddress > 0 &&
		l.open[address] >= l.limits.PerAddress {
		return false
	}
	l.all++
	if isPublic {
		l.open[address]++
	}
	return true
}

func (l *boundedListener) release(address netip.Addr, isPublic bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if !isPublic {
		return
	}
	if l.open[address]--; l.open[address] == 0 {
		delete(l.open, address)
	}
}

// clientConn is a client's connection. It can hold writes until a response is complete.
type clientConn struct {
	net.Conn
	release func()
	held    *[]byte
	// isBroken is set when a response was sent only in part.
	isBroken bool
}

// Close closes the connection and stops counting it.
func (c *clientConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// CloseWrite closes the sending half. net/http calls it before it closes a connection with an unread request.
func (c *clientConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// sharedAddresses are the addresses of carrier-grade NAT, RFC 6598, which many clients share.
var sharedAddresses = netip.MustParsePrefix("100.64.0.0/10")

// publicAddress returns the address of a client, and whether it is public, that is, probably not shared. For public
// IPv6 it returns the address of the /64 network.
func publicAddress(remote string) (address netip.Addr, isPublic bool) {
	address = addressOf(remote)
	if !address.IsValid() || address.IsLoopback() || address.IsPrivate() || address.IsLinkLocalUnicast() ||
		sharedAddresses.Contains(address) {
		return address, false
	}
	if address.Is6() {
		network, _ := address.Prefix(64) // every IPv6 address has this prefix
		address = network.Addr()
	}
	return address, true
}

// failedPerMinute is how many credentials of one public address may be refused in a minute before the address must
// wait.
const failedPerMinute = 60

// unverifiedPerMinute is how many unverified credentials may be refused in a minute, from all addresses together,
// before all unverified credentials must wait. unverifiedAtOnce is how many are looked up at a time. See IsUnverified.
const (
	unverifiedPerMinute = 600
	unverifiedAtOnce    = 8
)

// failures slows down addresses that send bad credentials.
type failures struct {
	limit *rateLimit
	// unverified counts the refused unverified credentials of all addresses. slots bounds their concurrent lookups.
	unverified *rate.Limiter
	slots      chan struct{}
}

func newFailures() failures {
	return failures{
		newRateLimit("address", "refused credentials", failedPerMinute),
		rate.NewLimiter(unverifiedPerMinute/60, unverifiedPerMinute), make(chan struct{}, unverifiedAtOnce),
	}
}

// limitLookup waits until an unverified credential may be looked up, and calls lookUp, which reports whether it was
// refused. It returns RATE_LIMITED if too many credentials were refused, either from this address or from all addresses
// together. It returns the context's error if ctx ends first.
func (f failures) limitLookup(ctx context.Context, remote string, lookUp func() (isRefused bool)) error {
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-f.slots }()
	if slow := f.check(remote); slow != nil {
		return slow
	}
	if f.unverified.Tokens() < 1 {
		return model.Errorf(model.RateLimited, "too many unknown credentials were refused; try again in 1 s")
	}
	if lookUp() {
		f.unverified.Allow()
	}
	return nil
}

// check returns RATE_LIMITED if too many credentials of the address were refused.
func (f failures) check(remote string) error {
	address, isPublic := publicAddress(remote)
	if !isPublic {
		return nil
	}
	if bucket, known := f.limit.buckets.Get(address.String()); known && bucket.Tokens() < 1 {
		return model.Errorf(model.RateLimited, "too many credentials from this address were refused; try again in %s s",
			f.limit.seconds(1-bucket.Tokens()))
	}
	return nil
}

func (f failures) count(remote string) {
	if address, isPublic := publicAddress(remote); isPublic {
		f.limit.bucket(address.String()).Allow()
	}
}
