package gateway

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/agentgraph/agentgraph/model"
)

func TestGuessingAddressesHaveToWait(t *testing.T) {
	t.Parallel()
	f := newFailures()
	for range failedPerMinute {
		require.NoError(t, f.check("203.0.113.7:1"))
		f.count("203.0.113.7:1")
		f.count("10.1.2.3:1")
		f.count("[2001:db8::1]:1")
	}
	var fault *model.Error
	require.ErrorAs(t, f.check("203.0.113.7:2"), &fault)
	require.Equal(t, model.RateLimited, fault.Code)
	require.Error(t, f.check("[2001:db8::2]:1"), "the same network")
	require.NoError(t, f.check("203.0.113.8:2"))
	require.NoError(t, f.check("10.1.2.3:1"), "a proxy")
}

func TestForwardedAddressesOfTrustedProxies(t *testing.T) {
	t.Parallel()
	s := &Server{settings: Settings{TrustedProxies: []netip.Prefix{
		netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}}}
	many := strings.TrimSuffix(strings.Repeat("10.0.0.1, ", 1000), ", ")
	for _, c := range []struct {
		remote, want string
		forwarded    []string
	}{
		{"10.0.0.2:1", "203.0.113.7", []string{"203.0.113.7"}},
		{"10.0.0.2:1", "203.0.113.7", []string{"198.51.100.1, 203.0.113.7"}},
		{"10.0.0.2:1", "203.0.113.7", []string{"198.51.100.1", "203.0.113.7, 10.0.0.3"}},
		{"10.0.0.2:1", "203.0.113.7", []string{"203.0.113.7:5000,\t[2001:db8::1]:80"}},
		{"10.0.0.2:1", "2001:db9::1", []string{"[2001:db9::1]"}},
		{"10.0.0.2:1", "10.0.0.3", []string{"unknown, 10.0.0.3"}},
		{"10.0.0.2:1", "10.0.0.4", []string{"10.0.0.4, 10.0.0.3"}},
		{"10.0.0.2:1", "10.0.0.1", []string{"203.0.113.7", many}},
		{"10.0.0.2:1", "10.0.0.2", []string{"203.0.113.7, unknown"}},
		{"10.0.0.2:1", "10.0.0.2", []string{""}},
		{"10.0.0.2:1", "10.0.0.2", nil},
		{"203.0.113.9:1", "203.0.113.9", []string{"203.0.113.7"}},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{forwardedHeader: c.forwarded}}
		require.Equal(t, c.want, s.remoteOf(r), "%v", c.forwarded)
	}
	_, isPublic := publicAddress("203.0.113.7")
	require.True(t, isPublic)
	s.settings.TrustedProxies = nil
	require.Equal(t, "10.0.0.2", s.remoteOf(&http.Request{RemoteAddr: "10.0.0.2:1",
		Header: http.Header{forwardedHeader: {"203.0.113.7"}}}))
}

func TestUnverifiedCredentialLookupsAreRateLimited(t *testing.T) {
	t.Parallel()
	f, lookedUp := newFailures(), 0
	lookUp := func(remote string, isRefused bool) error {
		return f.limitLookup(t.Context(), remote, func() bool {
			lookedUp++
			if isRefused {
				f.count(remote) // as the gateway does on refusal
			}
			return isRefused
		})
	}
	for range 10 * unverifiedPerMinute {
		require.NoError(t, lookUp("198.51.100.1:1", false), "valid credentials do not count")
	}
	// The limit of the guessing address is reached long before the total limit. After that, its credentials are not looked
	// up.
	lookedUp = 0
	for range failedPerMinute {
		require.NoError(t, lookUp("203.0.113.7:1", true))
	}
	var fault *model.Error
	require.ErrorAs(t, lookUp("203.0.113.7:2", true), &fault)
	require.Equal(t, model.RateLimited, fault.Code)
	require.Equal(t, failedPerMinute, lookedUp)
	require.NoError(t, lookUp("203.0.113.8:1", true))
	// Behind a proxy all clients share an address, so the total limit applies.
	for range unverifiedPerMinute - failedPerMinute - 1 {
		require.NoError(t, lookUp("10.1.2.3:1", true))
	}
	for f.unverified.Tokens() >= 1 { // the bucket refills during the test
		require.NoError(t, lookUp("10.1.2.3:1", true))
	}
	lookedUp = 0
	require.ErrorAs(t, lookUp("203.0.113.9:1", true), &fault)
	require.Equal(t, model.RateLimited, fault.Code)
	require.Zero(t, lookedUp)
}

func TestConcurrentUnverifiedLookupsAreBounded(t *testing.T) {
	t.Parallel()
	f := newFailures()
	for range unverifiedAtOnce {
		f.slots <- struct{}{}
	}
	ctx, leave := context.WithCancel(t.Context())
	leave()
	require.ErrorIs(t, f.limitLookup(ctx, "203.0.113.7:1", func() bool { panic("there is no slot") }), context.Canceled)
	<-f.slots
	require.NoError(t, f.limitLookup(t.Context(), "203.0.113.7:1", func() bool { return false }))
}
