package gateway

import (
	"context"
	"net"
	"net/http"
)

// Whole makes a listener for the server, whose responses leave in one piece each: net/http gives them away in pieces of
// 4 KiB, each of them a system call here and one of the client's.
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

// outlet is a connection that can hold what is written until it is all there.
type outlet struct {
	net.Conn
	held *[]byte
	// isBroken says that a response was sent in part.
	isBroken bool
}

// Write writes, or holds what is written. One goroutine writes at a time.
func (o *outlet) Write(p []byte) (int, error) {
	if o.held == nil {
		return o.Conn.Write(p)
	}
	*o.held = append(*o.held, p...)
	return len(p), nil
}

// mostHeld is how long a body may be, in bytes, that is held: a system call more is not felt in longer ones.
const mostHeld = 64 << 10

// writeWhole writes the whole body of a response, behind its header.
func (o *outlet) writeWhole(w http.ResponseWriter, body []byte) (int, error) {
	buffer := buffers.Get().(*[]byte)
	defer giveBack(buffer)
	*buffer = (*buffer)[:0]
	written, err := o.hold(buffer, w, body)
	if len(*buffer) > 0 {
		if _, failure := o.Conn.Write(*buffer); failure != nil {
			// The server believes that it was sent, and must not send the next response into the midst of this one.
			o.isBroken = true
			_ = o.Close()
			err = failure
		}
	}
	return written, err
}

// CloseWrite ends what is sent, and leaves what is received open, as the server wants when it does not read a request to its
// end.
func (o *outlet) CloseWrite() error {
	if conn, ok := o.Conn.(interface{ CloseWrite() error }); ok {
		return conn.CloseWrite()
	}
	return nil
}

// hold has what is written of a response go into the buffer.
func (o *outlet) hold(buffer *[]byte, w http.ResponseWriter, body []byte) (int, error) {
	o.held = buffer
	defer func() { o.held = nil }()
	written, err := w.Write(body)
	if err != nil {
		return written, err
	}
	return written, http.NewResponseController(w).Flush()
}
