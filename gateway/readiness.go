package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/agentgraph/agentgraph/gateway/console"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// readyWithin bounds one check of whether the process can serve requests.
	readyWithin = 1500 * time.Millisecond
	// readyFor is how long the result of a check is reused.
	readyFor = 500 * time.Millisecond
)

// readiness checks whether the process can serve requests. Concurrent callers share one check, because anybody can call
// /readyz at any rate.
type readiness struct {
	ready func(context.Context) error
	// remarks may be nil.
	remarks func(context.Context) []string
	log     *slog.Logger

	checks singleflight.Group
	last   atomic.Pointer[readyAnswer]
}

// readyAnswer is the result of the check that began at the given time.
type readyAnswer struct {
	at      time.Time
	err     error
	remarks []string
}

// check returns the remarks, or an error if the process cannot serve requests. It takes at most two seconds.
func (r *readiness) check(ctx context.Context) ([]string, error) {
	if last := r.last.Load(); last != nil && time.Since(last.at) <= readyFor {
		return last.remarks, last.err
	}
	checked := r.checks.DoChan("", func() (any, error) { return r.runCheck(context.WithoutCancel(ctx)), nil })
	select {
	case found := <-checked:
		last := found.Val.(*readyAnswer)
		return last.remarks, last.err
	case <-time.After(readyWithin):
		return nil, model.Errorf(model.Unavailable, "the database does not answer")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (r *readiness) runCheck(ctx context.Context) *readyAnswer {
	asked := &readyAnswer{at: time.Now()}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	if asked.err = r.ready(ctx); asked.err != nil {
		r.log.WarnContext(ctx, "not ready", "error", asked.err, "traceId", TraceID(ctx))
	} else if r.remarks != nil {
		asked.remarks = r.remarks(ctx)
	}
	r.last.Store(asked)
	return asked
}

func (s *Server) serveReadiness(w http.ResponseWriter, r *http.Request) {
	if s.traffic.retiring.Load() || s.traffic.closing.Err() != nil {
		health(w, r, http.StatusServiceUnavailable, "draining", "the server is shutting down")
		return
	}
	remarks, err := s.readiness.check(r.Context())
	if err != nil {
		health(w, r, http.StatusServiceUnavailable, "not ready", s.presenter.publicMessage(err))
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
	// Strings can always be encoded, and a failed write to a client is harmless.
	text, _ := json.Marshal(struct {
		Status  string   `json:"status"`
		Reasons []string `json:"reasons,omitempty"`
	}{state, reasons})
	_, _ = w.Write(text)
}
