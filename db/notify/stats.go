package notify

import "sync/atomic"

// Stats counts the activity of a Hub.
type Stats struct {
	// Sent and Received count signals and pieces. Lost counts those that could not be sent and are not retried.
	Sent, Received, Lost uint64
	// IsListening is set if signals of other replicas arrive now.
	IsListening bool
}

type counts struct {
	sent, received, lost atomic.Uint64
}

// Stats returns the activity of the Hub since it was created.
func (h *Hub) Stats() Stats {
	return Stats{
		Sent: h.counts.sent.Load(), Received: h.counts.received.Load(), Lost: h.counts.lost.Load(),
		IsListening: h.bus.isListening(),
	}
}
