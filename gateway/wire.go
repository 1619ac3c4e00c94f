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

// What a socket keeps for reading and writing once it is open. Messages of clients are small, what is larger is read
// past the buffer; the library writes control frames, which have 129 bytes at most.
const (
	readBuffer    = 512
	controlBuffer = 256
)

// handshake is the response to the upgrade of a connection. It lets the library have the connection without the
// buffers that the server read requests with.
type handshake struct {
	http.ResponseWriter
	timeout time.Duration
	wire    *wire
}

// Hijack takes the connection over from the server.
func (h *handshake) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, served, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.wire = &wire{Conn: conn, timeout: h.timeout}
	early, _ := served.Peek(served.Reader.Buffered()) // what the client sent without waiting
	reader := bufio.NewReaderSize(bytes.NewReader(slices.Clone(early)), max(readBuffer, len(early)))
	_, _ = reader.Peek(len(early))
	return h.wire, bufio.NewReadWriter(reader, bufio.NewWriterSize(h.wire, controlBuffer)), nil
}

// wire is the connection of a socket. The library reads from it and writes control frames, each in one piece. Messages
// are written beside the library, so that what many sockets get is neither copied nor written in pieces.
type wire struct {
	net.Conn
	timeout time.Duration
	// mu is held for every frame.
	mu       sync.Mutex
	isClosed bool
}

// Opcodes of frames, RFC 6455, section 5.2.
const (
	textFrame   = 0x81 // whole in one frame
	closeOpcode = 0x8
	opcodeMask  = 0xf
)

// Write writes a control frame. Nothing is written behind one that closes.
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

// send writes a message that is made of parts. After an error the connection is of no use.
func (w *wire) send(parts ...[]byte) error {
	length := 0
	for _, part := range parts {
		length += len(part)
	}
	// A server's frames are not masked.
	header := append(make([]byte, 0, 10), textFrame)
	switch {
	case length <= 125:
		header = append(header, byte(length))
	case length <= 0xffff:
		header = binary.BigEndian.AppendUint16(append(header, 126), uint16(length))
	default:
		header = binary.BigEndian.AppendUint64(append(header, 127), uint64(length))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isClosed {
		return net.ErrClosed
	}
	if err := w.SetWriteDeadline(time.Now().Add(w.timeout)); err != nil {
		return err
	}
	frame := append(net.Buffers{header}, parts...)
	_, err := frame.WriteTo(w.Conn)
	return err
}
