package gateway

import "net/http"

// maxBuffered is the size in bytes up to which a body is written in one piece. A longer body is worth another system
// call.
const maxBuffered = 64 << 10

// Write writes to the connection, or holds the bytes while writeWhole runs. Only one goroutine writes at a time.
func (c *clientConn) Write(p []byte) (int, error) {
	if c.held == nil {
		return c.Conn.Write(p)
	}
	*c.held = append(*c.held, p...)
	return len(p), nil
}

// writeWhole sends the header and the whole body of a response in one piece. net/http would send the first 4 KiB and
// the rest separately, and each costs a system call here and one at the client.
func (c *clientConn) writeWhole(w http.ResponseWriter, body []byte) (int, error) {
	buffer := buffers.Get().(*[]byte)
	defer putBuffer(buffer)
	*buffer = (*buffer)[:0]
	written, err := c.bufferWrite(buffer, w, body)
	if len(*buffer) > 0 {
		if _, failure := c.Conn.Write(*buffer); failure != nil {
			// net/http cannot see this failure, and would send the next response after a part of this one.
			c.isBroken = true
			_ = c.Close()
			err = failure
		}
	}
	return written, err
}

func (c *clientConn) bufferWrite(buffer *[]byte, w http.ResponseWriter, body []byte) (int, error) {
	c.held = buffer
	defer func() { c.held = nil }()
	written, err := w.Write(body)
	if err != nil {
		return written, err
	}
	return written, http.NewResponseController(w).Flush()
}
