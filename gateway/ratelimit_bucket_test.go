package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/agentgraph/agentgraph/model"
)

func codeIs(t require.TestingT, err error, code model.Code) {
	var known *model.Error
	require.True(t, errors.As(err, &known), "%v", err)
	require.Equal(t, code, known.Code)
}

func TestBucketFillsEvenly(t *testing.T) {
	t.Parallel()
	l, h, at := newRateLimit("API key", "things", 60), http.Header{}, time.Unix(1_800_000_000, 0)
	for range 60 {
		require.NoError(t, l.takeRequests(h, "k", 1, at))
	}
	codeIs(t, l.takeRequests(h, "k", 1, at), model.RateLimited)
	require.Equal(t, "1", h.Get("Retry-After"))
	require.Equal(t, "60", h.Get("RateLimit-Reset"))
	codeIs(t, l.takeRequests(h, "k", 10, at), model.RateLimited)
	require.Equal(t, "10", h.Get("Retry-After"))
	codeIs(t, l.takeRequests(h, "k", 10, at.Add(9*time.Second)), model.RateLimited)
	require.NoError(t, l.takeRequests(h, "k", 10, at.Add(10*time.Second)), "refused requests do not count")
	require.Equal(t, "0", h.Get("RateLimit-Remaining"))
	require.NoError(t, l.takeRequests(h, "other", 60, at), "each key has its own bucket")
	codeIs(t, l.takeRequests(h, "k", 61, at.Add(time.Hour)), model.LimitExceeded)
	require.NoError(t, l.takeRequests(nil, "k", 60, at.Add(time.Hour)))
	require.NoError(t, newRateLimit("API key", "things", 0).takeRequests(nil, "k", 1_000, at))
}

// In any period, at most a full bucket plus the refill of that period passes, for any order of requests. A client that
// waits for the time in the response passes.
func TestLimitIsNeverExceeded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		perMinute := rapid.IntRange(1, 1_000).Draw(r, "per minute")
		l, at, begin, passed := newRateLimit("API key", "things", perMinute), time.Unix(1_800_000_000, 0),
			time.Unix(1_800_000_000, 0), 0
		for range rapid.IntRange(1, 50).Draw(r, "requests") {
			at = at.Add(time.Duration(rapid.IntRange(0, 20_000).Draw(r, "pause")) * time.Millisecond)
			n, h := rapid.IntRange(1, perMinute).Draw(r, "n"), http.Header{}
			if l.takeRequests(h, "k", n, at) != nil {
				wait, err := time.ParseDuration(h.Get("Retry-After") + "s")
				require.NoError(r, err)
				at = at.Add(wait)
				require.NoError(r, l.takeRequests(h, "k", n, at))
			}
			passed += n
			require.LessOrEqual(r, float64(passed), float64(perMinute)*(1+at.Sub(begin).Minutes())+1e-6)
		}
	})
}

// Each visitor of a page has a tenth of the key's limit, at least 1. A visitor's refused requests spend nothing of the
// key's limit.
func TestVisitorsHaveAShareOfTheLimit(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0)
	visitor := func(holder string) model.Principal {
		return model.Principal{KeyID: "k", TokenHash: []byte{1}, Reach: &model.Reach{Holder: []byte(holder)}}
	}
	l := newKeyLimit("requests", 20, 0)
	for range 2 {
		require.NoError(t, l.takeRequests(nil, visitor("a"), 1, at))
	}
	for range 30 {
		codeIs(t, l.takeRequests(nil, visitor("a"), 1, at), model.RateLimited)
	}
	require.NoError(t, l.takeRequests(nil, visitor("b"), 1, at))
	require.NoError(t, l.takeRequests(nil, model.Principal{KeyID: "k"}, 17, at))
	codeIs(t, l.takeRequests(nil, model.Principal{KeyID: "k"}, 1, at), model.RateLimited)

	small := newKeyLimit("requests", 5, 0)
	require.NoError(t, small.takeRequests(nil, visitor("a"), 1, at))
	codeIs(t, small.takeRequests(nil, visitor("a"), 1, at), model.RateLimited)
}

func TestBucketsAreBounded(t *testing.T) {
	t.Parallel()
	l, at := newRateLimit("API key", "things", 1), time.Unix(1_800_000_000, 0)
	for i := range 2 * maxBuckets {
		require.NoError(t, l.takeRequests(nil, fmt.Sprint(i), 1, at))
	}
	require.Equal(t, maxBuckets, l.buckets.Len())
	codeIs(t, l.takeRequests(nil, fmt.Sprint(2*maxBuckets-1), 1, at), model.RateLimited)
}
