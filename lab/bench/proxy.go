package main

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"sync/atomic"
)

// proxy forwards connections between a server and Postgres. It counts requests in Postgres's protocol, so it works for
// every driver.
type proxy struct {
	listener net.Listener
	target   string // path of Postgres's socket
	// statements counts executed statements. trips counts how often a connection waited for an answer.
	statements, trips atomic.Int64
}

const socketName = ".s.PGSQL.5432"

// newProxy listens in the directory.
func newProxy(ctx context.Context, directory, target string) (*proxy, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", filepath.Join(directory, socketName))
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, target: filepath.Join(target, socketName)}
	go p.serve()
	return p, nil
}

func (p *proxy) close() { _ = p.listener.Close() }

func (p *proxy) serve() {
	for {
		server, err := p.listener.Accept()
		if err != nil {
			return // the proxy was closed
		}
		go p.join(server)
	}
}

// join forwards one connection until either side closes it.
func (p *proxy) join(server net.Conn) {
	postgres, err := net.Dial("unix", p.target)
	if err != nil {
		_ = server.Close()
		return
	}
	var unanswered atomic.Int64
	asked := &messages{startup: true, seen: func(kind byte) {
		if kind == 'Q' || kind == 'E' {
			p.statements.Add(1)
		}
		// Messages that are sent before the answer belong to the same round trip, as in a pipeline.
		if (kind == 'Q' || kind == 'S') && unanswered.Add(1) == 1 {
			p.trips.Add(1)
		}
	}}
	answered := &messages{seen: func(kind byte) {
		if kind == 'Z' && unanswered.Load() > 0 { // the first Z ends the login, which is no round trip
			unanswered.Add(-1)
		}
	}}
	go func() {
		_, _ = io.Copy(server, io.TeeReader(postgres, answered))
		_ = server.Close()
	}()
	_, _ = io.Copy(postgres, io.TeeReader(server, asked))
	_ = postgres.Close()
}

// messages splits the bytes that are written to it into messages of the protocol.
type messages struct {
	startup bool // the first message has no kind
	seen    func(kind byte)
	header  []byte
	rest    int // bytes that are left of the message's body
}

// Write never fails.
func (m *messages) Write(text []byte) (int, error) {
	written := len(text)
	for len(text) > 0 {
		if m.rest > 0 {
			n := min(m.rest, len(text))
			m.rest -= n
			text = text[n:]
			continue
		}
		length := 5
		if m.startup {
			length = 4
		}
		n := min(length-len(m.header), len(text))
		m.header = append(m.header, text[:n]...)
		text = text[n:]
		if len(m.header) < length {
			continue
		}
		m.rest = int(binary.BigEndian.Uint32(m.header[length-4:])) - 4
		if !m.startup {
			m.seen(m.header[0])
		}
		m.startup, m.header = false, m.header[:0]
	}
	return written, nil
}
