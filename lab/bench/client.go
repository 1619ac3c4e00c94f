package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"strconv"
	"time"
)

// request is a request of a workload. All requests are built before the measurement.
type request struct {
	method, path, key string
	body              []byte
}

// asker sends one request after another on one connection. It supports only the necessary parts of HTTP, because the
// client must use little processor time. Go's client uses more than some of the servers.
type asker struct {
	address string
	conn    net.Conn
	in      *bufio.Reader
	out     []byte
	answer  bytes.Buffer
}

// askPatience bounds the time for one answer.
const askPatience = time.Minute

func newAsker(address string) (*asker, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &asker{address: address, conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}, nil
}

func (a *asker) close() { _ = a.conn.Close() }

// ask returns the answer, which is valid until the next request.
func (a *asker) ask(r request) ([]byte, error) {
	a.out = fmt.Appendf(a.out[:0], "%s %s HTTP/1.1\r\nHost: %s\r\nX-Api-Key: %s\r\nAccept: application/json\r\n", r.method,
		r.path, a.address, r.key)
	if r.body != nil {
		a.out = fmt.Appendf(a.out, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(r.body))
	}
	a.out = append(append(a.out, "\r\n"...), r.body...)
	if err := a.conn.SetDeadline(time.Now().Add(askPatience)); err != nil {
		return nil, err
	}
	if _, err := a.conn.Write(a.out); err != nil {
		return nil, err
	}
	status, err := a.read()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	if answer := a.answer.Bytes(); status != "200" || refused(answer) {
		return nil, fmt.Errorf("%s %s: status %s: %.500s", r.method, r.path, status, answer)
	}
	return a.answer.Bytes(), nil
}

// read reads a response and returns its status.
func (a *asker) read() (string, error) {
	line, err := a.in.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	fields := bytes.Fields(line)
	if len(fields) < 2 {
		return "", fmt.Errorf("%q is no response", line)
	}
	status, length, chunked := string(fields[1]), int64(0), false
	for {
		if line, err = a.in.ReadSlice('\n'); err != nil {
			return "", err
		}
		name, value, found := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
		switch {
		case !found && len(name) == 0:
			return status, a.readBody(length, chunked)
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); err != nil {
				return "", err
			}
		case bytes.EqualFold(name, []byte("Transfer-Encoding")):
			chunked = true
		}
	}
}

func (a *asker) readBody(length int64, chunked bool) error {
	a.answer.Reset()
	if !chunked {
		_, err := io.CopyN(&a.answer, a.in, length)
		return err
	}
	if _, err := a.answer.ReadFrom(httputil.NewChunkedReader(a.in)); err != nil {
		return err
	}
	_, err := a.in.ReadSlice('\n') // the line break after the last chunk
	return err
}
