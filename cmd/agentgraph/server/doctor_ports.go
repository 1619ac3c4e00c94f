package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
)

// ports checks that the addresses to listen on are free and differ, or that an agentgraph already serves on them.
func (c *Doctor) ports(ctx context.Context) (findings []finding) {
	var first net.Listener
	for _, port := range []struct{ name, address string }{{"port", c.Listen}, {"metrics", c.observeFlags.Listen}} {
		if port.address == "" {
			continue
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", port.address)
		if err != nil && first != nil {
			_ = first.Close()
			if again, retried := new(net.ListenConfig).Listen(ctx, "tcp", port.address); retried == nil {
				_ = again.Close()
				findings = append(findings, problem(port.name, port.address+" is also the address to listen on",
					"choose another one with AGENTGRAPH_METRICS_LISTEN"))
				continue
			}
		}
		if err == nil {
			defer func() { _ = listener.Close() }()
			first = listener
		}
		findings = append(findings, c.port(ctx, port.name, port.address, err))
	}
	return findings
}

func (c *Doctor) port(ctx context.Context, name, address string, err error) finding {
	if err == nil {
		return ok(name, "%s is free", address)
	}
	if serves(ctx, name, address) {
		return ok(name, "agentgraph serves on %s", address)
	}
	return problem(name, fmt.Sprintf("cannot listen on %s: %v", address, err),
		"stop the program that uses the address, or choose another one with AGENTGRAPH_LISTEN or AGENTGRAPH_METRICS_LISTEN")
}

// serves reports whether an agentgraph serves its API at the address. With the name "metrics", it reports whether one
// serves its metrics there.
func serves(ctx context.Context, name, address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "" || net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1"
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	path := "/healthz"
	if name == "metrics" {
		path = "/metrics"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+path, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	if name == "metrics" {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxMetrics))
		return response.StatusCode == http.StatusOK && bytes.Contains(text, []byte("agentgraph_build_info"))
	}
	return response.StatusCode == http.StatusOK && response.Header.Get("X-Api-Version") != ""
}
