package gateway

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agentgraph/agentgraph/model"
)

// Revocations reports which credentials were revoked, so that their sockets and streams end.
type Revocations interface {
	// Revocations returns a number that changes as soon as this process learns of a revoked credential.
	Revocations() uint64
	// Revoked returns which of the credentials are invalid: they or their key were revoked, or the key has expired.
	Revoked(ctx context.Context, credentials []model.CredentialRef) ([]model.CredentialRef, error)
}

const (
	// Sessions are checked every sessionsLook. Their credentials are read again after the signal of a revocation, and at
	// least every sessionsRead, because a signal can be lost.
	sessionsLook = 400 * time.Millisecond
	sessionsRead = 1500 * time.Millisecond
	// tokenShare divides a key's limits, so that no visitor of a page shuts out the others. A page's token may have
	// 1/tokenShare of the key's sessions, and one visitor may send 1/tokenShare of the key's requests.
	tokenShare = 10
)

// sessions are the open sockets and streams. A session ends when its token expires, and within a second of its
// credential's revocation, or two if the signal is lost. One goroutine watches all of them while there are any.
type sessions struct {
	revocations Revocations
	perKey      int
	log         *slog.Logger

	mu        sync.Mutex
	open      map[model.KeyRef]map[*session]struct{}
	isWatched bool
}

// session is one open socket or stream. end does not wait for its client.
type session struct {
	credential model.CredentialRef
	expires    time.Time
	end        func()
}

func newSessions(r Revocations, perKey int, log *slog.Logger) *sessions {
	return &sessions{revocations: r, perKey: perKey, log: log, open: map[model.KeyRef]map[*session]struct{}{}}
}

// begin opens a session, or returns LIMIT_EXCEEDED if the key or a page's token has too many. The caller must call the
// function closeSession when the session is over. If there are Revocations, the function end is called once when the
// principal's credential becomes invalid.
func (s *sessions) begin(principal model.Principal, end func()) (closeSession func(), err error) {
	opened, key := &session{principal.Credential(), principal.ExpiresAt, end}, principal.Key()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.perKey > 0 && len(s.open[key]) >= s.perKey {
		return nil, model.Errorf(model.LimitExceeded, "the API key has %d open sockets and streams, the maximum: close "+
			"some first",
			s.perKey)
	}
	if most := max(s.perKey/tokenShare, 1); s.perKey > 0 && principal.Reach != nil && principal.IsToken() &&
		s.openBy(opened.credential) >= most {
		return nil, model.Errorf(model.LimitExceeded, "the access token has %d open sockets and streams, the maximum: "+
			"close some first",
			most)
	}
	if s.open[key] == nil {
		s.open[key] = map[*session]struct{}{}
	}
	s.open[key][opened] = struct{}{}
	if !s.isWatched && s.revocations != nil {
		s.isWatched = true
		go s.watch(s.revocations.Revocations())
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.forget(key, opened)
	}, nil
}

func (s *sessions) openBy(credential model.CredentialRef) (n int) {
	for opened := range s.open[credential.KeyRef] {
		if opened.credential == credential {
			n++
		}
	}
	return n
}

func (s *sessions) forget(key model.KeyRef, closed *session) {
	delete(s.open[key], closed)
	if len(s.open[key]) == 0 {
		delete(s.open, key)
	}
}

// watch ends the sessions of expired and revoked credentials. It returns when no session is open.
func (s *sessions) watch(heard uint64) {
	ticker := time.NewTicker(sessionsLook)
	defer ticker.Stop()
	read, failing := time.Now(), false
	for at := range ticker.C {
		credentials := s.expire(at, nil)
		if credentials == nil {
			return
		}
		now := s.revocations.Revocations()
		if now == heard && at.Sub(read) < sessionsRead {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), sessionsRead)
		revoked, err := s.revocations.Revoked(ctx, credentials)
		cancel()
		if err != nil && !failing {
			s.log.Warn("could not check the credentials of open sessions", "error", err)
		}
		if failing = err != nil; failing {
			continue
		}
		heard, read = now, at
		if len(revoked) > 0 && s.expire(at, revoked) == nil {
			return
		}
	}
}

// expire ends the sessions that are expired or have one of the revoked credentials, and returns the credentials of the
// others. Nil means that no session is open and watching stops.
func (s *sessions) expire(at time.Time, revoked []model.CredentialRef) []model.CredentialRef {
	isRevoked := make(map[model.CredentialRef]bool, len(revoked))
	for _, credential := range revoked {
		isRevoked[credential] = true
	}
	var expired []func()
	defer func() {
		for _, end := range expired {
			end()
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	credentials := map[model.CredentialRef]struct{}{}
	for key, open := range s.open {
		for opened := range open {
			if !opened.expires.IsZero() && !at.Before(opened.expires) || isRevoked[opened.credential] {
				expired = append(expired, opened.end)
				s.forget(key, opened)
				continue
			}
			credentials[opened.credential] = struct{}{}
		}
	}
	s.isWatched = len(credentials) > 0
	return slices.Collect(maps.Keys(credentials))
}
