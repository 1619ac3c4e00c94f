package notify

import "sync/atomic"

// Stats are what a Hub has done since it was made.
type Stats struct {
	// Sent and Received count signals and pieces, Lost those that could not be sent and are not tried again.
	Sent, Received, Lost uint64
	// IsListening says that what other replicas send arrives now.
	IsListening bool
}

type counts struct {
	sent, received, lost atomic.Uint64
}

// Stats returns what the Hub has done since it was made.
func (h *Hub) Stats() Stats {
	return Stats{
		Sent: h.counts.sent.Load(), Received: h.counts.received.Load(), Lost: h.counts.lost.Load(),
		IsListening: h.bus.isListening(),
	}
}
