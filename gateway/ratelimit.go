package gateway

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"golang.org/x/time/rate"

	"github.com/agentgraph/agentgraph/model"
)

// maxBuckets bounds the buckets of a rate limit. The least recently used are dropped, and start full on their next
// use.
const maxBuckets = 10_000

// rateLimit allows each owner, such as an API key or a company, perMinute things a minute. Each owner has a bucket of
// that size, which refills evenly. Access tokens share their key's bucket. A nil rateLimit limits nothing. It is safe
// for concurrent use.
type rateLimit struct {
	// owner and things name what is counted, such as "API key" and "requests".
	owner, things string
	perMinute     int
	buckets       *lru.Cache[string, *rate.Limiter]
}

// newRateLimit returns nil, which limits nothing, if perMinute is 0 or less.
func newRateLimit(owner, things string, perMinute int) *rateLimit {
	if perMinute <= 0 {
		return nil
	}
	buckets, _ := lru.New[string, *rate.Limiter](maxBuckets) // it fails only for sizes below 1
	return &rateLimit{owner: owner, things: things, perMinute: perMinute, buckets: buckets}
}

func (l *rateLimit) perSecond() float64 { return float64(l.perMinute) / 60 }

// takeRequests spends n things of the key, and sets the RateLimit headers unless h is nil. If too few are left, it
// spends nothing, sets Retry-After and returns RATE_LIMITED. It returns LIMIT_EXCEEDED if n exceeds the whole limit.
func (l *rateLimit) takeRequests(h http.Header, keyID string, n int, at time.Time) error {
	err := l.takeQuietly(h, keyID, n, at)
	if err == nil && l != nil && n != 0 {
		l.setHeaders(h, l.bucket(keyID), at)
	}
	return err
}

// takeQuietly does the same as takeRequests, but sets the headers only when it refuses. Otherwise the headers describe
// the limit that was checked before.
func (l *rateLimit) takeQuietly(h http.Header, id string, n int, at time.Time) error {
	if l == nil || n == 0 {
		return nil
	}
	if n > l.perMinute {
		return model.Errorf(model.LimitExceeded, "the request has %d %s at once, more than the limit of %d per "+
			"minute", n, l.things,
			l.perMinute)
	}
	bucket := l.bucket(id)
	if bucket.AllowN(at, n) {
		return nil
	}
	wait := l.seconds(float64(n) - l.setHeaders(h, bucket, at))
	if h != nil {
		h.Set("Retry-After", wait)
	}
	return model.Errorf(model.RateLimited, "the %s reached its limit of %d %s per minute; try again in %s s", l.owner,
		l.perMinute, l.things, wait)
}

// setHeaders sets the RateLimit headers unless h is nil, and returns how many things are left.
func (l *rateLimit) setHeaders(h http.Header, bucket *rate.Limiter, at time.Time) float64 {
	left := max(bucket.TokensAt(at), 0)
	if h != nil {
		h.Set("RateLimit-Limit", strconv.Itoa(l.perMinute))
		h.Set("RateLimit-Remaining", strconv.Itoa(int(left)))
		h.Set("RateLimit-Reset", l.seconds(float64(l.perMinute)-left))
	}
	return left
}

func (l *rateLimit) bucket(keyID string) *rate.Limiter {
	if bucket, known := l.buckets.Get(keyID); known {
		return bucket
	}
	fresh := rate.NewLimiter(rate.Limit(l.perSecond()), l.perMinute)
	if earlier, known, _ := l.buckets.PeekOrAdd(keyID, fresh); known {
		return earlier
	}
	return fresh
}

// seconds returns the time until the given number of things is allowed again, in whole seconds, at least 1.
func (l *rateLimit) seconds(things float64) string {
	return strconv.Itoa(max(int(math.Ceil(things/l.perSecond())), 1))
}

