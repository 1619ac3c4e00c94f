package gateway

import (
	"context"
	"net"
	"net/http"
)

// Whole wraps a listener so that the server sends each response in one piece. net/http writes pieces of 4 KiB, each of
// which costs a system call here and one at the client. What net/http refuses by itself becomes problem details.
func Whole(server *http.Server, listener net.Listener) net.Listener {
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, outletKey{}, conn)
	}
	return outlets{listener}
}

type outletKey struct{}

type outlets struct{ net.Listener }

// Accept waits for a connection.
func (l outlets) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &outlet{Conn: conn}, nil
}

// outlet is a connection that can hold writes back until a response is complete.
type outlet struct {
	net.Conn
	held *[]byte
	// isBroken: a response was sent in part.
	isBroken bool
}

// Write writes, or appends to the held bytes. Only one goroutine writes at a time.
func (o *outlet) Write(p []byte) (int, error) {
	if o.held == nil {
		if problem := asProblem(p); problem != nil {
			if _, err := o.Conn.Write(problem); err != nil {
				return 0, err
			}
			return len(p), nil
		}
		return o.Conn.Write(p)
	}
	*o.held = append(*o.held, p...)
	return len(p), nil
}

// mostHeld bounds the bodies that are held, in bytes. For longer ones an extra system call does not matter.
const mostHeld = 64 << 10

// writeWhole sends the header and the whole body of a response in one piece.
func (o *outlet) writeWhole(w http.ResponseWriter, body []byte) (int, error) {
	buffer := buffers.Get().(*[]byte)
	defer giveBack(buffer)
	*buffer = (*buffer)[:0]
	written, err := o.hold(buffer, w, body)
	if len(*buffer) > 0 {
		if _, failure := o.Conn.Write(*buffer); failure != nil {
			// The server takes the response for sent, and must not send the next one into the middle of it.
			o.isBroken = true
			_ = o.Close()
			err = failure
		}
	}
	return written, err
}

// CloseWrite closes the sending half and leaves the receiving one open. The server needs this when it does not read a
// request to its end.
func (o *outlet) CloseWrite() error {
	if conn, ok := o.Conn.(interface{ CloseWrite() error }); ok {
		return conn.CloseWrite()
	}
	return nil
}

// hold writes a response into the buffer.
func (o *outlet) hold(buffer *[]byte, w http.ResponseWriter, body []byte) (int, error) {
	o.held = buffer
	defer func() { o.held = nil }()
	written, err := w.Write(body)
	if err != nil {
		return written, err
	}
	return written, http.NewResponseController(w).Flush()
}
