package endpoint

import (
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"

	"code.dny.dev/ssrf"
	"github.com/stretchr/testify/require"
)

func TestOnlyPublicAddressesAreAllowed(t *testing.T) {
	t.Parallel()
	guard, err := newGuard(nil)
	require.NoError(t, err)
	for _, open := range []string{"8.8.8.8", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111",
		"2a00:1450::1"} {
		require.NoError(t, guard.public.check(netip.MustParseAddr(open)), open)
	}
	for _, closed := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "169.254.0.1",
		"169.254.169.254", "169.254.170.2",
		"168.63.129.16", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.168.1.1", "198.18.0.1",
		"198.51.100.1", "203.0.113.1",
		"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::7f00:1",
		"64:ff9b::8.8.8.8", "64:ff9b:1::a00:1",
		"100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::1", "3fff::1", "fc00::1", "fd00:ec2::254",
		"fd20:ce::254",
		"fe80::1", "fe80::1%lo", "fec0::1", "2606:4700::1111%lo", "ff02::1",
	} {
		require.ErrorIs(t, guard.public.check(netip.MustParseAddr(closed)), ssrf.ErrProhibitedIP, closed)
	}
}

func TestAllowedNetworksAllowNothingElse(t *testing.T) {
	t.Parallel()
	guard, err := newGuard([]string{"10.1.0.0/16", "100.64.0.0/10", "fd00::/8", "192.168.1.7", "169.254.170.2",
		"crm.internal", "My_Host."})
	require.NoError(t, err)
	for address, want := range map[string]struct{ public, named bool }{
		"10.1.2.3":        {true, true},
		"10.2.0.1":        {false, true},
		"192.168.1.7":     {true, true},
		"192.168.1.8":     {false, true},
		"127.0.0.1":       {false, true},
		"::1":             {false, true},
		"100.64.0.1":      {true, true},
		"100.100.100.200": {false, false},
		"fd00::1":         {true, true},
		"fd00:ec2::254":   {false, false},
		"169.254.170.2":   {true, true},
		"169.254.169.254": {false, false},
		"169.254.0.1":     {false, false},
		"fe80::1":         {false, false},
		"0.0.0.0":         {false, false},
		"224.0.0.1":       {false, false},
		"8.8.8.8":         {true, true},
	} {
		require.Equal(t, want.public, guard.public.check(netip.MustParseAddr(address)) == nil, address)
		require.Equal(t, want.named, guard.named.check(netip.MustParseAddr(address)) == nil, address)
	}
	require.Equal(t, map[string]bool{"crm.internal": true, "my_host": true}, guard.hosts)
}

func TestNewRefusesABadAllowEntry(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{
		"", " ", "10.0.0.0/33", "10.0.0", "10.0.0.300", "0x7f.1", "2130706433", "host:80", "[::1]", "fe80::1%eth0",
		"http://host", "a b", "*.host", "ho\u0308st", "-",
		"::ffff:127.0.0.0/104",
	} {
		_, err := New(Options{Allow: []string{"fine.example", entry}})
		require.ErrorContains(t, err, "in the list of allowed networks is", entry)
	}
}

// The test covers all ways to write an address that is not public.
func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	server, err := url.Parse(serve(t, func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	require.NoError(t, err)
	c := caller(t)
	resolve(t, c, func(name string, _ int) string {
		return map[string]string{"localhost": "127.0.0.1", "inside.test": "127.0.0.1", "inside6.test": "::1",
			"mapped.test": "::ffff:127.0.0.1", "metadata.test": "169.254.169.254"}[name]
	})
	for _, host := range []string{
		"127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0x7F.0.0.0x1", "0177.0.0.1", "017700000001",
		"127.0.0.1.", "127.0.0.01", "0", "0.0.0.0",
		"localhost", "LOCALHOST", "localhost.", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"[::127.0.0.1]", "[64:ff9b::7f00:1]",
		"[2002:7f00:1::]", "[fe80::1%25lo]", "[fd00:ec2::254]", "169.254.169.254", "[::ffff:169.254.169.254]", "10.0.0.1",
		"192.168.0.1", "172.16.0.1", "100.64.0.1",
		"224.0.0.1", "255.255.255.255", "１２７.0.0.1", "①②⑦.0.0.1", "inside.test", "inside6.test", "mapped.test",
		"metadata.test",
	} {
		for _, scheme := range []string{"http", "https"} {
			_, err := get(t, c, scheme+"://"+host+":"+server.Port()+"/")
			failure := fails(t, err, Refused)
			require.Equal(t, "the address of the tool is in a network that may not be reached", failure.Message, host)
		}
		require.False(t, reached.Load(), host)
	}
}

func TestNamesAreCheckedAgainAfterResolution(t *testing.T) {
	t.Parallel()
	server, err := url.Parse(serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("here")) }))
	require.NoError(t, err)
	answer := func(name string, nth int) string {
		return map[string][]string{"turns.test": {"127.0.0.1", "127.0.0.2"},
			"named.test": {"127.0.0.1", "169.254.1.1"}}[name][min(nth, 1)]
	}
	for name, allowed := range map[string]string{"turns.test": "127.0.0.1", "named.test": "named.test"} {
		c := caller(t, allowed)
		resolve(t, c, answer)
		text, err := get(t, c, "http://"+name+":"+server.Port())
		require.NoError(t, err, name)
		require.Equal(t, "here", text)
		c.Close() // an open connection would still use the first address
		_, err = get(t, c, "http://"+name+":"+server.Port())
		_ = fails(t, err, Refused)
	}
}

func TestHostsAreAllowedByName(t *testing.T) {
	t.Parallel()
	server, err := url.Parse(serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("here")) }))
	require.NoError(t, err)
	c := caller(t, "Tool.TEST")
	resolve(t, c, func(string, int) string { return "127.0.0.1" })
	for _, host := range []string{"tool.test", "TOOL.test", "tool.test."} {
		text, err := get(t, c, "http://"+host+":"+server.Port())
		require.NoError(t, err, host)
		require.Equal(t, "here", text)
	}
	for _, host := range []string{"other.test", "tool.test.example", "sub.tool.test", "127.0.0.1"} {
		_, err := get(t, c, "http://"+host+":"+server.Port())
		_ = fails(t, err, Refused)
	}
}

// A tool with such an address cannot be saved. No name is resolved for this check.
func TestAddressesAreRefusedBeforeResolution(t *testing.T) {
	t.Parallel()
	caller, err := New(Options{Allow: []string{"10.1.0.0/16", "crm.internal"}})
	require.NoError(t, err)
	for address, refused := range map[string]bool{
		"http://127.0.0.1/a": true, "https://[::1]:8443/": true, "http://localhost:3000/": true,
		"http://api.localhost./": true, "http://LOCALHOST/": true,
		"http://10.2.0.1/": true, "http://169.254.169.254/": true, "http://0x7f.1/": true, "http://2130706433/": true,
		"http://[::ffff:127.0.0.1]/": true,
		"http://192.168.1.1/{id}":    true, "https://example.com/{id}": false, "http://10.1.2.3/": false,
		"http://crm.internal/": false, "http://8.8.8.8/": false,
	} {
		require.Equal(t, refused, caller.Refuses(address), address)
	}
	caller, err = New(Options{Allow: []string{"127.0.0.0/8", "localhost"}})
	require.NoError(t, err)
	require.False(t, caller.Refuses("http://localhost:3000/"))
	require.False(t, caller.Refuses("http://127.0.0.1:3000/"))
}