// keyLimit is a rate limit of API keys and of companies. Each holder of an access token, such as a visitor of a web
// page, may use 1/tokenShare of the key's limit.
type keyLimit struct{ keys, holders, companies *rateLimit }

// newKeyLimit returns a limit for each key and one for all keys of a company together. 0 means no limit.
func newKeyLimit(things string, perKey, perCompany int) keyLimit {
	l := keyLimit{keys: newRateLimit("API key", things, perKey), companies: newRateLimit("company", things, perCompany)}
	if perKey > 0 {
		l.holders = newRateLimit("access token", things, max(perKey/tokenShare, 1))
	}
	return l
}

// takeRequests spends from the principal's key and then from its company. The key comes first, so that its refused
// requests do not count toward the company's limit.
func (l keyLimit) takeRequests(h http.Header, principal model.Principal, n int, at time.Time) error {
	if err := l.takeOfKey(h, principal, n, at); err != nil {
		return err
	}
	return l.companies.takeQuietly(h, principal.CompanyID, n, at)
}

// takeOfKey spends from the limits of the principal's token and key. A token's own limit comes first, so that its
// refused requests spend nothing of the key's limit.
func (l keyLimit) takeOfKey(h http.Header, principal model.Principal, n int, at time.Time) error {
	if principal.Reach == nil || !principal.IsToken() {
		return l.keys.takeRequests(h, principal.KeyID, n, at)
	}
	if err := l.holders.takeRequests(h, string(principal.Reach.Holder), n, at); err != nil {
		return err
	}
	return l.keys.takeQuietly(h, principal.KeyID, n, at)
}

// takeRequest counts a request.
func (s *Server) takeRequest(h http.Header, principal model.Principal, at time.Time) error {
	return s.requests.takeRequests(h, principal, 1, at)
}

// newModelLimit returns the limit of operations that use a model.
func newModelLimit(o Settings) keyLimit {
	return newKeyLimit("operations that use a model", o.ModelRateLimit, o.companyModelLimit())
}

// companyModelLimit returns how many operations that use a model a company may start in a minute. It has as many times
// its key's limit as for requests. 0 means no limit, because requests have none.
func (s Settings) companyModelLimit() int {
	if s.RateLimit <= 0 || s.CompanyRateLimit <= 0 {
		return 0
	}
	return int(math.Ceil(float64(s.ModelRateLimit) * float64(s.CompanyRateLimit) / float64(s.RateLimit)))
}

// minModelSlots is the least number of operations that use a model that a company may run at the same time. It is above
// the number of chats that may wait for a person.
const minModelSlots = 100

// ModelSlots returns how many operations that use a model a company may run at the same time: as many as it may start
// in 12 seconds, which is how long a slow answer takes. 0 means no limit.
func (s Settings) ModelSlots() int {
	perMinute := s.companyModelLimit()
	if perMinute == 0 {
		return 0
	}
	return max(perMinute/5, minModelSlots)
}

// modelDriven is an extension that limits the fields marked @modelDriven. Each occurrence in an operation counts.
type modelDriven struct {
	extensionBase
	limit keyLimit
}

// MutateOperationContext refuses an operation that exceeds the limit before any of it is executed.
func (m modelDriven) MutateOperationContext(ctx context.Context, operation *graphql.OperationContext) *gqlerror.Error {
	if m.limit.keys == nil {
		return nil
	}
	var header http.Header
	if rec, ok := ctx.Value(recordKey{}).(*record); ok {
		header = rec.header
	}
	principal, _ := model.PrincipalOf(ctx)
	if err := m.limit.takeRequests(header, principal, modelDrivenFields(operation), time.Now()); err != nil {
		return gqlerror.Wrap(err)
	}
	return nil
}

// modelDrivenFields counts an operation's root fields marked @modelDriven.
func modelDrivenFields(operation *graphql.OperationContext) (n int) {
	for field := range rootFields(operation) {
		if field.Definition.Directives.ForName("modelDriven") != nil {
			n++
		}
	}
	return n
}
