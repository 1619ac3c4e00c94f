package knowledge

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/agentgraph/agentgraph/db"
	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/model"
)

const (
	// firstWait is a document's first wait for an embedding model that is unavailable. The wait doubles each time, up
	// to longestWait.
	firstWait, longestWait = 5 * time.Second, 5 * time.Minute
	// longestBusy bounds a wait for another document in this process.
	longestBusy = 20 * time.Second
	// maxWaits bounds a document's waits before it fails, about a day in all. Waits for the database count, too.
	maxWaits = 290
	// outageTime is how long no requests are sent to a model after it was unavailable.
	outageTime = 15 * time.Second
)

// outage records that the embedding model was just unavailable. Until it ends, no document is read, because the reading
// would be wasted.
type outage struct {
	until   time.Time
	failure *llm.Error
}

// err returns the model's failure during the outage.
func (o *outage) err() error {
	if o != nil && time.Now().Before(o.until) {
		return o.failure
	}
	return nil
}

// isUnavailable returns the failure of an embedding model that is likely temporary, and nil for any other error.
func isUnavailable(err error) *llm.Error {
	if failure, ok := errors.AsType[*llm.Error](err); ok && failure.IsUnavailable() {
		return failure
	}
	return nil
}

// waitOf returns the next wait of a document after a number of waits.
func waitOf(first time.Duration, waits int32) time.Duration {
	return min(longestWait, first<<min(waits, 10))
}

// postpone schedules another attempt at the document after the wait, which it cuts to longestWait and then extends by
// up to a fifth at random. The text in why becomes the document's warning.
func postpone(ctx context.Context, t *db.Tenant, d *model.Document, wait time.Duration, why string,
	failure error) error {
	wait = min(wait, longestWait)
	wait += rand.N(wait / 5)
	d.Warning = new(model.Reason(why))
	if err := t.PostponeDocument(ctx, d); err != nil {
		return err
	}
	return &db.Later{In: wait, Err: failure}
}
