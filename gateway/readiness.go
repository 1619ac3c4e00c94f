package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/agentgraph/agentgraph/gateway/console"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// readyWithin bounds one check of whether the process can serve requests.
	readyWithin = 1500 * time.Millisecond
	// readyFor is how long the result of a check is reused.
	readyFor = 500 * time.Millisecond
)

// readiness checks whether the process can serve requests. Concurrent callers share one check, since anybody may ask,
// as often as they like.
type readiness struct {
	ready func(context.Context) error
	// remarks may be nil.
	remarks func(context.Context) []string
	log     *slog.Logger

	mu    sync.Mutex
	asked *readyAnswer
}

// readyAnswer is the result of one check. err and remarks are valid once done is closed.
type readyAnswer struct {
	done    chan struct{}
	at      time.Time
	err     error
	remarks []string
}

// check returns why the process cannot serve requests, or else what is to be said of it, within two seconds.
func (r *readiness) check(ctx context.Context) ([]string, error) {
	r.mu.Lock()
	if r.asked == nil || r.asked.isOld() {
		r.asked = &readyAnswer{done: make(chan struct{}), at: time.Now()}
		go r.look(context.WithoutCancel(ctx), r.asked)
	}
	asked := r.asked
	r.mu.Unlock()
	select {
	case <-asked.done:
		return asked.remarks, asked.err
	case <-time.After(readyWithin):
		return nil, model.Errorf(model.Unavailable, "the database does not answer")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// isOld reports whether the check has finished and its result may not be reused any more.
func (a *readyAnswer) isOld() bool {
	select {
	case <-a.done:
		return time.Since(a.at) > readyFor
	default:
		return false
	}
}

func (r *readiness) look(ctx context.Context, asked *readyAnswer) {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if asked.err = r.ready(ctx); asked.err != nil {
		r.log.WarnContext(ctx, "not ready", "error", asked.err, "traceId", TraceID(ctx))
	} else if r.remarks != nil {
		asked.remarks = r.remarks(ctx)
	}
	close(asked.done)
}

func (s *Server) serveReadiness(w http.ResponseWriter, r *http.Request) {
	if s.traffic.retiring.Load() || s.traffic.closing.Err() != nil {
		health(w, r, http.StatusServiceUnavailable, "draining", "the gateway is shutting down")
		return
	}
	remarks, err := s.readiness.check(r.Context())
	if err != nil {
		health(w, r, http.StatusServiceUnavailable, "not ready", s.presenter.reason(err))
		return
	}
	health(w, r, http.StatusOK, "ready", remarks...)
}

func isHealthCheck(path string) bool { return path == "/healthz" || path == "/readyz" }

func health(w http.ResponseWriter, r *http.Request, status int, state string, reasons ...string) {
	if !console.IsRead(w, r) {
		return
	}
	w.Header().Set("Content-Type", jsonType+utf8Suffix)
	w.WriteHeader(status)
	// Texts can always be encoded, and if the client has gone, nothing is lost.
	text, _ := json.Marshal(struct {
		Status  string   `json:"status"`
		Reasons []string `json:"reasons,omitempty"`
	}{state, reasons})
	_, _ = w.Write(text)
}
