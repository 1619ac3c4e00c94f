package gateway

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// The buffers of an open socket, in bytes. Clients' messages are small; larger ones bypass the read buffer. The library
// writes only control frames, of at most 127 bytes.
const (
	readBuffer    = 512
	controlBuffer = 256
)

// handshake is the response to a connection's upgrade. It passes the connection to the WebSocket library without
// net/http's large buffers.
type handshake struct {
	http.ResponseWriter
	timeout time.Duration
	wire    *wire
}

// Hijack takes over the connection from the server.
func (h *handshake) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, served, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.wire = &wire{Conn: conn, direct: conn, timeout: h.timeout}
	if client, ok := conn.(*clientConn); ok {
		h.wire.direct = client.Conn
	}
	early, _ := served.Peek(served.Reader.Buffered()) // the client sent this before it received the response
	reader := bufio.NewReaderSize(bytes.NewReader(slices.Clone(early)), max(readBuffer, len(early)))
	_, _ = reader.Peek(len(early))
	return h.wire, bufio.NewReadWriter(reader, bufio.NewWriterSize(h.wire, controlBuffer)), nil
}

// wire is the connection of a socket. The library reads from it and writes control frames, each in one call. Messages
// bypass the library, so that a message for many sockets is not copied, and is written in one call.
type wire struct {
	net.Conn
	// direct is Conn without its wrapper. Only a TCP connection itself writes several parts in one system call.
	direct  net.Conn
	timeout time.Duration
	// mu is held for every frame.
	mu       sync.Mutex
	isClosed bool
}

// Opcodes of frames, RFC 6455, section 5.2.
const (
	textFrame   = 0x81 // a whole message in one frame
	closeOpcode = 0x8
	opcodeMask  = 0xf
)

// Write writes a control frame. After a close frame it returns net.ErrClosed.
func (w *wire) Write(frame []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isClosed {
		return 0, net.ErrClosed
	}
	w.isClosed = frame[0]&opcodeMask == closeOpcode
	if err := w.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		return 0, err
	}
	return w.Conn.Write(frame)
}

// send writes messages, each made of parts, in one call. After an error the connection is unusable.
func (w *wire) send(messages ...[][]byte) error {
	frames := make(net.Buffers, 0, 4*len(messages))
	for _, parts := range messages {
		frames = append(append(frames, header(parts)), parts...)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isClosed {
		return net.ErrClosed
	}
	if err := w.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		return err
	}
	_, err := frames.WriteTo(w.direct)
	return err
}

// header returns the frame header of a message. A server's frames are not masked.
func header(parts [][]byte) []byte {
	length := 0
	for _, part := range parts {
		length += len(part)
	}
	switch {
	case length <= 125:
		return []byte{textFrame, byte(length)}
	case length <= 0xffff:
		return binary.BigEndian.AppendUint16([]byte{textFrame, 126}, uint16(length))
	default:
		return binary.BigEndian.AppendUint64([]byte{textFrame, 127}, uint64(length))
	}
}
