package gateway

import (
	"net/http"
	"net/netip"
	"strings"
)

// forwardedHeader has the addresses of a request's client and of the proxies before the last one.
const forwardedHeader = "X-Forwarded-For"

// maxForwarded bounds how many addresses of the header are read.
const maxForwarded = 32

// remoteOf returns the address of the request's client, without a port. It is the address of the connection, unless
// that belongs to a trusted proxy. Then it is the last address in X-Forwarded-For that is not a trusted proxy's:
// clients can write what they like before it.
func (s *Server) remoteOf(r *http.Request) string {
	remote := r.RemoteAddr
	if address := addressOf(remote); address.IsValid() {
		remote = address.String()
	}
	lines := r.Header.Values(forwardedHeader)
	if len(s.settings.TrustedProxies) == 0 || len(lines) == 0 || !s.isTrustedProxy(addressOf(remote)) {
		return remote
	}
	rest := strings.Join(lines, ",")
	for range maxForwarded {
		at := strings.LastIndexByte(rest, ',')
		address := addressOf(strings.TrimSpace(rest[at+1:]))
		if !address.IsValid() {
			return remote
		}
		remote = address.String()
		if at < 0 || !s.isTrustedProxy(address) {
			return remote
		}
		rest = rest[:at]
	}
	return remote
}

func (s *Server) isTrustedProxy(address netip.Addr) bool {
	for _, network := range s.settings.TrustedProxies {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

// addressOf returns the IP address in a text that may also have a port. It is not valid if there is none.
func addressOf(remote string) netip.Addr {
	port, err := netip.ParseAddrPort(remote)
	address := port.Addr()
	if err != nil {
		address, _ = netip.ParseAddr(strings.Trim(remote, "[]"))
	}
	return address.Unmap().WithZone("")
}
