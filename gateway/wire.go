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

// send writes messages, each made of parts, in one call. After an error the connection is of no use.
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
	_, err := frames.WriteTo(w.Conn)
	return err
}

// header returns what goes before a message in its frame, which is not masked, as it is a server's.
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
