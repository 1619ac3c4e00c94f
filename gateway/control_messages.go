package gateway

// maxControlMessages is the maximum number of messages outside the rate limit between two server pings. These are
// pings, pongs, and unnecessary "complete" messages. Each KiB of such a message counts as one more.
const maxControlMessages = 1_000

// countMessage counts a message of the given length, and reports whether the client may continue.
func (s *socket) countMessage(bytes int) bool {
	return s.controlMessages.Add(int64(1+bytes>>10)) <= maxControlMessages
}

// countFrame counts a ping or pong frame, and closes the socket at the first one above maxControlMessages.
func (s *socket) countFrame() bool {
	mayContinue := s.countMessage(0)
	if !mayContinue && s.controlMessages.Load() == maxControlMessages+1 {
		s.spawn(func() { s.close(closeBusy) })
	}
	return mayContinue
}
