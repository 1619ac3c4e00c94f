package gateway

import "net/http"

// mostHeld bounds the bodies that are written in one piece, in bytes. For longer ones another system call does not
// matter.
const mostHeld = 64 << 10

// Write writes, or appends to the held bytes. Only one goroutine writes at a time.
func (c *clientConn) Write(p []byte) (int, error) {
	if c.held == nil {
		return c.Conn.Write(p)
	}
	*c.held = append(*c.held, p...)
	return len(p), nil
}

// writeWhole sends the header and the whole body of a response in one piece. net/http would send pieces of 4 KiB, each
// of which costs a system call here and one at the client.
func (c *clientConn) writeWhole(w http.ResponseWriter, body []byte) (int, error) {
	buffer := buffers.Get().(*[]byte)
	defer giveBack(buffer)
	*buffer = (*buffer)[:0]
	written, err := c.hold(buffer, w, body)
	if len(*buffer) > 0 {
		if _, failure := c.Conn.Write(*buffer); failure != nil {
			// The server takes the response for sent, and must not send the next one into the middle of it.
			c.isBroken = true
			_ = c.Close()
			err = failure
		}
	}
	return written, err
}

func (c *clientConn) hold(buffer *[]byte, w http.ResponseWriter, body []byte) (int, error) {
	c.held = buffer
	defer func() { c.held = nil }()
	written, err := w.Write(body)
	if err != nil {
		return written, err
	}
	return written, http.NewResponseController(w).Flush()
}
