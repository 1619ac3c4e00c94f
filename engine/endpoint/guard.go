package endpoint

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"
)

// metadata lists the addresses at which clouds serve credentials to any process inside. Some are in ordinary ranges, so
// only an allow list entry of exactly that address permits a connection.
var metadata = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"),
	netip.MustParseAddr("169.254.170.2"),
	netip.MustParseAddr("100.100.100.200"),
	netip.MustParseAddr("168.63.129.16"),
	netip.MustParseAddr("192.0.0.192"),
	netip.MustParseAddr("fd00:ec2::254"),
	netip.MustParseAddr("fd20:ce::254"),
}

// inside lists the private networks where a host on the allow list may be. Link-local networks are excluded.
var inside = []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("::1/128"),
	netip.MustParsePrefix("fc00::/7"),
}

// guard opens connections only to allowed addresses. It checks the resolved address of each connection, so that DNS
// rebinding has no effect.
type guard struct {
	dialer net.Dialer
	hosts  map[string]bool
	// named is the gate for hosts on the allow list. public is the gate for all other hosts.
	public, named gate
}

// gate decides which addresses may be connected to.
type gate struct {
	*ssrf.Guardian
	allowed []netip.Prefix
}

func newGuard(allow []string) (*guard, error) {
	hosts, networks := map[string]bool{}, []netip.Prefix{}
	for _, entry := range allow {
		host, network, err := parse(entry)
		if err != nil {
			return nil, err
		}
		if host != "" {
			hosts[host] = true
		} else {
			networks = append(networks, network)
		}
	}
	return &guard{
		dialer: net.Dialer{Timeout: 10 * time.Second},
		hosts:  hosts,
		public: newGate(networks),
		named:  newGate(slices.Concat(networks, inside)),
	}, nil
}

func newGate(allowed []netip.Prefix) gate {
	var v4, v6 []netip.Prefix
	for _, network := range allowed {
		if network.Addr().Is4() {
			v4 = append(v4, network)
		} else {
			v6 = append(v6, network)
		}
	}
	return gate{ssrf.New(ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...)), allowed}
}

var hostname = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_.-]{0,251}[a-z0-9_])?$`)

// parse reads an entry of the allow list: a host, an address or a CIDR.
func parse(entry string) (host string, network netip.Prefix, err error) {
	if network, err = netip.ParsePrefix(entry); err != nil {
		if addr, addrErr := netip.ParseAddr(entry); addrErr == nil && addr.Zone() == "" {
			network, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
	}
	if err == nil {
		if network.Addr().Is4In6() {
			return "", network, fmt.Errorf("%q in the list of allowed networks is an IPv4 network in IPv6 notation: write "+
				"it in IPv4 notation",
				entry)
		}
		return "", network, nil
	}
	host = strings.ToLower(strings.TrimSuffix(entry, "."))
	if !hostname.MatchString(host) || endsInNumber(host) {
		return "", network, fmt.Errorf("%q in the list of allowed networks is neither a host name, an IP address nor a CIDR",
			entry)
	}
	return host, network, nil
}

// endsInNumber reports whether the last label of a host is a number. Such host names do not exist, but some resolvers
// read them as IPv4 addresses in an old notation, such as 0x7f.1 or 2130706433.
func endsInNumber(host string) bool {
	label := host[strings.LastIndexByte(host, '.')+1:]
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// refuses reports whether connections to a host are always refused. It resolves no names. If the answer depends on the
// resolved address, it returns false, and dial checks the address.
func (g *guard) refuses(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	gate := g.public
	if g.hosts[host] {
		gate = g.named
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return gate.check(ip) != nil
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return gate.check(netip.AddrFrom4([4]byte{127, 0, 0, 1})) != nil && gate.check(netip.IPv6Loopback()) != nil
	}
	return endsInNumber(host)
}

// dial connects to host:port. The error wraps ssrf.ErrProhibitedIP if that is not allowed.
func (g *guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	host = strings.ToLower(host)
	gate := g.public
	if g.hosts[strings.TrimSuffix(host, ".")] {
		gate = g.named
	}
	// An IP address needs no resolution. It is refused even if this machine has no sockets for its family.
	if ip, err := netip.ParseAddr(host); err == nil {
		if err := gate.check(ip); err != nil {
			return nil, err
		}
	} else if endsInNumber(strings.TrimSuffix(host, ".")) {
		return nil, fmt.Errorf("%w: %s is not a host name", ssrf.ErrProhibitedIP, host)
	}
	dialer := g.dialer
	dialer.Control = gate.control
	return dialer.DialContext(ctx, network, address)
}

// control is the Control function of a net.Dialer, which calls it with every address before connecting.
func (g gate) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return errors.Join(ssrf.ErrProhibitedIP, err)
	}
	return g.check(to.Addr())
}

func (g gate) check(ip netip.Addr) error {
	ip = ip.Unmap()
	if slices.Contains(metadata, ip) && !slices.Contains(g.allowed, netip.PrefixFrom(ip, ip.BitLen())) {
		return fmt.Errorf("%w: %s is a metadata service", ssrf.ErrProhibitedIP, ip)
	}
	return g.SafeAddr(ip)
}
